//! How much should be left of a node: more, so that pods spread, or less, so that they pack.

use std::sync::Arc;

use cluster::nodes::NodeState;
use model::pod::{Resources, Shape};

use crate::filters::node_of;
use crate::scores::scale::BEST;

/// What should be left of a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Strategy {
    /// More or less.
    pub aim: Aim,
    /// Of what, and how much each counts.
    pub resources: Vec<(Arc<str>, i64)>,
}

/// Whether more or less should be left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Aim {
    /// As much as possible.
    Spread,
    /// As little as possible.
    Pack,
    /// As these points say: by how much of a hundred is used, what it is worth out of a hundred. Between points it is worth
    /// what the line between them says.
    Curve(Vec<(i64, i64)>),
}

impl Default for Strategy {
    fn default() -> Strategy {
        Strategy { aim: Aim::Spread, resources: vec![("cpu".into(), 1), ("memory".into(), 1)] }
    }
}

impl Strategy {
    /// The score of a node.
    #[must_use]
    pub fn score(&self, shape: &Shape, state: &NodeState) -> i64 {
        let (mut sum, mut weights) = (0_i64, 0_i64);
        for (name, weight) in &self.resources {
            let Some(amount) = Amount::of(name, &shape.scored, &state.used_scored, state) else { continue };
            let score = self.aim.score(&amount);
            // A curve may say that something is worth nothing. Then it does not count at all.
            if score > 0 || !matches!(self.aim, Aim::Curve(_)) {
                sum += score * weight;
                weights += weight;
            }
        }
        match (&self.aim, weights) {
            (_, 0) => 0,
            (Aim::Curve(_), _) => (sum as f64 / weights as f64).round() as i64,
            (Aim::Spread | Aim::Pack, _) => sum / weights,
        }
    }
}

impl Aim {
    fn score(&self, amount: &Amount) -> i64 {
        let (used, capacity) = (amount.with_pod(), amount.capacity);
        let share = |of: i64| of.saturating_mul(BEST) / capacity;
        match self {
            Aim::Spread if used > capacity => 0,
            Aim::Spread => share(capacity - used),
            Aim::Pack => share(used.min(capacity)),
            Aim::Curve(points) => on_curve(points, if used > capacity { BEST } else { share(used) }),
        }
    }
}

pub(crate) fn on_curve(points: &[(i64, i64)], at: i64) -> i64 {
    let Some(after) = points.iter().position(|(used, _)| at <= *used) else {
        return points.last().map_or(0, |(_, worth)| *worth);
    };
    let (right, worth) = points[after];
    match after.checked_sub(1).map(|before| points[before]) {
        Some((left, base)) if right > left => base + (worth - base) * (at - left) / (right - left),
        _ => worth,
    }
}

/// How much of something there is, is used, and is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Amount {
    pub(crate) used: i64,
    pub(crate) requested: i64,
    pub(crate) capacity: i64,
}

impl Amount {
    /// The amount of a resource that counts: one of which the node has some, and unless it is processor, memory or storage,
    /// the pod wants some.
    pub(crate) fn of(
        name: &str,
        requests: &Resources,
        used: &Resources,
        state: &NodeState,
    ) -> Option<Amount> {
        let requested = requests.get(name);
        if requested == 0 && !matches!(name, "cpu" | "memory" | "ephemeral-storage") {
            return None;
        }
        let capacity = node_of(state).allocatable.get(name);
        (capacity > 0).then(|| Amount { used: used.get(name), requested, capacity })
    }

    pub(crate) fn with_pod(&self) -> i64 {
        self.used.saturating_add(self.requested)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{node, nodes, pod, resources, shape, state};

    const GPU: &str = "example.com/gpu";

    /// The score of a node with 4000m, 10000 bytes and 8 GPUs, of which others use something.
    #[track_caller]
    fn check(aim: Aim, weights: &[(&str, i64)], needs: Resources, used: Resources, expected: i64) {
        let mut node = node("a", "");
        node.allocatable = resources(4000, 10_000, &[(GPU, 8)]);
        let mut other = shape("");
        other.scored = used;
        let nodes = nodes([node], [pod("p", "a", other)]);
        let mut shape = shape("");
        shape.scored = needs;
        let resources = weights.iter().map(|(name, weight)| ((*name).into(), *weight)).collect();
        assert_eq!(Strategy { aim, resources }.score(&shape, state(&nodes, "a")), expected);
    }

    const BOTH: &[(&str, i64)] = &[("cpu", 1), ("memory", 1)];

    #[test]
    fn spreading_likes_what_is_left() {
        check(Aim::Spread, BOTH, resources(0, 0, &[]), resources(0, 0, &[]), 100);
        check(Aim::Spread, BOTH, resources(1000, 5000, &[]), resources(1000, 0, &[]), 50);
        check(Aim::Spread, BOTH, resources(3000, 5000, &[]), resources(2000, 0, &[]), 25);
        check(
            Aim::Spread,
            &[("cpu", 3), ("memory", 1)],
            resources(1000, 5000, &[]),
            resources(0, 0, &[]),
            68,
        );
    }

    #[test]
    fn packing_likes_what_is_used() {
        check(Aim::Pack, BOTH, resources(0, 0, &[]), resources(0, 0, &[]), 0);
        check(Aim::Pack, BOTH, resources(1000, 5000, &[]), resources(1000, 2500, &[]), 62);
        check(Aim::Pack, BOTH, resources(3000, 0, &[]), resources(2000, 0, &[]), 50);
    }

    #[test]
    fn resources_that_are_not_asked_for_or_not_there_do_not_count() {
        let three = &[("cpu", 1), (GPU, 1), ("example.com/none", 1)];
        check(Aim::Pack, three, resources(2000, 0, &[]), resources(0, 0, &[(GPU, 8)]), 50);
        check(Aim::Pack, three, resources(2000, 0, &[(GPU, 2)]), resources(0, 0, &[(GPU, 6)]), 75);
        check(
            Aim::Pack,
            &[("example.com/none", 1)],
            resources(0, 0, &[("example.com/none", 1)]),
            resources(0, 0, &[]),
            0,
        );
    }

    #[test]
    fn a_curve_says_what_use_is_worth() {
        let rising = || Aim::Curve(vec![(0, 0), (100, 100)]);
        check(rising(), BOTH, resources(1000, 5000, &[]), resources(1000, 2500, &[]), 63);
        check(rising(), BOTH, resources(1000, 0, &[]), resources(0, 0, &[]), 25);
        check(rising(), BOTH, resources(9000, 0, &[]), resources(0, 0, &[]), 100);
        let bent = || Aim::Curve(vec![(20, 10), (50, 70), (90, 20)]);
        check(bent(), &[("cpu", 1)], resources(400, 0, &[]), resources(0, 0, &[]), 10);
        check(bent(), &[("cpu", 1)], resources(1400, 0, &[]), resources(0, 0, &[]), 40);
        check(bent(), &[("cpu", 1)], resources(2800, 0, &[]), resources(0, 0, &[]), 45);
        check(bent(), &[("cpu", 1)], resources(4000, 0, &[]), resources(0, 0, &[]), 20);
    }
}
