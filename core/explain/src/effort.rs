//! How much may be done for an explanation, and the one way to ask whether something fits: the scheduler's own decision.
//!
//! Invariant: every answer is a verdict of the scheduler about a case. What is not asked because a bound was met is told as such, and
//! never taken for a no.

use std::sync::Arc;

use allocation::Expressions;
use decisions::certainty::Certainty;
use decisions::considering::{
    Clearing, Consideration, Considered, PodVerdict, SchedulingVerdict, SeatsVerdict,
};
use decisions::gang::{GangCandidate, Seated, Way};
use decisions::lanes::OneLane;
use decisions::pod::obstacles::Obstacles;
use decisions::preempt::Attempt;
use model::identity::NodeName;
use model::pod::Pod;

use crate::case::Case;

/// How much may be done for an explanation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// How often the scheduler is asked for a decision at the most.
    pub decisions_max: u32,
    /// How much work these decisions may be together, in nominal nanoseconds.
    pub work_max: u64,
}

impl Default for Effort {
    /// What takes less than a second on a large cluster.
    fn default() -> Effort {
        Effort { decisions_max: 200, work_max: 600_000_000 }
    }
}

impl Effort {
    /// What one of so many may do.
    #[must_use]
    pub fn share(self, of: usize) -> Effort {
        let of = of.max(1);
        Effort { decisions_max: (self.decisions_max / of as u32).max(1), work_max: self.work_max / of as u64 }
    }
}

/// Whether everything was looked at that was to be looked at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Extent {
    /// It was.
    Whole,
    /// A bound was met before that: nothing is claimed about the rest.
    Bounded,
}

impl Extent {
    /// The whole of both, if both are whole.
    #[must_use]
    pub fn and(self, other: Extent) -> Extent {
        self.max(other)
    }
}

/// What the scheduler decides about a case.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Outcome {
    /// All pods that have to be placed have a node: each pod by its name, with the node.
    Placed(Vec<(Arc<str>, NodeName)>),
    /// There is room once these pods are preempted.
    Preempting { node: NodeName, victims: Vec<Arc<Pod>> },
    /// There is no place, or it is not known whether there is one.
    Refused(Certainty),
    /// It was not asked: a bound was met.
    NotAsked,
}

impl Outcome {
    /// Whether there certainly is no place.
    pub fn is_impossible(&self) -> bool {
        *self == Outcome::Refused(Certainty::Proved)
    }
}

/// Asks the scheduler, as long as it may.
#[derive(Debug)]
pub(crate) struct Oracle {
    effort: Effort,
    decisions: u32,
    work: u64,
    /// What is known of expressions, which holds whatever else is otherwise.
    pub expressions: Expressions,
}

/// What is counted for a copy of what is known, in nominal nanoseconds: for each node.
const COPY: u64 = 200;

impl Oracle {
    pub fn new(effort: Effort) -> Oracle {
        Oracle { effort, decisions: 0, work: 0, expressions: Expressions::default() }
    }

    /// How much was done.
    pub fn done(&self) -> Effort {
        Effort { decisions_max: self.decisions, work_max: self.work }
    }

    /// How much work may still be done.
    pub fn work_left(&self) -> u64 {
        self.effort.work_max.saturating_sub(self.work)
    }

    /// Keeps half of the work that is left for what comes after, and tells how much that is.
    pub fn keep_half(&mut self) -> u64 {
        let kept = self.work_left() / 2;
        self.effort.work_max -= kept;
        kept
    }

    /// Lets what was kept be done.
    pub fn restore(&mut self, kept: u64) {
        self.effort.work_max += kept;
    }

    /// Whether nothing can be asked any more.
    pub fn is_spent(&self) -> bool {
        self.decisions >= self.effort.decisions_max || self.work_left() == 0
    }

    /// Counts work that was done.
    pub fn spend(&mut self, nanos: u64) {
        self.work = self.work.saturating_add(nanos);
    }

