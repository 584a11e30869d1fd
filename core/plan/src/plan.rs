//! Whether pods would fit that are yet to be made, where, and which pods would be preempted for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::change::Change;
use decisions::considering::Snapshot;
use explain::Extent;
use model::claim::ClaimId;
use model::device::DeviceId;
use model::identity::{NodeName, PodUid};
use model::pod::{Pod, PodId};

use crate::alter::{Altering, NoSuchThing};
use crate::alteration::Alteration;
use crate::rehearsal::{PreemptedPod, Rehearsal};
use crate::usage::{ClusterUsage, usage};

/// What is asked.
#[derive(Clone, Debug)]
pub struct PlanQuestion {
    /// What is known of the cluster.
    pub snapshot: Snapshot,
    /// Objects that are yet to be made, in the order in which they are.
    pub arrivals: Vec<Change>,
    /// What is to be otherwise.
    pub alterations: Vec<Alteration>,
    /// The namespace of pods that are named without one.
    pub namespace: String,
    /// The values of priority classes.
    pub priorities: BTreeMap<String, i32>,
    /// Pods that stay on their nodes when these are drained, as those of DaemonSets do.
    pub stays: BTreeSet<PodId>,
    /// How much work may be done, in nominal nanoseconds.
    pub work_max: u64,
}

/// How much work a plan may be, in nominal nanoseconds: about the time that it takes.
pub const WORK_MAX: u64 = 20_000_000_000;

/// What would become of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedPod {
    /// The pod.
    pub pod: PodId,
    /// What it is to the plan.
    pub origin: Origin,
    /// The node that it was on before.
    pub from: Option<NodeName>,
    /// Where it would be.
    pub standing: Standing,
}

/// Why a pod is part of a plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// It is among the manifests.
    New,
    /// It was on a node that is drained.
    Moved,
    /// It waits in the cluster already.
    Waiting,
}

/// Where a pod would be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// On a node, with devices.
    Placed {
        /// The node.
        node: NodeName,
        /// The devices, by the claims of the pod.
        devices: Vec<(ClaimId, DeviceId)>,
    },
    /// Nowhere.
    Waiting {
        /// Why, in one sentence.
        reason: String,
    },
}

/// What would happen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodPlan {
    /// The pods that are asked about, in order: those of the manifests, and those of drained nodes.
    pub pods: Vec<PlannedPod>,
    /// Pods that waited in the cluster before, and would get a node too.
    pub others: Vec<PlannedPod>,
    /// Pods that would be preempted.
    pub preempted: Vec<PreemptedPod>,
    /// What is in use before.
    pub before: ClusterUsage,
    /// What would be in use.
    pub after: ClusterUsage,
    /// What is to be known besides.
    pub notes: Vec<String>,
    /// Whether everything was decided.
    pub extent: Extent,
}

impl PodPlan {
    /// How many of the pods would have a node.
    #[must_use]
    pub fn placed(&self) -> usize {
        self.pods.iter().filter(|pod| pod.is_placed()).count()
    }

    /// Whether all of them would.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.pods.iter().all(PlannedPod::is_placed)
    }
}

impl PlannedPod {
    /// Whether it would have a node.
    #[must_use]
    pub fn is_placed(&self) -> bool {
        matches!(self.standing, Standing::Placed { .. })
    }
}

/// What would happen if the objects were made and things were otherwise. The scheduler decides on a copy of what is known.
///
/// # Errors
/// Something that is to be otherwise is not there.
pub fn plan(question: PlanQuestion) -> Result<PodPlan, NoSuchThing> {
    let before = usage(&question.snapshot.facts);
    let Prepared { mut rehearsal, arrivals, moved, notes, waiting } = prepare(question)?;
    let mut extent = Extent::Whole;
    let new = tell_all(&mut rehearsal, arrivals);
    extent = extent.and(rehearsal.run());
    let stand = |pod: &Arc<Pod>, origin: Origin, from: Option<NodeName>| {
        let standing = standing(&rehearsal, pod);
        PlannedPod { pod: pod.id.clone(), origin, from, standing }
    };
    let pods = new.iter().map(|pod| stand(pod, Origin::New, None));
    let pods = pods.chain(moved.iter().map(|(pod, node)| stand(pod, Origin::Moved, node.clone()))).collect();
    let got_one = |pod: &&Arc<Pod>| rehearsal.node_of(&pod.uid).is_some();
    let others = waiting.iter().filter(got_one).map(|pod| stand(pod, Origin::Waiting, None)).collect();
    let preempted = std::mem::take(&mut rehearsal.preempted);
    let after = usage(rehearsal.facts());
    Ok(PodPlan { pods, others, preempted, before, after, notes, extent })
}

