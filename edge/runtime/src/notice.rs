//! What happens while a scheduler works, told to whoever wants to know: logs, metrics, a live view.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use decisions::filters::FilterSet;
use decisions::readiness::ReadyOutcome;
use model::group::Grouping;
use model::identity::NodeName;
use model::pod::{Pod, PodId};
use scheduler::news::{Await, GangNews, PreemptionNews, Wait};
use scheduler::queue::{Cause, Counts, Entity, Station, Tries};
use scheduler::write::Write;

/// Hears what happens. It is called on the engine's loop, so it must be quick.
pub trait Listener: Send + Sync {
    /// Something happened.
    fn hear(&self, notice: &Notice<'_>);
}

/// Hears nothing.
impl Listener for () {
    fn hear(&self, _: &Notice<'_>) {}
}

/// What came of looking at a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttemptResult {
    /// It has a node.
    Scheduled,
    /// No node will do.
    Unschedulable,
    /// Something went wrong.
    Error,
}

/// How a shadow's decision compares to what was bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// The same node.
    Same,
    /// Another node than ours.
    Other {
        /// What we had chosen.
        ours: NodeName,
    },
    /// We had found no node.
    Refused {
        /// Why.
        reason: String,
    },
    /// It was bound before we looked at it.
    Unseen,
}

/// Where a scheduler stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// It reads what is there; these kinds are still to come.
    Reading(Vec<&'static str>),
    /// It knows what is there, and another leads.
    Standby {
        /// Who leads, if that is known.
        leader: Option<String>,
    },
    /// It schedules pods.
    Working,
}

