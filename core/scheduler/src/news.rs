//! What people want to know of what is under way.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use decisions::filters::FilterSet;
use decisions::gang::Tried;
use decisions::readiness::ReadyOutcome;
use model::group::{GroupId, Grouping};
use model::identity::{GroupUid, NodeName};
use model::pod::Pod;
use model::timestamp::Timestamp;

/// Something that people want to know.
#[derive(Clone, PartialEq, Debug)]
pub enum Announcement {
    /// A pod has its node.
    Scheduled {
        /// The pod, as it was when it was looked at.
        pod: Arc<Pod>,
        /// The node.
        node: NodeName,
        /// How often it was looked at.
        attempts: u32,
        /// When it first was ready to be placed.
        since: Option<Timestamp>,
    },
    /// A pod has none.
    FailedScheduling {
        /// The pod, as it was when it was looked at.
        pod: Arc<Pod>,
        /// Why.
        message: String,
        /// The filters that say so; none if something went wrong.
        filters: FilterSet,
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
        /// What it waits for, and of whom.
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

/// What came of a gang.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GangOutcome {
    /// So many members are on their way to nodes.
    Seated {
        /// How many.
        members: usize,
    },
    /// There are no nodes for enough of them.
    Refused {
        /// Why.
        message: String,
    },
    /// There are none yet: less important pods make way.
    MakingRoom {
        /// Why, and who goes.
        message: String,
    },
    /// Enough of them are bound.
    Placed {
        /// How many.
        members: usize,
    },
}

impl fmt::Display for GangOutcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GangOutcome::Seated { members } => write!(out, "nodes for {members} pods"),
            GangOutcome::Refused { message } | GangOutcome::MakingRoom { message } => out.write_str(message),
            GangOutcome::Placed { members } => write!(out, "{members} pods are bound"),
        }
    }
}

/// What is awaited of a driver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Await {
    /// It is to say which nodes will not do.
    Information,
    /// It is to give devices for the node that is chosen.
    Allocation,
}

impl Await {
    /// In a word, as metrics have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Await::Information => "information",
            Await::Allocation => "allocation",
        }
    }
}

/// What a pod waits for, and of whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// What is awaited.
    pub what: Await,
    /// The node that is chosen.
    pub node: Option<NodeName>,
    /// The claims, and the driver of each.
    pub claims: Vec<(Arc<str>, Arc<str>)>,
}

impl Wait {
    /// The drivers, each once.
    #[must_use]
    pub fn drivers(&self) -> BTreeSet<Arc<str>> {
        self.claims.iter().map(|(_, driver)| driver.clone()).collect()
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: Vec<&str>| names.join(", ");
        let drivers = self.drivers();
        let drivers = list(drivers.iter().map(|name| &**name).collect());
        let claims = list(self.claims.iter().map(|(claim, _)| &**claim).collect());
        match (&self.what, &self.node) {
            (Await::Information, _) => write!(
                out,
                "waiting for resource driver {drivers} to provide information about nodes for claim {claims}"
            ),
            (Await::Allocation, Some(node)) => {
                write!(
                    out,
                    "waiting for resource driver {drivers} to allocate claim {claims} for node {node}"
                )
            }
            (Await::Allocation, None) => {
                write!(out, "waiting for resource driver {drivers} to allocate claim {claims}")
            }
        }
    }
}
