//! Says what is wrong with pools before anything is sent, with the names of pool and device.
//!
//! The rules are those of the API server, by the same code, with every feature on: what a server with fewer features
//! drops is noticed when it happens. To these come the rules that hold for a whole pool and that no server checks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use admission::{Context, FieldValidation, Identity, Operation, Rejection, Submission, Surroundings, admit};
use gates::Gates;
use model::timestamp::Timestamp;
use objects::Object;
use objects::core::node::Node;
use objects::resource::slice::{CounterSet, ResourceSlice};
use objects::scheduling::priority_class::PriorityClass;
use thiserror::Error;

use crate::publish::plan::{Alterations, Publication, SliceWrite, plan};
use crate::publish::pool::{Pool, Reach, Scope};

/// What is wrong with pools. Nothing was sent.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}", list(.0))]
pub struct BadPools(pub Vec<Fault>);

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The pool.
    pub pool: String,
    /// The device, if it is about one.
    pub device: Option<String>,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.device {
            Some(device) => write!(out, "pool {}, device {device}: {}", self.pool, self.what),
            None => write!(out, "pool {}: {}", self.pool, self.what),
        }
    }
}

fn list(faults: &[Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Checks pools.
///
/// # Errors
/// Everything that is wrong with them.
pub(crate) fn check(publication: &Publication, pools: &[Pool]) -> Result<(), BadPools> {
    let mut faults = Vec::new();
    let mut names = BTreeSet::new();
    for pool in pools {
        if !names.insert(&pool.name) {
            faults.push(fault(pool, None, "is there twice".to_owned()));
        }
        check_reach(&publication.scope, pool, &mut faults);
        check_names(pool, &mut faults);
        if faults.is_empty() {
            check_slices(publication, pool, &mut faults);
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(BadPools(faults)) }
}

fn fault(pool: &Pool, device: Option<&str>, what: String) -> Fault {
    Fault { pool: pool.name.clone(), device: device.map(str::to_owned), what }
}

fn check_reach(scope: &Scope, pool: &Pool, faults: &mut Vec<Fault>) {
    let wrong = match (scope, &pool.reach) {
        (Scope::Node(_), Reach::OwnNode) => return,
        (Scope::Network { .. }, Reach::Nodes(_) | Reach::AllNodes | Reach::PerDevice) => return,
        (Scope::Node(_), _) => "is usable from several nodes; hint: publish it with a network scope",
        (Scope::Network { .. }, Reach::OwnNode) => {
            "has a node scope, but the publisher has no node; hint: set the nodes that can use it"
        }
    };
    faults.push(fault(pool, None, wrong.to_owned()));
}

/// Devices and counter sets are named once, and what devices draw from is there.
fn check_names(pool: &Pool, faults: &mut Vec<Fault>) {
    let mut sets: BTreeMap<&str, &CounterSet> = BTreeMap::new();
    for set in &pool.counter_sets {
        if sets.insert(&set.name, set).is_some() {
            faults.push(fault(pool, None, format!("counter set {} is there twice", set.name)));
        }
    }
    let mut devices = BTreeSet::new();
    for device in &pool.devices {
        if !devices.insert(&device.name) {
            faults.push(fault(pool, Some(&device.name), "is there twice".to_owned()));
        }
        for draw in &device.consumes_counters {
            let Some(set) = sets.get(&*draw.counter_set) else {
                let what =
                    format!("draws from counter set {:?}, which the pool does not have", draw.counter_set);
                faults.push(fault(pool, Some(&device.name), what));
                continue;
            };
            for counter in draw.counters.keys().filter(|counter| !set.counters.contains_key(*counter)) {
                let what = format!("draws from counter {counter:?}, which set {} does not have", set.name);
                faults.push(fault(pool, Some(&device.name), what));
            }
        }
    }
}

/// Asks the rules of the API server about each slice.
fn check_slices(publication: &Publication, pool: &Pool, faults: &mut Vec<Fault>) {
    for write in plan(publication, Some(pool), &[], &Alterations::default()) {
        let SliceWrite::Create(slice) = write else { continue };
        match refusal(&slice) {
            None | Some(Rejection::Forbidden(_)) => {}
            Some(Rejection::Invalid(causes)) => {
                for cause in causes {
                    let (device, field) = place(&slice, &cause.field);
                    faults.push(fault(pool, device, format!("{field}: {}", cause.message)));
                }
            }
            Some(other) => faults.push(fault(pool, None, other.to_string())),
        }
    }
}

fn refusal(slice: &ResourceSlice) -> Option<Rejection> {
    let kind = schema::table()
        .kind(ResourceSlice::API_VERSION, ResourceSlice::KIND)
        .expect("slices are in the table of kinds");
    let submission = Submission {
        kind,
        namespace: "",
        object: serde_json::to_value(slice).expect("a slice can be written as JSON"),
        owners: None,
        duplicates: Vec::new(),
        field_validation: FieldValidation::Strict,
    };
    let context = Context { now: Timestamp::default(), gates: &Gates::all_on(), surroundings: &Nothing };
    let identity = Identity { uid: "00000000-0000-4000-8000-000000000000", suffix: "" };
    admit(submission, Operation::Create, identity, &context).err()
}

/// Which device a path is about, and the path within it.
fn place<'s>(slice: &'s ResourceSlice, path: &str) -> (Option<&'s str>, String) {
    let path = path.strip_prefix("spec.").unwrap_or(path);
    let within = path.strip_prefix("devices[").and_then(|rest| rest.split_once(']'));
    let device = within.and_then(|(index, _)| {
        let index: usize = index.parse().ok()?;
        slice.spec.devices.as_ref()?.get(index)
    });
    match (device, within) {
        (Some(device), Some((_, field))) => (Some(&device.name), field.trim_start_matches('.').to_owned()),
        _ => (None, path.to_owned()),
    }
}

/// Other objects, of which nothing is known here. What depends on them is refused by the server alone.
struct Nothing;

impl Surroundings for Nothing {
    fn namespace_labels(&self, _: &str) -> Option<BTreeMap<String, String>> {
        None
    }

    fn priority_class(&self, _: &str) -> Option<PriorityClass> {
        None
    }

    fn default_priority_class(&self) -> Option<PriorityClass> {
        None
    }

    fn nodes(&self, _: &dyn Fn(&Node) -> bool) -> Vec<Node> {
        Vec::new()
    }
}
