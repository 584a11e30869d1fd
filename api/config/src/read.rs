//! Reads the whole file.

use gates::Gates;
use schema::Path;
use schema::yaml::tree::{self, Value};

use crate::fault::{BadConfig, Faults, Problem};
use crate::fields::{Fields, Item};
use crate::{Backoff, Client, LeaderElection, Profiling, SchedulerSettings, extenders, profile};

pub(crate) const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";
pub(crate) const KIND: &str = "KubeSchedulerConfiguration";

const FIELDS: [&str; 13] = [
    "apiVersion",
    "kind",
    "parallelism",
    "leaderElection",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "delayCacheUntilActive",
    "profiles",
    "extenders",
];

impl SchedulerSettings {
    /// Reads a configuration from YAML or JSON. The gates decide about some of the defaults and limits. A text with
    /// nothing in it means the defaults.
    ///
    /// # Errors
    /// Everything that is wrong with the text.
    pub fn read(text: &str, gates: Gates) -> Result<Self, BadConfig> {
        let mut faults = Faults::default();
        let settings = match tree::read(text) {
            Ok(root) if matches!(root.value, Value::Null) => Self::defaults(gates),
            Ok(root) => file(Item::root(&root), gates, &mut faults),
            Err(error) => {
                faults.add(error.at, &Path::ROOT, Problem::Syntax(error.what));
                Self::defaults(gates)
            }
        };
        faults.settle().map(|()| settings)
    }
}

fn file(root: Item<'_>, gates: Gates, faults: &mut Faults) -> SchedulerSettings {
    let defaults = SchedulerSettings::defaults(gates);
    let Some(fields) = root.fields(&FIELDS, faults) else { return defaults };
    type_meta(&fields, KIND, true, faults);
    let percentage = profile::percentage(&fields, faults).unwrap_or(defaults.percentage_of_nodes_to_score);
    let parallelism = fields.small("parallelism", 1..=i32::MAX, faults);
    let profiling = fields.flag("enableProfiling", faults).unwrap_or(defaults.profiling.enabled);
    let contention = fields.flag("enableContentionProfiling", faults).unwrap_or(profiling);
    extenders::refuse(&fields, faults);
    SchedulerSettings {
        parallelism: parallelism.map_or(defaults.parallelism, i32::unsigned_abs),
        leader_election: leader_election(&fields, faults),
        client: client(&fields, faults),
        profiling: Profiling { enabled: profiling, contention },
        percentage_of_nodes_to_score: percentage,
        backoff: backoff(&fields, faults),
        delay_cache_until_active: fields
            .flag("delayCacheUntilActive", faults)
            .unwrap_or(defaults.delay_cache_until_active),
        profiles: profile::read(&fields, percentage, gates, faults),
    }
}

/// Checks `apiVersion` and `kind`, which may be missing unless they are wanted.
pub(crate) fn type_meta(fields: &Fields<'_>, kind: &'static str, wanted: bool, faults: &mut Faults) {
    for (name, value) in [("apiVersion", API_VERSION), ("kind", kind)] {
        match fields.get(name) {
            Some(item) => {
                item.choice(&[(value, ())], faults);
            }
            None if wanted => {
                let hint = if name == "kind" {
                    "write kind: KubeSchedulerConfiguration"
                } else {
                    "write apiVersion: kubescheduler.config.k8s.io/v1"
                };
                fields.fault(name, Problem::Required { hint }, faults);
            }
            None => {}
        }
    }
}

fn leader_election(file: &Fields<'_>, faults: &mut Faults) -> LeaderElection {
    let known = [
        "leaderElect",
        "leaseDuration",
        "renewDeadline",
        "retryPeriod",
        "resourceLock",
        "resourceName",
        "resourceNamespace",
    ];
    let defaults = LeaderElection::default();
    let item = file.get("leaderElection");
    let Some(fields) = item.and_then(|item| item.fields(&known, faults)) else { return defaults };
    let before = faults.count();
    // Zero is how Kubernetes says "not set" here.
    let time = |name: &str, faults: &mut Faults| fields.duration(name, faults).filter(|time| !time.is_zero());
    let election = LeaderElection {
        elect: fields.flag("leaderElect", faults).unwrap_or(defaults.elect),
        lease_duration: time("leaseDuration", faults).unwrap_or(defaults.lease_duration),
        renew_deadline: time("renewDeadline", faults).unwrap_or(defaults.renew_deadline),
        retry_period: time("retryPeriod", faults).unwrap_or(defaults.retry_period),
        resource_name: fields.filled_text("resourceName", faults).unwrap_or(defaults.resource_name),
        resource_namespace: fields
            .filled_text("resourceNamespace", faults)
            .unwrap_or(defaults.resource_namespace),
    };
    if fields.filled_text("resourceLock", faults).is_some_and(|lock| election.elect && lock != "leases") {
        fields.fault("resourceLock", Problem::Rule("must be leases; there is no other lock"), faults);
    }
    // A time that could not be read would be compared as if it were the default.
    if faults.count() == before {
        for (field, sentence) in election.faults() {
            fields.fault(field, Problem::Rule(sentence), faults);
        }
    }
    election
}

fn client(file: &Fields<'_>, faults: &mut Faults) -> Client {
    let known = ["kubeconfig", "acceptContentTypes", "contentType", "qps", "burst"];
    let defaults = Client::default();
    let item = file.get("clientConnection");
    let Some(fields) = item.and_then(|item| item.fields(&known, faults)) else { return defaults };
    let rate = fields.get("qps").and_then(|item| item.real(faults)).unwrap_or(0.0);
    if rate.abs() > f32::MAX.into() {
        fields.fault("qps", Problem::Rule("is too large"), faults);
    }
    let burst = fields.small("burst", 0..=i32::MAX, faults).unwrap_or(0).unsigned_abs();
    Client {
        kubeconfig: fields.text("kubeconfig", faults).unwrap_or_default(),
        accept_content_types: fields.text("acceptContentTypes", faults).unwrap_or_default(),
        content_type: fields.filled_text("contentType", faults).unwrap_or(defaults.content_type),
        queries_per_second: match rate {
            0.0 => defaults.queries_per_second,
            rate if rate < 0.0 => None,
            #[expect(clippy::cast_possible_truncation, reason = "the field has 32 bits in Kubernetes too")]
            rate => Some(rate as f32),
        },
        burst: if burst == 0 { defaults.burst } else { burst },
    }
}

fn backoff(file: &Fields<'_>, faults: &mut Faults) -> Backoff {
    let defaults = Backoff::default();
    let before = faults.count();
    let mut seconds = |name: &str| {
        let seconds = file.whole(name, 1..=i64::MAX, faults)?;
        Some(std::time::Duration::from_secs(seconds.unsigned_abs()))
    };
    let initial = seconds("podInitialBackoffSeconds").unwrap_or(defaults.initial);
    let max = seconds("podMaxBackoffSeconds").unwrap_or(defaults.max);
    if max < initial && faults.count() == before {
        let (name, sentence) = match file.get("podMaxBackoffSeconds") {
            Some(_) => ("podMaxBackoffSeconds", "must be at least podInitialBackoffSeconds"),
            None => {
                ("podInitialBackoffSeconds", "must be at most podMaxBackoffSeconds, which is 10 unless set")
            }
        };
        file.fault(name, Problem::Rule(sentence), faults);
    }
    Backoff { initial, max }
}
