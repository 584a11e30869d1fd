//! Questions about devices on many nodes that are asked ahead, in several lanes.
//!
//! An answer to a simple question is the same whichever pod asked before. It is used as if it had been found in its turn, and counted then.
//!
//! Invariant: what is answered, and how much work that was, is the same as if nothing had been asked ahead.

use std::collections::VecDeque;
use std::sync::Arc;

use allocation::{AllocationAnswer, Expressions, Reply, allocate_within};
use cluster::nodes::NodeIdx;

use crate::caches::Caches;
use crate::cycle::Cycle;
use crate::devices::question::{asked, made_on, question, why_elsewhere};
use crate::filters;
use crate::lanes::{in_parts, part_min};
use crate::values::pod_claims::PodClaims;

/// How many nodes are looked at ahead at the most.
const BATCH_MAX: usize = 4_096;

/// What a simple question takes at the most.
const WORK_MAX: u64 = 100_000;

/// What a question takes at the least.
pub(crate) const QUESTION_MIN: u64 = 5_000;

/// Answers for nodes that are asked in an order which is known.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    answers: VecDeque<Option<Reply>>,
    /// How many were asked for.
    asked: usize,
}

impl Ahead {
    /// The answer for the first of these nodes, if it is known ahead. The others come next.
    pub(crate) fn next(
        &mut self,
        cycle: &mut Cycle<'_>,
        nodes: &[NodeIdx],
        claims: &PodClaims,
    ) -> Option<Reply> {
        if cycle.caches.lanes.count() == 1 || !claims.need_devices() {
            return None;
        }
        self.asked += 1;
        // The first may have all that is needed, and the more were asked for in vain, the more will be.
        let most = cycle.batch_max(QUESTION_MIN).min(2 * self.asked).min(nodes.len());
        if self.answers.is_empty() && most >= 2 * part_min(&*cycle.caches.lanes, QUESTION_MIN) {
            let nodes = &nodes[..most];
            let answers = cycle.side_by_side((most, QUESTION_MIN), |cycle, number, expressions| {
                cycle.ask_ahead(nodes[number], claims, expressions)
            });
            self.answers.extend(answers);
        }
        self.answers.pop_front().flatten()
    }
}

impl Caches {
    /// Whether an answer that is known ahead is what asking now would give.
    pub(crate) fn holds_now(&self, reply: &Reply) -> bool {
        reply.work < self.work.left()
    }
}

impl Cycle<'_> {
    /// How many nodes may be looked at ahead, each of which takes so much work at the least.
    pub(crate) fn batch_max(&self, nanos: u64) -> usize {
        usize::try_from(self.caches.work.left() / nanos).unwrap_or(usize::MAX).min(BATCH_MAX)
    }

    /// Does something for each of so many nodes in several lanes, each of which knows the expressions that are known.
    pub(crate) fn side_by_side<T: Send + Sync>(
        &mut self,
        (count, nanos): (usize, u64),
        look: impl Fn(&Cycle<'_>, usize, &mut Expressions) -> T + Sync,
    ) -> Vec<T> {
        let lanes = self.caches.lanes.clone();
        let known = Arc::new(std::mem::take(&mut self.caches.expressions));
        let cycle = &*self;
        let parts = in_parts(&*lanes, (count, nanos), |part| {
            let mut own = Expressions::over(known.clone());
            let found: Vec<T> = part.map(|number| look(cycle, number, &mut own)).collect();
            (found, own.into_learned())
        });
        let mut known = Arc::into_inner(known).expect("no lane is at work any more");
        let mut found = Vec::with_capacity(count);
        for (part, learned) in parts {
            found.extend(part);
            known.learn(learned);
        }
        self.caches.expressions = known;
        found
    }

    /// Devices on a node for claims, if that is a simple question.
    pub(crate) fn ask_ahead(
        &self,
        at: NodeIdx,
        claims: &PodClaims,
        expressions: &mut Expressions,
    ) -> Option<Reply> {
        let node = filters::node_of(self.facts.nodes.get(at));
        if why_elsewhere(node, claims).is_some() {
            return None;
        }
        let made = made_on(&self.facts, node, claims);
        let wishes = asked(claims, made.as_ref());
        if wishes.is_empty() {
            return None;
        }
        let pools = self.facts.slices.pools_for(node, self.settings.gates).ok()?;
        let reply = allocate_within(
            &question((self.settings, &self.facts), node, &pools, &wishes),
            expressions,
            WORK_MAX,
        )
        .ok()?;
        let is_simple = reply.work < WORK_MAX && reply.answer != AllocationAnswer::BudgetSpent;
        is_simple.then_some(reply)
    }
}
