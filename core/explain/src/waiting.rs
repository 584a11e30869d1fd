//! Why a pod waits: what removes which nodes, what comes nearest, what conflicts and what would help.

use std::sync::Arc;

use decisions::considering::{PodVerdict, SchedulingVerdict, Snapshot};
use decisions::driver_wait::Wait;
use decisions::negotiation::{Openings, awaited};
use decisions::pod::{Choice, PodRefusal};
use decisions::preempt::{Attempt, Candidate, Going};
use decisions::preemption::PodPreemption;
use model::identity::NodeName;
use model::pod::{Pod, PodId};

use crate::audience::{Audience, Shown};
use crate::candidates::Known;
use crate::case::Case;
use crate::conflict::{Conflict, conflict};
use crate::effort::{Effort, Extent, Oracle};
use crate::nodes::{NAMES_MAX, NearestNode, NodeGroup, groups, nearest};
use crate::remedies::{Remedies, remedies};

/// What the scheduler decides about a pod that waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WaitingPod {
    /// There is a place: its turn has yet to come.
    Fits {
        /// The pod.
        pod: PodId,
        /// The node.
        node: NodeName,
    },
    /// There are nodes for it, and the controllers of drivers have been asked for devices.
    AwaitsDrivers {
        /// The pod.
        pod: PodId,
        /// What it waits for, as its condition tells it.
        wait: Wait,
    },
    /// There is none.
    Refused(Box<RefusedPod>),
    /// It was not decided: a bound was met.
    Undecided {
        /// The pod.
        pod: PodId,
    },
}

/// Why a pod has no place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusedPod {
    /// The pod.
    pub pod: PodId,
    /// Why, as the condition of the pod tells it.
    pub refusal: Box<PodRefusal>,
    /// What came of looking for pods to preempt.
    pub preemption: Option<PodPreemption>,
    /// Pods that are preempted for it, some by name.
    pub victims: Vec<Shown<PodId>>,
    /// Nodes by what removes them, the largest group first.
    pub groups: Vec<NodeGroup>,
    /// The node that comes nearest.
    pub nearest: Option<NearestNode>,
    /// What conflicts.
    pub conflict: Conflict,
    /// What would help.
    pub remedies: Remedies,
    /// How much was done to find this out.
    pub done: Effort,
}

/// Why a pod waits that belongs to no group.
pub(crate) fn explain_waiting(
    case: &Case,
    pod: &Arc<Pod>,
    audience: &Audience,
    effort: Effort,
) -> WaitingPod {
    let id = pod.id.clone();
    let mut oracle = Oracle::new(effort);
    let Some(considered) = oracle.decide(case.clone()) else { return WaitingPod::Undecided { pod: id } };
    let SchedulingVerdict::Pod(verdict) = considered.verdict else {
        return WaitingPod::Undecided { pod: id };
    };
    let (refusal, attempt) = match *verdict {
        PodVerdict::Placed { choice, .. } => return placed(case, pod, choice),
        PodVerdict::Refused { refusal, attempt } => (refusal, attempt),
    };
    let mut case = case.clone();
    // What removes nodes is a part of the answer, and the rest needs something to go on.
    let survey_max = oracle.work_left() / 4;
    // Of a pod that is on its node it is not asked whether it fits there.
    let survey = match pod.node {
        None => oracle.survey(&mut case, pod, None, survey_max),
        Some(_) => Vec::new(),
    };
    let facts = &case.snapshot.facts;
    let victims = match &attempt {
        Some(Attempt::Found(Candidate { victims, .. }) | Attempt::Going(Going { victims, .. })) => {
            victims.iter().take(NAMES_MAX).map(|pod| audience.show(pod.id.clone())).collect()
        }
        _ => Vec::new(),
    };
    let (groups, nearest) = (groups(facts, audience, &survey), nearest(facts, audience, &survey));
    let preemption = attempt.as_ref().and_then(Attempt::told);
    let (conflict, remedies) = match (&attempt, refusal.in_the_way()) {
        // Room is being made.
        (Some(Attempt::Found(_)), _) | (_, Some(_)) => nothing(),
        _ => {
            let conflict = conflict(&mut oracle, &case, Some(&survey));
            let known = Known { pod: Some(pod), survey: &survey, refusal: None, conflict: &conflict };
            let remedies = remedies(&mut oracle, &case, &known, audience);
            (conflict, remedies)
        }
    };
    WaitingPod::Refused(Box::new(RefusedPod {
        pod: id,
        refusal,
        preemption,
        victims,
        groups,
        nearest,
        conflict,
        remedies,
        done: oracle.done(),
    }))
}

/// What is said of a pod for which there is a node.
fn placed(case: &Case, pod: &Pod, choice: Choice) -> WaitingPod {
    let id = pod.id.clone();
    match choice.negotiation {
        Some(openings) => WaitingPod::AwaitsDrivers { pod: id, wait: wait_of(case, pod, &openings) },
        None => WaitingPod::Fits { pod: id, node: choice.node },
    }
}

/// What of drivers a pod waits for, for which there are nodes.
pub(crate) fn wait_of(case: &Case, pod: &Pod, openings: &Openings) -> Wait {
    let Snapshot { facts, plans, .. } = &case.snapshot;
    let selected = plans.selections.of(&pod.uid).cloned();
    awaited(facts.context(pod), &openings.pending, selected)
}

fn nothing() -> (Conflict, Remedies) {
    let extent = Extent::Bounded;
    let conflict = Conflict { constraints: Default::default(), extent };
    (conflict, Remedies { remedies: Vec::new(), extent })
}
