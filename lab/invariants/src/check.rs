//! The two questions that the checker answers: is this allocation valid, and is this cluster's state valid.

use objects::core::node::Node;
use objects::core::pod::Pod;

use crate::attempt::{Attempt, Pick};
use crate::evidence::{Evidence, Made};
use crate::names::ClaimName;
use crate::violation::Violation;
use crate::{
    capacity, configuration, constraints, counters, counts, features, groups, node_selector, policy,
    reservations, result_fields, selection, shares, taints, taken,
};

/// What is wrong with allocations that were made together, for one node; nothing if they are valid.
///
/// The claims of the evidence are what was allocated before. A claim for which an allocation was made may be among
/// them: what its status says is not looked at.
pub fn check_allocations(evidence: &Evidence<'_>, node: &Node, made: &[Made<'_>]) -> Vec<Violation> {
    let names: Vec<_> = made.iter().map(|made| ClaimName::of(made.claim)).collect();
    let attempt = Attempt::new(*evidence, node, &names);
    let mut violations = Vec::new();
    let mut all = Vec::new();
    let mut results = Vec::new();
    for made in made {
        let (indexed, unknown) = attempt.picks(made);
        violations.extend(unknown);
        violations.extend(counts::check(&attempt, made));
        violations.extend(configuration::check(&attempt, made));
        for (at, pick) in &indexed {
            let result = &made.allocation.devices.results[*at];
            violations.extend(alone(&attempt, pick));
            violations.extend(result_fields::check(&attempt, pick, result));
            results.push(result);
        }
        let picks: Vec<_> = indexed.into_iter().map(|(_, pick)| pick).collect();
        violations.extend(node_selector::check(&attempt, made, &picks));
        all.extend(picks);
    }
    violations.extend(together(&attempt, &all));
    violations.extend(shares::of_attempt(&attempt, &results));
    violations
}

/// What is wrong with everything that is allocated and reserved; nothing if the state is valid.
///
/// Admin access is set aside: it holds nothing. With pods, reservations for others are found too.
pub fn check_state(evidence: &Evidence<'_>, pods: Option<&[Pod]>) -> Vec<Violation> {
    let held = evidence.held(&[]);
    let mut violations = taken::of_state(&held);
    violations.extend(shares::of_state(&held));
    violations.extend(capacity::of_state(evidence, &held));
    violations.extend(counters::of_state(evidence, &held));
    violations.extend(groups::of_state(evidence, &held));
    violations.extend(reservations::of_state(evidence, pods));
    violations
}

/// Why a device cannot be for a request, whatever else is allocated.
pub(crate) fn alone(attempt: &Attempt<'_>, pick: &Pick<'_>) -> Vec<Violation> {
    let mut violations = selection::check(attempt, pick);
    violations.extend(features::of_device(attempt, pick));
    violations.extend(taints::check(attempt, pick));
    violations.extend(policy::amounts(attempt, pick).1);
    violations
}

/// Why devices cannot be allocated beside each other and beside what others hold. More devices never make it better.
pub(crate) fn together(attempt: &Attempt<'_>, picks: &[Pick<'_>]) -> Vec<Violation> {
    let mut violations = taken::of_attempt(attempt, picks);
    violations.extend(constraints::check(attempt, picks));
    violations.extend(capacity::of_attempt(attempt, picks));
    violations.extend(counters::of_attempt(attempt, picks));
    violations.extend(groups::of_attempt(attempt, picks));
    violations
}
