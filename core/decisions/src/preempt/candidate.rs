//! A node on which a pod would fit if pods were preempted, and the harm that this does.

use std::cmp::Reverse;
use std::sync::Arc;

use model::allocation::Allocation;
use model::claim::ClaimId;
use model::identity::{ClaimUid, NodeName};
use model::pod::Pod;
use model::timestamp::Timestamp;

/// A node on which a pod would fit if some pods went.
#[derive(Debug)]
pub struct Candidate {
    /// The node.
    pub node: NodeName,
    /// The pods that would have to go, the most important first.
    pub victims: Vec<Arc<Pod>>,
    /// How many units those are: single pods, and groups that go as a whole.
    pub units: usize,
    /// How many of them a disruption budget would keep.
    pub violations: usize,
    /// How many gangs would have too few pods without them.
    pub broken: usize,
    /// The devices that the pod would get, one allocation for each claim that needs some.
    pub allocations: Vec<Allocation>,
    /// The claims that would give devices back, with their uids.
    pub freeing: Vec<(ClaimId, ClaimUid)>,
}

/// What is compared of candidates, one after the other; less is better.
pub(crate) type Harm = (usize, i32, usize, i64, usize, Reverse<Timestamp>);

impl Candidate {
    /// This one, or another if that does less harm.
    pub fn or_less_harm(self, other: Candidate, now: Timestamp) -> Candidate {
        if other.harm(now) < self.harm(now) { other } else { self }
    }

    fn harm(&self, now: Timestamp) -> Harm {
        harm(&self.victims, (self.violations, self.broken), now)
    }
}

/// The harm that the going of pods does, against so many budgets and with so many gangs that have too few pods then.
pub(crate) fn harm(victims: &[Arc<Pod>], (violations, broken): (usize, usize), now: Timestamp) -> Harm {
    let highest = victims.iter().map(|pod| pod.priority).max().unwrap_or(i32::MIN);
    // Every priority counts as more than nothing, so that fewer victims of a low one are less.
    let sum = victims.iter().map(|pod| i64::from(pod.priority) + (1 << 31)).sum();
    let important = victims.iter().filter(|pod| pod.priority == highest);
    let since = important.map(|pod| pod.started.unwrap_or(now)).min().unwrap_or(now);
    (violations, highest, broken, sum, victims.len(), Reverse(since))
}

/// The candidate that does the least harm; the first of those that do the same.
pub(crate) fn least_harm(candidates: Vec<Candidate>, now: Timestamp) -> Option<Candidate> {
    candidates.into_iter().min_by_key(|candidate| candidate.harm(now))
}

/// Sorts pods so that the most important come first: by priority, and then those that have been running for longer.
pub(crate) fn sort_by_importance(pods: &mut [Arc<Pod>], now: Timestamp) {
    pods.sort_by(|left, right| {
        let rank = |pod: &Arc<Pod>| (Reverse(pod.priority), pod.started.unwrap_or(now), pod.uid.clone());
        rank(left).cmp(&rank(right))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{pod, shape};

    const NOW: Timestamp = Timestamp::from_micros(1_000_000);

    fn victim((priority, started): (i32, Option<i64>)) -> Arc<Pod> {
        let started = started.map(Timestamp::from_micros);
        let name = format!("{priority} {started:?}");
        Arc::new(Pod { priority, started, ..pod(&name, "a", shape("")) })
    }

    fn candidate(node: u32, violations: usize, victims: &[(i32, Option<i64>)]) -> Candidate {
        Candidate {
            node: node.to_string().into(),
            victims: victims.iter().copied().map(victim).collect(),
            units: victims.len(),
            violations,
            broken: 0,
            allocations: Vec::new(),
            freeing: Vec::new(),
        }
    }

    #[track_caller]
    fn check(candidates: Vec<Candidate>, expected: u32) {
        let chosen = least_harm(candidates, NOW).expect("there are some");
        assert_eq!(*chosen.node, *expected.to_string());
    }

    #[test]
    fn budgets_come_before_priorities_and_these_before_numbers_and_times() {
        check(vec![candidate(0, 1, &[(1, None)]), candidate(1, 0, &[(5, None), (5, None)])], 1);
        check(vec![candidate(0, 0, &[(5, None)]), candidate(1, 0, &[(4, None), (4, None), (4, None)])], 1);
        check(vec![candidate(0, 0, &[(5, None), (4, None)]), candidate(1, 0, &[(5, None), (3, None)])], 1);
        check(vec![candidate(0, 0, &[(-5, None), (-6, None)]), candidate(1, 0, &[(-5, None)])], 1);
    }

    #[test]
    fn of_the_most_important_victims_those_that_began_last_go() {
        check(vec![candidate(0, 0, &[(5, Some(10))]), candidate(1, 0, &[(5, Some(20))])], 1);
        check(vec![candidate(0, 0, &[(5, Some(20))]), candidate(1, 0, &[(5, None)])], 1);
        let early = candidate(0, 0, &[(5, Some(20)), (5, Some(10))]);
        check(vec![early, candidate(1, 0, &[(5, Some(15)), (5, Some(15))])], 1);
        let less = candidate(0, 0, &[(5, Some(20)), (4, Some(1))]);
        check(vec![candidate(1, 0, &[(5, Some(15)), (4, Some(15))]), less], 0);
    }

    #[test]
    fn among_equals_the_first_is_taken() {
        check(vec![candidate(3, 0, &[(5, None)]), candidate(1, 0, &[(5, None)])], 3);
    }

    #[test]
    fn who_matters_more_or_has_run_for_longer_is_more_important() {
        let mut pods: Vec<_> = [(1, Some(5)), (2, None), (2, Some(5)), (1, None)].map(victim).into();
        sort_by_importance(&mut pods, NOW);
        let order: Vec<_> = pods.iter().map(|pod| (pod.priority, pod.started.is_some())).collect();
        assert_eq!(order, [(2, true), (2, false), (1, true), (1, false)]);
    }
}
