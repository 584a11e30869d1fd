//! Why a gang or a tree of groups has no seats: one tree of enums with ids and numbers, down to the pod that has no node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::claim::DeviceSet;
use model::group::GroupId;
use model::workload::Together;
use placement::Refusal;

use crate::values::pod_refusal::PodRefusal;
use crate::values::reason::Reason;

/// Why a gang or a tree has no seats.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GangReason {
    /// Too few members can be placed anywhere, and this is one that cannot.
    Member(Unplaceable),
    /// Too few members wait.
    TooFewMembers {
        /// How many wait.
        waiting: usize,
        /// How many are needed.
        needed: u32,
    },
    /// No node is in a domain of a level.
    EmptyLevel {
        /// The level.
        level: Arc<str>,
    },
    /// There is no domain at all.
    NoDomain {
        /// For how many members.
        members: u32,
    },
    /// No domain has room for enough members.
    NoRoom(Box<Refusal<NextMember>>),
    /// Devices that were found for members are none for others like them.
    DevicesNotFoundAgain,
    /// No set of devices will do that claims are to be met from.
    DeviceSets {
        /// What devices of a set have in common.
        together: Together,
        /// What is wrong with the sets.
        short: SetShortage,
    },
    /// There is no set of devices.
    NoDeviceSet,
    /// No node reaches all sets that claims are to be met from.
    SetsOutOfReach,
    /// There are too many choices of sets.
    TooManySets {
        /// How many there may be.
        choices_max: usize,
    },
    /// Members have claims that cannot be met.
    MemberClaims,
    /// Other members have their nodes, and there is no room beside them.
    RestIsSeated,
    /// Nothing was tried any more: the work that may be done was done.
    NotTried,
    /// Too few groups of a tree have seats.
    Tree {
        /// What came closest.
        nearest: Box<GangReason>,
        /// What groups lack that were tried.
        groups: BTreeMap<GroupId, GangReason>,
    },
    /// A group of a tree has no seats.
    Group {
        /// The group.
        group: GroupId,
        /// How many other groups had seats then.
        beside: usize,
        /// Why.
        why: Box<GangReason>,
    },
    /// Too few groups of a tree have enough members.
    TooFewWholeGroups {
        /// How many are needed.
        needed: u32,
    },
    /// Too few groups of a tree fit.
    TooFewGroupsFit {
        /// How many are needed.
        needed: u32,
    },
    /// There is no domain for a tree as a whole.
    NoTreeDomain {
        /// The levels of which it has to be in one domain.
        levels: Vec<Arc<str>>,
        /// Members of it run already.
        runs: bool,
    },
}

/// A pod that has no node even if it were alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unplaceable {
    /// The pod's name.
    pub pod: Arc<str>,
    /// Why.
    pub refusal: Box<PodRefusal>,
}

/// Why the next member has no seat once others have theirs: nodes by reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NextMember {
    /// The pod's name.
    pub pod: Arc<str>,
    /// How many nodes have which reason.
    pub reasons: BTreeMap<Reason, usize>,
    /// For rules about other pods, the labels that tell places apart.
    pub keys: BTreeMap<Reason, BTreeSet<Arc<str>>>,
}

/// What is wrong with sets of devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetShortage {
    /// There is none.
    Missing,
    /// Devices that claims have already are in no one set.
    Split,
    /// None has enough devices.
    Short {
        /// The set with the most.
        set: DeviceSet,
        /// How many devices are needed.
        needed: u64,
        /// How many it has.
        free: u64,
    },
}
