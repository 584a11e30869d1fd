//! Resources of a node should be used alike, so that none runs out while much is left of the others.

use std::sync::Arc;

use cluster::nodes::NodeState;
use model::pod::Shape;

use crate::scores::resources::Amount;
use crate::scores::scale::BEST;

/// Whether the pod asks for any of the resources. Pods that ask for none would all go to the same node.
#[must_use]
pub fn applies(shape: &Shape, resources: &[Arc<str>]) -> bool {
    resources.iter().any(|name| shape.requests.get(name) != 0)
}

/// The score of a node: 75 if the pod changes nothing, more if it makes use more alike, less if it does not.
#[must_use]
pub fn score(shape: &Shape, state: &NodeState, resources: &[Arc<str>]) -> i64 {
    let amounts: Vec<Amount> =
        resources.iter().filter_map(|name| Amount::of(name, &shape.requests, &state.used, state)).collect();
    let with_pod = likeness(&amounts, Amount::with_pod);
    let without = likeness(&amounts, |amount| amount.used);
    BEST / 2 + (BEST / 2 + with_pod - without) / 2
}

/// How alike the resources are used: 100 less the standard deviation of their shares.
fn likeness(amounts: &[Amount], used: impl Fn(&Amount) -> i64) -> i64 {
    let shares: Vec<f64> =
        amounts.iter().map(|amount| (used(amount) as f64 / amount.capacity as f64).min(1.0)).collect();
    let deviation = match shares[..] {
        [] | [_] => 0.0,
        [left, right] => ((left - right) / 2.0).abs(),
        _ => {
            let count = shares.len() as f64;
            let mean = shares.iter().sum::<f64>() / count;
            (shares.iter().map(|share| (share - mean) * (share - mean)).sum::<f64>() / count).sqrt()
        }
    };
    ((1.0 - deviation) * BEST as f64) as i64
}

#[cfg(test)]
mod tests {
    use model::pod::Resources;

    use super::*;
    use crate::sample::{node, nodes, pod, resources, shape, state};

    #[track_caller]
    fn check(names: &[&str], needs: Resources, used: Resources, expected: i64) {
        let mut node = node("a", "");
        node.allocatable = resources(1000, 1000, &[("example.com/gpu", 10)]);
        let mut other = shape("");
        other.requests = used;
        let nodes = nodes([node], [pod("p", "a", other)]);
        let mut shape = shape("");
        shape.requests = needs;
        let names: Vec<Arc<str>> = names.iter().map(|name| (*name).into()).collect();
        assert!(applies(&shape, &names));
        assert_eq!(score(&shape, state(&nodes, "a"), &names), expected);
    }

    #[test]
    fn a_pod_that_evens_use_out_scores_more_than_one_that_does_not() {
        let both = &["cpu", "memory"];
        check(both, resources(100, 100, &[]), resources(0, 0, &[]), 75);
        check(both, resources(400, 0, &[]), resources(0, 0, &[]), 65);
        check(both, resources(400, 0, &[]), resources(0, 400, &[]), 85);
        check(both, resources(1000, 0, &[]), resources(0, 1000, &[]), 100);
        check(both, resources(5000, 0, &[]), resources(0, 0, &[]), 50);
    }

    #[test]
    fn three_resources_are_compared_by_their_deviation() {
        // Shares of 0.6, 0 and 0.3: the deviation is 0.2449.
        let three = &["cpu", "memory", "example.com/gpu"];
        check(three, resources(600, 0, &[("example.com/gpu", 3)]), resources(0, 0, &[]), 62);
    }

    #[test]
    fn pods_that_ask_for_nothing_have_no_say() {
        assert!(!applies(&shape(""), &["cpu".into(), "memory".into()]));
    }
}