/// Something that happened.
#[derive(Debug)]
pub enum Notice<'a> {
    /// It stands otherwise now.
    State(&'a State),
    /// A kind is not served, so nothing is known of it. It is asked for again from time to time.
    NotServed {
        /// The kind.
        kind: &'static str,
    },
    /// A kind is served that was not.
    Served {
        /// The kind.
        kind: &'static str,
    },
    /// A stream of facts is interrupted, and goes on by itself.
    Interrupted {
        /// The kind.
        kind: &'static str,
        /// What went wrong.
        why: &'a str,
        /// When it is tried again.
        retry_in: Duration,
    },
    /// An object means nothing to us.
    Unreadable {
        /// The object.
        object: &'a str,
        /// What is wrong with it.
        why: &'a str,
    },
    /// The lease could not be read or written.
    ElectionTrouble {
        /// What went wrong.
        why: &'a str,
    },
    /// A pod was looked at.
    Attempt {
        /// The scheduler that it asked for.
        profile: &'a str,
        /// What came of it.
        result: AttemptResult,
        /// How long it took.
        took: Duration,
    },
    /// Something came of pods that are placed together.
    Gang {
        /// What.
        news: &'a GangNews,
        /// How long it was looked for nodes; nothing if it was not.
        took: Option<Duration>,
    },
    /// A pod has its node.
    Bound {
        /// The pod.
        pod: &'a Pod,
        /// The node.
        node: &'a str,
        /// How often it was looked at, and since when.
        tries: Tries,
        /// How long it has waited since it first was ready to be placed.
        waited: Duration,
    },
    /// A fact was taken in.
    TakenIn {
        /// Of what kind, as Kubernetes names the event.
        event: &'static str,
        /// How long it took.
        took: Duration,
    },
    /// How many pods of no group, and how many groups, are in which place of the queue; told now and then.
    Entities {
        /// The numbers, with those places where there are none.
        counts: &'a BTreeMap<(Station, Entity), usize>,
    },
    /// It was looked for pods to preempt; told now and then.
    Preemptions {
        /// For what, and what came of it.
        news: PreemptionNews,
        /// How often.
        count: u64,
    },
    /// Pods or groups came to a place of the queue; told now and then.
    Queued {
        /// Which place.
        station: Station,
        /// Why.
        cause: Cause,
        /// Whether they are pods of no group, or groups.
        entity: Entity,
        /// How many.
        count: u64,
    },
    /// A pod has no node.
    Refused {
        /// The pod.
        pod: &'a Pod,
        /// Why.
        message: &'a str,
        /// The filters that say so; none if something went wrong.
        filters: FilterSet,
        /// The codes of what is missing, the most frequent first; none if something went wrong.
        reasons: &'a [&'static str],
    },
    /// A pod waits no more: it is gone, or has a node.
    WaitsNoMore {
        /// Its uid.
        uid: &'a str,
    },
    /// A pod waits for its devices, which are being made ready.
    DevicesPending {
        /// The pod.
        pod: &'a Pod,
        /// For what it waits.
        message: &'a str,
    },
    /// A pod waits for its devices no more.
    DevicesDone {
        /// The pod.
        pod: &'a Pod,
        /// How it ended.
        outcome: ReadyOutcome,
        /// How long it waited.
        waited: Duration,
        /// The driver of each device that had to be made ready.
        drivers: &'a [Arc<str>],
    },
    /// A pod waits for drivers' controllers.
    Negotiating {
        /// The pod.
        pod: &'a Pod,
        /// What it waits for, and of whom.
        wait: &'a Wait,
    },
    /// How many pods wait for which driver, and for what of it; told now and then.
    Drivers {
        /// The numbers.
        counts: &'a BTreeMap<(Await, Arc<str>), usize>,
    },
    /// So many questions are being considered that take long to decide; told now and then.
    Considering {
        /// How many.
        count: usize,
    },
    /// A question that takes long is decided, or could not be.
    Considered {
        /// How long it took.
        took: Duration,
    },
    /// A question could not be decided. What it was about is tried again later.
    ConsiderationFailed {
        /// Why.
        why: &'a str,
    },
    /// A pod goes, since a more important one needs its place.
    Preempted {
        /// The pod that goes.
        pod: &'a Pod,
        /// The other; if a group needs the place, one of its pods.
        by: &'a Pod,
        /// The group that needs the place, if it is one.
        group: Option<&'a Grouping>,
        /// The node on which that is to be; for a group the domain.
        node: &'a str,
    },
    /// A pod that was bound is let go, since another of its gang could not be.
    Released {
        /// The pod.
        pod: &'a Pod,
        /// Why.
        message: &'a str,
    },
    /// A pod is placed as if it belonged to no group, since the feature is off; told once for a group.
    GroupIgnored {
        /// The pod.
        pod: &'a Pod,
        /// What is to be done about it.
        message: &'a str,
    },
    /// A write is on its way.
    Submitted {
        /// The write.
        write: &'a Write,
    },
    /// A write was answered.
    Settled {
        /// The write.
        write: &'a Write,
        /// The scheduler that its pod asked for, if it brings a pod nearer to its node.
        profile: Option<&'a str>,
        /// Whether it is done.
        done: bool,
        /// How long it took.
        took: Duration,
    },
    /// A write was not carried out.
    WriteFailed {
        /// The write.
        write: &'a Write,
        /// Why.
        why: &'a str,
    },
    /// Another leads, and the scheduler ends.
    LostLeadership {
        /// What happened.
        why: &'a str,
    },
    /// Nothing is recorded any more.
    RecordingEnded {
        /// Why.
        why: &'a str,
    },
    /// Events were lost because there were too many.
    EventsDropped {
        /// How many.
        count: u64,
    },
    /// In a shadow: a pod was bound by somebody else.
    Compared {
        /// The pod.
        pod: &'a PodId,
        /// The node that it was bound to.
        node: &'a str,
        /// How that compares to ours.
        comparison: &'a Comparison,
    },
    /// How much of the cluster is held in memory; told now and then.
    Held {
        /// Nodes.
        nodes: usize,
        /// Pods on nodes, or on their way there.
        pods: usize,
        /// Pods on their way to a node.
        placing: usize,
    },
    /// How many pods wait; told now and then.
    Waiting {
        /// Those that wait, by how.
        counts: Counts,
        /// Those on their way to a node, except for those that wait for their devices.
        placing: usize,
    },
}