    /// Everything that keeps a pod off each node, or off some of them; nothing if it fits nowhere whatever node there is.
    pub fn survey(
        &mut self,
        case: &mut Case,
        pod: &Pod,
        within: Option<&[NodeName]>,
        work_max: u64,
    ) -> Vec<Obstacles> {
        let surveyed = case.snapshot.survey(pod, within, &mut self.expressions, work_max);
        self.spend(surveyed.work);
        surveyed.nodes.unwrap_or_default()
    }

    /// What is decided about a case if no pod is preempted for it.
    pub fn ask(&mut self, case: &Case) -> Outcome {
        let mut case = case.clone();
        case.change_pods(&|pod| pod.preempts = false);
        self.ask_as_it_is(case)
    }

    /// What is decided about a case.
    pub fn ask_as_it_is(&mut self, case: Case) -> Outcome {
        match self.decide(case) {
            Some(considered) => outcome(&considered.verdict),
            None => Outcome::NotAsked,
        }
    }

    /// The verdict about a case, unless a bound was met.
    pub fn decide(&mut self, case: Case) -> Option<Considered> {
        if self.is_spent() {
            return None;
        }
        self.decisions += 1;
        let mut case = case;
        if let Some(pod) = case.pod().cloned() {
            // No answers are kept for pods like it, so nodes are looked at once and not twice; what is decided is the same.
            case.snapshot.plans.shunned.entry(pod.uid.clone()).or_default();
        }
        let nodes = case.snapshot.facts.nodes.count_max() as u64;
        let Case { snapshot, question } = case;
        let consideration = Consideration {
            snapshot,
            question,
            expressions: std::mem::take(&mut self.expressions),
            work_max: self.work_left(),
            lanes: Arc::new(OneLane),
        };
        let mut considered = consideration.run();
        self.expressions = std::mem::take(&mut considered.expressions);
        self.spend(considered.work + nodes * COPY);
        Some(considered)
    }
}

/// A verdict in short.
pub(crate) fn outcome(verdict: &SchedulingVerdict) -> Outcome {
    match verdict {
        SchedulingVerdict::Pod(verdict) => match &**verdict {
            PodVerdict::Placed { choice, .. } => Outcome::Placed(vec![(Arc::default(), choice.node.clone())]),
            PodVerdict::Refused { attempt: Some(Attempt::Found(candidate)), .. } => {
                Outcome::Preempting { node: candidate.node.clone(), victims: candidate.victims.clone() }
            }
            PodVerdict::Refused { refusal, .. } => Outcome::Refused(refusal.certainty()),
        },
        SchedulingVerdict::Gang(verdict) => match &verdict.seats {
            SeatsVerdict::Replicas(replicas) => {
                Outcome::Placed(replicas.iter().flat_map(|(_, seated)| places(seated)).collect())
            }
            SeatsVerdict::Seats { seated, .. } => Outcome::Placed(places(seated)),
            SeatsVerdict::Unfit(refusal) => Outcome::Refused(refusal.certainty),
            SeatsVerdict::NoTree => Outcome::Refused(Certainty::Proved),
            SeatsVerdict::NoSeats(none) => match &none.way {
                Clearing::Pods(Way::Found(candidate) | Way::Coming(candidate)) => coming(candidate),
                Clearing::Pods(_) | Clearing::Claims(_) => Outcome::Refused(none.refusal.certainty),
            },
        },
    }
}

fn places(seated: &Seated) -> Vec<(Arc<str>, NodeName)> {
    seated.iter().map(|(pod, choice)| (pod.id.name.clone(), choice.node.clone())).collect()
}

fn coming(candidate: &GangCandidate) -> Outcome {
    let node = candidate.seated.first().map(|(_, choice)| choice.node.clone()).unwrap_or_default();
    let victims = candidate.victims.iter().flat_map(|unit| unit.pods.iter().cloned()).collect();
    Outcome::Preempting { node, victims }
}