/// A cluster that is as it is wanted, with what is yet to be made.
pub(crate) struct Prepared {
    pub rehearsal: Rehearsal,
    pub arrivals: Vec<Change>,
    /// Pods that are placed anew, with the nodes that they were on.
    pub moved: Vec<(Arc<Pod>, Option<NodeName>)>,
    pub notes: Vec<String>,
    /// Pods that waited before anything was changed.
    pub waiting: Vec<Arc<Pod>>,
}

/// Makes the cluster as it is wanted. Pods that are there already and are among what is to be made go first.
pub(crate) fn prepare(question: PlanQuestion) -> Result<Prepared, NoSuchThing> {
    let PlanQuestion { snapshot, mut arrivals, alterations, namespace, priorities, stays, work_max } =
        question;
    let known = snapshot.facts.clone();
    let mut rehearsal = Rehearsal::of(snapshot, work_max);
    let mut notes = replace_known(&mut rehearsal, &mut arrivals);
    let mut waiting: Vec<Arc<Pod>> = rehearsal.waiting().cloned().collect();
    waiting.sort_by(|one, other| one.id.cmp(&other.id));
    let mut moved = Vec::new();
    let mut altering = Altering {
        rehearsal: &mut rehearsal,
        arrivals: &mut arrivals,
        moved: &mut moved,
        notes: &mut notes,
        namespace: &namespace,
        priorities: &priorities,
        stays: &stays,
        attached: 0,
    };
    // Nodes are copied as they are now, and pods are placed anew when everything else is as it is wanted.
    let is_late = |one: &&Alteration| matches!(one, Alteration::Drain(_));
    for alteration in alterations.iter().filter(|one| !is_late(one)) {
        altering.apply(alteration)?;
    }
    for alteration in alterations.iter().filter(is_late) {
        altering.apply(alteration)?;
    }
    let node = |pod: &Arc<Pod>| known.nodes.pod(&pod.uid).and_then(|(_, pod)| pod.node.clone());
    let moved = moved.into_iter().map(|pod| (node(&pod), pod)).map(|(node, pod)| (pod, node)).collect();
    waiting.retain(|pod| rehearsal.facts().waiting.contains_key(&pod.uid));
    Ok(Prepared { rehearsal, arrivals, moved, notes, waiting })
}

/// Takes pods away that are to be made anew, and keeps claims that are there.
fn replace_known(rehearsal: &mut Rehearsal, arrivals: &mut Vec<Change>) -> Vec<String> {
    let facts = rehearsal.facts();
    let all = facts.waiting.values().chain(facts.nodes.pods());
    let known: BTreeMap<&PodId, &PodUid> = all.map(|pod| (&pod.id, &pod.uid)).collect();
    let mut notes = Vec::new();
    let mut replaced = Vec::new();
    arrivals.retain(|change| match change {
        Change::PodApplied(pod) => {
            if let Some(uid) = known.get(&pod.id) {
                notes.push(format!(
                    "pod {} is in the cluster already; the plan is for the pod of the manifest in its place",
                    pod.id
                ));
                replaced.push(PodUid::clone(uid));
            }
            true
        }
        Change::ClaimApplied(state) if facts.claims.get(&state.wish.id).is_some() => {
            notes.push(format!(
                "claim {} is in the cluster already; the plan uses the claim of the cluster",
                state.wish.id
            ));
            false
        }
        _ => true,
    });
    replaced.iter().for_each(|uid| rehearsal.end_pod(uid));
    notes
}

/// Tells the scheduler of everything that is made, and gives the pods among it.
pub(crate) fn tell_all(rehearsal: &mut Rehearsal, arrivals: Vec<Change>) -> Vec<Arc<Pod>> {
    let mut pods = Vec::new();
    for change in arrivals {
        match change {
            // One that names its node is there already, and one that is over needs none.
            Change::PodApplied(pod) if pod.node.is_none() && !pod.finished => {
                let pod = rehearsal.anew(&pod);
                pods.push(pod.clone());
                rehearsal.enqueue(pod);
            }
            Change::PodApplied(pod) => {
                pods.push(pod.clone());
                rehearsal.tell(Change::PodApplied(pod));
            }
            other => rehearsal.tell(other),
        }
    }
    pods
}

/// Where a pod is.
pub(crate) fn standing(rehearsal: &Rehearsal, pod: &Pod) -> Standing {
    match rehearsal.node_of(&pod.uid) {
        Some(node) => {
            let devices = rehearsal.devices_of(pod).into_iter().map(|(claim, held)| (claim, held.device));
            Standing::Placed { node: node.clone(), devices: devices.collect() }
        }
        None => Standing::Waiting { reason: rehearsal.reason(pod) },
    }
}
