//! Why a pod waits, or why it is where it is.

use std::sync::Arc;

use cluster::facts::Facts;
use decisions::considering::Snapshot;
use decisions::held_back::lack_of_pod;
use decisions::lacking::Lacking;
use model::identity::NodeName;
use model::pod::{Pod, PodId};

use crate::audience::Audience;
use crate::case::Case;
use crate::effort::Effort;
use crate::group::{GroupExplanation, explain_group};
use crate::placed::{PlacedPod, explain_placed};
use crate::waiting::{WaitingPod, explain_waiting};

/// What is to be said of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PodExplanation {
    /// There is no such pod, or it does not wait for this scheduler and is on no node.
    NotFound(PodId),
    /// It waits until its scheduling gates are removed.
    Gated {
        /// The pod.
        pod: PodId,
        /// The gates.
        gates: Vec<Arc<str>>,
    },
    /// Something that it needs does not exist, so that it is not looked at.
    HeldBack {
        /// The pod.
        pod: PodId,
        /// What it lacks.
        lack: Lacking,
    },
    /// It waits by itself.
    Waiting(WaitingPod),
    /// It waits with the other pods of its group.
    WaitingInGroup {
        /// The pod.
        pod: PodId,
        /// Why the group waits.
        group: Box<GroupExplanation>,
    },
    /// It is on a node, or on its way there.
    Placed(Box<PlacedPod>),
}

/// Why a pod waits, or why it is where it is.
#[must_use]
pub fn explain_pod(snapshot: &Snapshot, id: &PodId, audience: &Audience, effort: Effort) -> PodExplanation {
    let facts = &snapshot.facts;
    let waiting = facts.waiting.values().find(|pod| pod.id == *id).cloned();
    // One that was bound by hand is on its node, and waits for devices there.
    let waits_there = waiting.as_ref().is_some_and(|pod| pod.node.is_some());
    if let Some((node, pod)) = placed(facts, id).filter(|_| !waits_there) {
        return PodExplanation::Placed(Box::new(explain_placed(snapshot, &pod, &node, effort)));
    }
    let Some(pod) = waiting else { return PodExplanation::NotFound(id.clone()) };
    if waits_there {
        let case = Case::of_pod(snapshot.clone(), pod.clone());
        return PodExplanation::Waiting(explain_waiting(&case, &pod, audience, effort));
    }
    let heeds_gates = snapshot.settings.profile(&pod).is_some_and(|profile| profile.heeds_gates);
    if heeds_gates && !pod.gates.is_empty() {
        return PodExplanation::Gated { pod: id.clone(), gates: pod.gates.clone() };
    }
    if let Some(lack) = lack_of_pod(facts, &snapshot.settings, &pod) {
        return PodExplanation::HeldBack { pod: id.clone(), lack };
    }
    if let Some(root) = facts.groups.key_of(&pod).root() {
        let group = Box::new(explain_group(snapshot, &root, audience, effort));
        return PodExplanation::WaitingInGroup { pod: id.clone(), group };
    }
    let case = Case::of_pod(snapshot.clone(), pod.clone());
    PodExplanation::Waiting(explain_waiting(&case, &pod, audience, effort))
}

/// A pod that is on a node or on its way to one.
pub(crate) fn placed(facts: &Facts, id: &PodId) -> Option<(NodeName, Arc<Pod>)> {
    let pod = facts.nodes.pods().find(|pod| pod.id == *id)?;
    Some((pod.node.clone()?, pod.clone()))
}
