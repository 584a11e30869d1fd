//! What keeps a pod off each node at a moment, for explanations.

use allocation::Expressions;
use model::identity::NodeName;
use model::pod::Pod;

use crate::considering::situation::{Situation, Snapshot};
use crate::cycle::Caches;
use crate::pod::PodRefusal;
use crate::pod::obstacles::Obstacles;
use crate::values::work::Work;

/// What keeps a pod off each node, and how much work it was to find out.
#[derive(Debug)]
pub struct Surveyed {
    /// What keeps it off each node, or a reason that has nothing to do with nodes.
    pub nodes: Result<Vec<Obstacles>, Box<PodRefusal>>,
    /// How much work it was, in nominal nanoseconds.
    pub work: u64,
}

impl Snapshot {
    /// Everything that keeps a pod off each node, or off some of them. On nodes that a filter is against, devices are looked for while no more work was
    /// done than this, in nominal nanoseconds.
    pub fn survey(
        &mut self,
        pod: &Pod,
        within: Option<&[NodeName]>,
        expressions: &mut Expressions,
        work_max: u64,
    ) -> Surveyed {
        let expressions_before = std::mem::take(expressions);
        let mut caches =
            Caches { work: Work::of(work_max), expressions: expressions_before, ..Caches::default() };
        let Snapshot { settings, facts, plans, underway, now } = self;
        let mut situation =
            Situation { settings, facts, plans, underway: &*underway, caches: &mut caches, now: *now };
        let mut cycle = situation.cycle();
        cycle.learn_scopes(pod);
        cycle.lift_plans(pod);
        let nodes = cycle.obstacles(pod, within);
        drop(cycle);
        *expressions = std::mem::take(&mut caches.expressions);
        Surveyed { nodes, work: caches.work.done() }
    }
}
