//! Pods that are placed together: as a whole, or not at all.
//!
//! A gang is one entry of the queue. Its turn looks for seats for all members that wait, in one domain, and takes all of
//! them or none. Members that have their devices wait for the others before they are bound.
//!
//! Invariant: a pod that belongs to a group is in no queue of its own.

mod across;
mod assumed;
mod attempt;
mod axes;
mod cast;
mod claims;
mod device_sets;
mod domains;
mod flight;
pub(crate) mod gated;
mod ground;
mod helps;
mod in_the_way;
mod joint;
mod likeness;
mod members;
mod news;
mod notes;
mod order;
mod party;
mod release;
mod replicas;
mod rules;
mod tree;
mod tree_choice;
mod tree_search;
mod tree_seats;
mod tree_turn;
mod tree_whole;
mod turn;
mod vacancy;
mod victims;
mod walk;
mod way;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::topologies::NodeTopology;
use model::claim::ClaimId;
use model::group::{Composite, Group, GroupId};
use model::workload::{Terms, WorkloadId};
use rustc_hash::FxHashMap;

use flight::Flight;
pub use news::{GangNews, GangOutcome, Tried};
use notes::Notes;
use release::Landing;
use way::Plan;

/// What stands before the name of a gang in the queue. No uid begins like this.
const GANG: &str = "gang ";

/// What stands before the name of a group of groups in the queue.
const TREE: &str = "tree ";

/// What is placed in one turn.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Root {
    /// A group that belongs to no other.
    Group(GroupId),
    /// A group of groups.
    Composite(GroupId),
}

impl Root {
    /// Which group it is.
    pub(crate) fn id(&self) -> &GroupId {
        let (Root::Group(id) | Root::Composite(id)) = self;
        id
    }
}

/// Groups, and the pods that belong to them.
#[derive(Debug, Default)]
pub(crate) struct Gangs {
    groups: BTreeMap<GroupId, Arc<Group>>,
    by_uid: FxHashMap<Arc<str>, GroupId>,
    composites: BTreeMap<GroupId, Arc<Composite>>,
    /// What is in each group of groups, whether that is known or not.
    children: BTreeMap<GroupId, BTreeSet<Root>>,
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
    /// Groups of which enough members are bound, and which have yet to be told so.
    pub(crate) untold: BTreeSet<GroupId>,
    /// Those that were told, by uid.
    placed: BTreeMap<GroupId, Arc<str>>,
    /// Claims that count as having no devices, in a trial.
    pub(crate) lifted: BTreeSet<ClaimId>,
    /// Claims that count as having devices, in a trial: other groups of the tree got them.
    pub(crate) assumed: BTreeMap<ClaimId, Arc<ClaimState>>,
    /// What was looked at in this turn.
    tried: Tried,
    /// What is being made free for gangs.
    plans: BTreeMap<Root, Plan>,
    /// Notes on groups that are not known to be written.
    notes: Notes,
    /// What became of members that were to be bound together, as far as it is known.
    landings: BTreeMap<GroupId, Landing>,
    /// Members that were let go since another could not be bound, and are still on their nodes.
    pub(crate) released: BTreeSet<Arc<str>>,
    /// Groups that are ignored as the feature is off, and of which that was told.
    ignored: BTreeSet<GroupId>,
}

impl Gangs {
    /// What is queued under a key, if it is no single pod.
    pub(crate) fn of_key(&self, key: &str) -> Option<Root> {
        let id = |key: &str| {
            let (namespace, name) = key.split_once('/')?;
            Some(GroupId { namespace: namespace.into(), name: name.into() })
        };
        match key.strip_prefix(GANG) {
            Some(key) => id(key).map(Root::Group),
            None => id(key.strip_prefix(TREE)?).map(Root::Composite),
        }
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
fn key_of(root: &Root) -> Arc<str> {
    match root {
        Root::Group(id) => format!("{GANG}{id}").into(),
        Root::Composite(id) => format!("{TREE}{id}").into(),
    }
}
