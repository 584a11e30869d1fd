//! The settings of a scheduler, and what they are unless somebody says otherwise.

use std::time::Duration;

use gates::Gates;

use crate::Profile;

/// Everything that the configuration file of a scheduler says, with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulerSettings {
    /// How many things may be done at once for one decision.
    pub parallelism: u32,
    /// How one of several schedulers is chosen to do the work.
    pub leader_election: LeaderElection,
    /// How the API server is reached.
    pub client: Client,
    /// What is measured while running.
    pub profiling: Profiling,
    /// The percentage for profiles that say nothing; zero leaves it to the size of the cluster.
    pub percentage_of_nodes_to_score: u8,
    /// How long a pod that could not be placed waits.
    pub backoff: Backoff,
    /// Whether objects are watched only once this scheduler does the work.
    pub delay_cache_until_active: bool,
    /// The schedulers that pods can ask for; at least one.
    pub profiles: Vec<Profile>,
}

impl SchedulerSettings {
    /// The settings when nothing is said, with these gates.
    #[must_use]
    pub fn defaults(gates: Gates) -> Self {
        Self {
            parallelism: 16,
            leader_election: LeaderElection::default(),
            client: Client::default(),
            profiling: Profiling { enabled: true, contention: true },
            percentage_of_nodes_to_score: 0,
            backoff: Backoff::default(),
            delay_cache_until_active: false,
            profiles: vec![Profile::defaults(0, gates)],
        }
    }

    /// The profile that pods with this `spec.schedulerName` are scheduled by.
    #[must_use]
    pub fn profile(&self, scheduler_name: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.scheduler_name == scheduler_name)
    }
}

impl Default for SchedulerSettings {
    fn default() -> Self {
        Self::defaults(Gates::default())
    }
}

/// How one of several schedulers is chosen to do the work. The lock is always a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderElection {
    /// Whether one is chosen at all.
    pub elect: bool,
    /// How long the others wait for a sign of the leader.
    pub lease_duration: Duration,
    /// How long the leader tries to give a sign before it gives up.
    pub renew_deadline: Duration,
    /// The time between two tries.
    pub retry_period: Duration,
    /// The name of the Lease.
    pub resource_name: String,
    /// Its namespace.
    pub resource_namespace: String,
}

impl Default for LeaderElection {
    fn default() -> Self {
        Self {
            elect: true,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            resource_name: "kube-scheduler".to_owned(),
            resource_namespace: "kube-system".to_owned(),
        }
    }
}

impl LeaderElection {
    /// What is wrong with these settings: the field in the file, and a sentence. Settings that came out of a file are
    /// right; this is for those that were changed afterwards, by flags.
    #[must_use]
    pub fn faults(&self) -> Vec<(&'static str, &'static str)> {
        let times = [
            ("leaseDuration", self.lease_duration),
            ("renewDeadline", self.renew_deadline),
            ("retryPeriod", self.retry_period),
        ];
        let zero = times.iter().filter(|(_, time)| time.is_zero());
        let mut faults: Vec<_> = zero.map(|(field, _)| (*field, "must be longer than zero")).collect();
        if self.lease_duration <= self.renew_deadline {
            faults.push(("leaseDuration", "must be longer than renewDeadline"));
        }
        // Each wait between two tries is up to a fifth longer, so that not all candidates come at once.
        if self.renew_deadline <= self.retry_period.saturating_mul(6) / 5 {
            faults.push(("renewDeadline", "must be longer than 1.2 times retryPeriod"));
        }
        if self.elect { faults } else { Vec::new() }
    }
}

/// How the API server is reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Client {
    /// The path of the file that says where the server is; empty if another way says it.
    pub kubeconfig: String,
    /// The media types that answers may have; empty for the content type.
    pub accept_content_types: String,
    /// The media type of requests.
    pub content_type: String,
    /// How many requests may be made each second over time; `None` for any number.
    pub queries_per_second: Option<f32>,
    /// How many may be made at once.
    pub burst: u32,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            kubeconfig: String::new(),
            accept_content_types: String::new(),
            content_type: "application/vnd.kubernetes.protobuf".to_owned(),
            // Servers protect themselves; a pace of our own only makes pods wait.
            queries_per_second: None,
            burst: 100,
        }
    }
}

/// What is measured while running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profiling {
    /// Whether profiles can be fetched.
    pub enabled: bool,
    /// Whether waiting for locks is measured.
    pub contention: bool,
}

/// How long a pod that could not be placed waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// After the first attempt.
    pub initial: Duration,
    /// After many.
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { initial: Duration::from_secs(1), max: Duration::from_secs(10) }
    }
}
