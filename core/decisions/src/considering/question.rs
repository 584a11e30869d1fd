//! What is asked, and the verdict.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::groups::Root;
use model::claim::ClaimId;
use model::group::{Group, GroupId};
use model::identity::{ClaimUid, ConsumerUid, PodUid};
use model::pod::Pod;

use crate::gang::{GangRefusal, Party, Seated, Sought, Tree, Tried, Way};
use crate::preempt::{Attempt, pods_of};
use crate::values::choice::Choice;
use crate::values::gang_preemption::GangPreemption;
use crate::values::in_the_way::InTheWay;
use crate::values::pod_refusal::PodRefusal;

/// What is asked: where these go.
#[derive(Clone, Debug)]
pub enum SchedulingQuestion {
    /// A pod, or which devices it gets on the node that it was bound to.
    Pod(Arc<Pod>),
    /// The members of a gang that wait, in the order in which they are seated.
    Gang {
        /// Their group.
        group: Arc<Group>,
        /// The members.
        members: Vec<Arc<Pod>>,
        /// Room was being made for some of them.
        is_nominated: bool,
    },
    /// The members of a tree that wait, in the same order.
    Tree {
        /// The tree.
        root: Root,
        /// The members.
        members: Vec<Arc<Pod>>,
    },
}

impl SchedulingQuestion {
    /// The pods that are asked about.
    #[must_use]
    pub fn pods(&self) -> &[Arc<Pod>] {
        match self {
            SchedulingQuestion::Pod(pod) => std::slice::from_ref(pod),
            SchedulingQuestion::Gang { members, .. } | SchedulingQuestion::Tree { members, .. } => members,
        }
    }
}

/// Where they go, or why nowhere.
#[derive(Debug)]
pub enum SchedulingVerdict {
    /// About a pod.
    Pod(Box<PodVerdict>),
    /// About a gang or a tree.
    Gang(Box<GangVerdict>),
}

/// Where a pod goes, or why nowhere.
#[derive(Debug)]
pub enum PodVerdict {
    /// It goes to a node.
    Placed {
        /// The node, and devices there.
        choice: Choice,
        /// Whose planned devices did not matter to it.
        lifted: Vec<PodUid>,
    },
    /// No node will do.
    Refused {
        /// Why.
        refusal: Box<PodRefusal>,
        /// What came of looking for pods to preempt, if that was done.
        attempt: Option<Attempt>,
    },
}

/// What came of looking for seats, and how much was looked at.
#[derive(Debug)]
pub struct GangVerdict {
    /// What was looked at.
    pub tried: Tried,
    /// What came of it.
    pub seats: SeatsVerdict,
}

/// What came of looking for seats.
#[derive(Debug)]
pub enum SeatsVerdict {
    /// Replicas of a group have their seats, each by itself.
    Replicas(Vec<(GroupId, Seated)>),
    /// Too few members can be placed anywhere.
    Unfit(Box<GangRefusal>),
    /// It is not known what the tree is made of.
    NoTree,
    /// There are seats.
    Seats {
        /// Claims of members that have devices of no use to any pod, and for which pod they give them back.
        in_the_way: Vec<(InTheWay, PodUid)>,
        /// Members and their seats.
        seated: Seated,
        /// Whose planned devices did not matter to them.
        lifted: Vec<PodUid>,
    },
    /// There are none.
    NoSeats(Box<NoSeats>),
}

/// There are no seats.
#[derive(Debug)]
pub struct NoSeats {
    /// What was looked for.
    pub sought: PartySought,
    /// Why there are none.
    pub refusal: GangRefusal,
    /// What would make room.
    pub way: Clearing,
}

/// What would make room for a gang.
#[derive(Debug)]
pub enum Clearing {
    /// Claims that no pod uses give their devices back: the claim's uid, and that of the pod or group that may use it.
    Claims(BTreeMap<ClaimId, (ClaimUid, ConsumerUid)>),
    /// Pods go, or it is known why none do.
    Pods(Way),
}

impl Clearing {
    /// What is done to make room, or why nothing is, as it is told.
    #[must_use]
    pub fn told(&self) -> Option<GangPreemption> {
        match self {
            Clearing::Claims(idle) => Some(GangPreemption::ClaimsGiveBack { claims: idle.len() }),
            Clearing::Pods(Way::Never) => None,
            Clearing::Pods(Way::NotEligible) => Some(GangPreemption::NotEligible),
            Clearing::Pods(Way::Hopeless(why)) => Some(GangPreemption::Hopeless(why.clone())),
            Clearing::Pods(Way::Coming(_)) => Some(GangPreemption::Ongoing),
            Clearing::Pods(Way::Found(candidate)) => {
                Some(GangPreemption::Found { victims: pods_of(&candidate.victims).count() })
            }
        }
    }
}

/// What a gang or a tree looks for.
#[derive(Debug)]
pub enum PartySought {
    /// A gang.
    Gang(Sought),
    /// A tree.
    Tree(Tree),
}

impl PartySought {
    /// What looks for seats together.
    #[must_use]
    pub fn party(&self) -> Party<'_> {
        match self {
            PartySought::Gang(sought) => Party::Gang(sought),
            PartySought::Tree(tree) => Party::Tree(tree),
        }
    }

    /// Claims of members that have devices of no use to any pod, and for which pod they give them back.
    #[must_use]
    pub fn in_the_way(&self) -> &[(InTheWay, PodUid)] {
        match self {
            PartySought::Gang(sought) => &sought.in_the_way,
            PartySought::Tree(tree) => &tree.in_the_way,
        }
    }
}
