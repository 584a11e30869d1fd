//! What is known when something is decided, and a copy of it that is decided about while the original goes on.

use std::fmt;
use std::sync::Arc;

use allocation::Expressions;
use cluster::facts::Facts;
use model::timestamp::Timestamp;

use crate::caches::learned::Learned;
use crate::considering::question::{SchedulingQuestion, SchedulingVerdict};
use crate::cycle::{Caches, Cycle};
use crate::lanes::Lanes;
use crate::plans::Plans;
use crate::settings::Settings;
use crate::underway::{Frozen, Underway};
use crate::values::work::Work;

/// What is known when something is decided.
pub struct Situation<'s> {
    /// How it is decided.
    pub settings: &'s Settings,
    /// What is so.
    pub facts: &'s mut Facts,
    /// What we are about to do.
    pub plans: &'s Plans,
    /// What is being written.
    pub underway: &'s dyn Underway,
    /// What was found out before, and how much work may be done.
    pub caches: &'s mut Caches,
    /// The time.
    pub now: Timestamp,
}

impl Situation<'_> {
    pub(crate) fn cycle(&mut self) -> Cycle<'_> {
        Cycle::new(self.settings, self.facts, (self.plans, self.underway), self.caches, self.now)
    }

    /// A cycle to which devices do not matter that are planned for pods less important than this.
    pub(crate) fn cycle_below(&mut self, importance: i32) -> Cycle<'_> {
        let mut cycle = self.cycle();
        cycle.lift_plans_below(importance, None);
        cycle
    }
}

/// What is known at a moment. A copy shares with the original what neither has changed since.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// How it is decided.
    pub settings: Settings,
    /// What is so.
    pub facts: Facts,
    /// What we are about to do.
    pub plans: Plans,
    /// What is being written.
    pub underway: Frozen,
    /// The time.
    pub now: Timestamp,
}

/// A question that takes long to decide, and all that is needed to do so. It can be decided anywhere, and the verdict is the same.
pub struct Consideration {
    /// What was known when it was asked.
    pub snapshot: Snapshot,
    /// What is asked.
    pub question: SchedulingQuestion,
    /// What is known of expressions.
    pub expressions: Expressions,
    /// How much work may be done, in nominal nanoseconds.
    pub work_max: u64,
    /// Where things are found out that do not depend on each other.
    pub lanes: Arc<dyn Lanes>,
}

/// A verdict, and what was known when the question was asked.
#[derive(Debug)]
pub struct Considered {
    /// Where pods go, or why nowhere.
    pub verdict: SchedulingVerdict,
    /// What was known.
    pub snapshot: Snapshot,
    /// What is known of expressions since.
    pub expressions: Expressions,
    /// What was learned of nodes.
    pub learned: Learned,
    /// How much work it was, in nominal nanoseconds.
    pub work: u64,
}

impl Consideration {
    /// Decides.
    #[must_use]
    pub fn run(self) -> Considered {
        let Consideration { mut snapshot, question, expressions, work_max, lanes } = self;
        let mut caches = Caches { work: Work::of(work_max), expressions, lanes, ..Caches::default() };
        let moment = snapshot.facts.touches.now();
        let Snapshot { settings, facts, plans, underway, now } = &mut snapshot;
        let mut situation =
            Situation { settings, facts, plans, underway: &*underway, caches: &mut caches, now: *now };
        let verdict = situation.decide(&question).expect("only a slice of work is cut");
        let (work, expressions) = (caches.work.done(), std::mem::take(&mut caches.expressions));
        Considered { verdict, snapshot, work, expressions, learned: caches.into_learned(moment) }
    }
}

impl fmt::Debug for Consideration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pods = self.question.pods().iter().map(|pod| &pod.id);
        out.debug_struct("Consideration").field("pods", &pods.collect::<Vec<_>>()).finish_non_exhaustive()
    }
}
