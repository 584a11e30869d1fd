//! Pods that are placed together: as a whole, or not at all.
//!
//! A gang is one entry of the queue. Its turn looks for seats for all members that wait, in one domain, and takes all of
//! them or none. Members that have their devices wait for the others before they are bound.
//!
//! Invariant: a pod that belongs to a group is in no queue of its own.

mod claims;
mod flight;
mod gated;
mod in_the_way;
mod members;
mod news;
mod notes;
mod release;
mod replicas;
mod tree;
mod tree_turn;
mod turn;
mod vacancy;
mod way;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};

use cluster::groups::Root;
use decisions::gang::Tried;
use model::group::GroupId;
use model::identity::{GroupUid, PodUid};

use gated::Gated;
use notes::Notes;

use crate::life_cycles::flight::Flights;

/// What is under way with pods that are placed together.
#[derive(Debug, Default)]
pub(crate) struct Gangs {
    /// Pods and gangs that are held back until something exists.
    pub(crate) gated: Gated,
    /// Members that are to be bound together.
    flights: Flights,
    /// Groups of which enough members are bound, and which have yet to be told so.
    pub(crate) untold: BTreeSet<GroupId>,
    /// Those that were told, by uid.
    placed: BTreeMap<GroupId, GroupUid>,
    /// What was looked at in this turn.
    tried: Tried,
    /// Notes on groups that are not known to be written.
    notes: Notes,
    /// Members that were let go since another could not be bound, and are still on their nodes.
    pub(crate) released: BTreeSet<PodUid>,
    /// Gangs and trees with room that is kept for them, and that seem too small to use it: those that are so when there is a turn lose
    /// it. While pods are told of one by one, after a restart for one, each gang is too small for a moment.
    shrunk: BTreeSet<Root>,
    /// Groups that are ignored as the feature is off, and of which that was told.
    ignored: BTreeSet<GroupId>,
}
