//! What people want to know of what is under way.

use std::sync::Arc;

use decisions::filters::FilterSet;
use decisions::gang::Tried;
use decisions::readiness::ReadyOutcome;
use model::group::{GroupId, Grouping};
use model::identity::{GroupUid, NodeName};
use model::pod::Pod;

use crate::queue::{Entity, Tries};

pub use decisions::driver_wait::{Await, Wait};
pub use decisions::gang_outcome::GangOutcome;

/// Something that people want to know.
#[derive(Clone, PartialEq, Debug)]
pub enum Announcement {
    /// A pod has its node.
    Scheduled {
        /// The pod, as it was when it was looked at.
        pod: Arc<Pod>,
        /// The node.
        node: NodeName,
        /// How often it was looked at, and since when.
        tries: Tries,
    },
    /// A pod has none.
    FailedScheduling {
        /// The pod, as it was when it was looked at.
        pod: Arc<Pod>,
        /// Why.
        message: String,
        /// The filters that say so; none if something went wrong.
        filters: FilterSet,
        /// The codes of what is missing, the most frequent first; none if something went wrong.
        reasons: Vec<&'static str>,
        /// It was not told before for this reason, or that was long ago.
        is_news: bool,
    },
    /// A pod waits for its devices, which are being made ready.
    DevicesPending {
        /// The pod.
        pod: Arc<Pod>,
        /// Its node.
        node: NodeName,
        /// For what it waits.
        message: String,
    },
    /// A pod waits for its devices no more.
    DevicesDone {
        /// The pod.
        pod: Arc<Pod>,
        /// How it ended.
        outcome: ReadyOutcome,
        /// How long it waited.
        waited_ms: i64,
        /// The driver of each device that had to be made ready.
        drivers: Vec<Arc<str>>,
    },
    /// A pod waits for drivers' controllers.
    Negotiating {
        /// The pod.
        pod: Arc<Pod>,
        /// What it waits for, and of which drivers.
        wait: Wait,
    },
    /// A pod goes, since a more important one needs its place.
    Preempted {
        /// The pod that goes.
        pod: Arc<Pod>,
        /// The other; if a group needs the place, one of its pods.
        by: Arc<Pod>,
        /// The group that needs the place, if it is one.
        group: Option<Grouping>,
        /// The node on which that is to be; for a group the domain.
        node: Arc<str>,
    },
    /// A pod that was bound is let go, since another of its gang could not be.
    Released {
        /// The pod.
        pod: Arc<Pod>,
        /// Why.
        message: String,
    },
    /// A pod is placed as if it belonged to no group, since the feature is off.
    GroupIgnored {
        /// The pod, the first of its group.
        pod: Arc<Pod>,
        /// What is to be done about it.
        message: String,
    },
    /// Something came of pods that are placed together.
    Gang(Box<GangNews>),
}

/// What came of looking for pods to preempt.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PreemptionNews {
    /// For what.
    pub by: Entity,
    /// What came of it.
    pub outcome: PreemptionOutcome,
}

/// Whether pods are preempted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PreemptionOutcome {
    /// Pods are preempted.
    Found {
        /// How many.
        pods: usize,
        /// How many units those are: single pods, and groups that go as a whole.
        units: usize,
        /// How many of them a disruption budget would keep.
        violations: usize,
    },
    /// None are: it may not be, would not help, or others are going already.
    None,
}

/// What came of a gang.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GangNews {
    /// Its group.
    pub group: GroupId,
    /// The uid of the group.
    pub uid: GroupUid,
    /// The scheduler that its pods ask for.
    pub scheduler: Arc<str>,
    /// What came of it.
    pub outcome: GangOutcome,
    /// What was looked at for it.
    pub tried: Tried,
    /// It was not told before for this reason, or that was long ago.
    pub is_news: bool,
}
