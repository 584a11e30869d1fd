//! Pods that are placed together: as a whole, or not at all.
//!
//! A gang is one entry of the queue. Its turn looks for seats for all members that wait, in one domain, and takes all of
//! them or none. Members that have their devices wait for the others before they are bound.
//!
//! Invariant: a pod that belongs to a group is in no queue of its own.

mod attempt;
mod axes;
mod cast;
mod device_sets;
mod domains;
mod flight;
mod following;
mod ground;
mod helps;
mod likeness;
mod members;
mod one_by_one;
mod replicas;
mod turn;
mod victims;
mod way;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::topologies::NodeTopology;
use model::claim::ClaimId;
use model::group::{Group, GroupId};
use model::workload::{Terms, WorkloadId};
use rustc_hash::FxHashMap;

use flight::Flight;
use way::Plan;

/// What stands before the name of a gang in the queue. No uid begins like this.
const KEY: &str = "gang ";

/// Groups, and the pods that belong to them.
#[derive(Debug, Default)]
pub(crate) struct Gangs {
    groups: BTreeMap<GroupId, Arc<Group>>,
    /// What groups of our own workloads ask of their placement.
    terms: BTreeMap<GroupId, Arc<Terms>>,
    /// The groups of each of our own workloads.
    workloads: BTreeMap<WorkloadId, Vec<GroupId>>,
    /// How nodes are grouped, by name.
    topologies: BTreeMap<Arc<str>, NodeTopology>,
    /// Members that wait for a node, and whether something else has to be done before they may be placed.
    waiting: BTreeMap<GroupId, BTreeMap<Arc<str>, bool>>,
    /// Members that are on a node or on their way to one.
    seated: BTreeMap<GroupId, BTreeSet<Arc<str>>>,
    /// The group of each member that is on a node or on its way to one.
    group_of: FxHashMap<Arc<str>, GroupId>,
    /// Members that are to be bound together.
    flights: BTreeMap<GroupId, Flight>,
    /// The gang of each of them.
    in_flight: FxHashMap<Arc<str>, GroupId>,
    /// Members that reserve a claim once it has the devices that it gets with another member.
    followers: BTreeMap<ClaimId, BTreeSet<Arc<str>>>,
    /// What is being made free for gangs.
    plans: BTreeMap<GroupId, Plan>,
}

impl Gangs {
    /// The gang that is queued under a key.
    pub(crate) fn of_key(&self, key: &str) -> Option<GroupId> {
        let (namespace, name) = key.strip_prefix(KEY)?.split_once('/')?;
        Some(GroupId { namespace: namespace.into(), name: name.into() })
    }

    /// How many members there are, wherever they are.
    fn members(&self, id: &GroupId) -> usize {
        let none = BTreeSet::new();
        let seated = self.seated.get(id).unwrap_or(&none);
        let waiting = self.waiting.get(id).into_iter().flat_map(BTreeMap::keys);
        seated.len() + waiting.filter(|uid| !seated.contains(*uid)).count()
    }

    /// A group by name.
    pub(crate) fn group(&self, id: &GroupId) -> Option<&Arc<Group>> {
        self.groups.get(id)
    }

    /// The members that are on a node or on their way to one.
    pub(crate) fn seated(&self, id: &GroupId) -> impl Iterator<Item = &Arc<str>> {
        self.seated.get(id).into_iter().flatten()
    }
}

/// Under which key a gang is queued.
fn key_of(id: &GroupId) -> Arc<str> {
    format!("{KEY}{id}").into()
}
