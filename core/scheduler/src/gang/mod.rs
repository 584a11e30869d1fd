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
use cluster::groups::Root;
use model::claim::ClaimId;
use model::group::GroupId;
use rustc_hash::FxHashMap;

use flight::Flight;
pub use news::{GangNews, GangOutcome, Tried};
use notes::Notes;
use release::Landing;
use way::Plan;

/// What is under way with pods that are placed together.
#[derive(Debug, Default)]
pub(crate) struct Gangs {
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
