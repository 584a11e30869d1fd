//! Which members of a group get seats: all, or as many as it needs.
//!
//! Of two members one may be easier to seat: it needs no more of anything, and may be wherever the other may be. A choice that leaves out
//! the easier one of two that differ is left out itself.
//!
//! Invariant: if there are seats for as many members as are needed, there are seats for one of the choices.

use crate::gang::members::member::Member;
use crate::gang::tree::ground::{Counts, Ground};
use crate::gang::tree::outline::GroupPart;

/// How many choices are told at the most.
const CHOICES_MAX: usize = 256;

/// How many are looked at.
const LOOKS_MAX: usize = 20_000;

/// Which members of a group get seats.
#[derive(Clone, Debug)]
pub(crate) struct Wishes {
    pub choices: Vec<Counts>,
    /// There are more.
    pub are_cut: bool,
}

/// The choices of at least so many members; of exactly so many if more are never easier to seat.
pub(crate) fn wishes(ground: &Ground<'_, '_>, group: &GroupPart, count: u32, is_monotone: bool) -> Wishes {
    let everybody = group.everybody();
    let waiting: u32 = everybody.iter().map(|(_, count)| count).sum();
    if !is_monotone {
        let mut choices = Vec::new();
        let mut are_cut = false;
        for count in (count..=waiting).rev() {
            let found = of_size(&everybody, count, &|_, _| false);
            are_cut |= found.are_cut;
            choices.extend(found.choices);
        }
        are_cut |= choices.len() > CHOICES_MAX;
        choices.truncate(CHOICES_MAX);
        return Wishes { choices, are_cut };
    }
    let is_easier: Vec<Vec<bool>> = everybody
        .iter()
        .map(|(one, _)| {
            everybody.iter().map(|(other, _)| one != other && is_easier(ground, *one, *other)).collect()
        })
        .collect();
    of_size(&everybody, count, &|one, other| is_easier[one][other] && !(is_easier[other][one] && other < one))
}

/// The choices of so many members that leave out none that comes before another.
fn of_size(everybody: &[(usize, u32)], count: u32, comes_before: &dyn Fn(usize, usize) -> bool) -> Wishes {
    let mut found = Wishes { choices: Vec::new(), are_cut: false };
    let mut chosen = vec![0_u32; everybody.len()];
    let mut left = count;
    // Counts as digits, the first as large as possible.
    let fill = |chosen: &mut [u32], from: usize, left: &mut u32| {
        for at in from..chosen.len() {
            chosen[at] = everybody[at].1.min(*left);
            *left -= chosen[at];
        }
    };
    fill(&mut chosen, 0, &mut left);
    for looked_at in 0.. {
        if left == 0 {
            let leaves_out = |one: usize| {
                chosen[one] < everybody[one].1
                    && (0..chosen.len()).any(|other| chosen[other] > 0 && comes_before(one, other))
            };
            if !(0..chosen.len()).any(leaves_out) {
                let some = everybody.iter().zip(&chosen).filter(|(_, count)| **count > 0);
                found.choices.push(some.map(|((kind, _), count)| (*kind, *count)).collect());
            }
        }
        if found.choices.len() > CHOICES_MAX || looked_at > LOOKS_MAX {
            found.choices.truncate(CHOICES_MAX);
            found.are_cut = true;
            break;
        }
        let last = chosen.len().saturating_sub(1);
        let Some(at) = (0..last).rev().find(|at| chosen[*at] > 0) else { break };
        left += 1 + chosen[at + 1..].iter().sum::<u32>();
        chosen[at] -= 1;
        fill(&mut chosen, at + 1, &mut left);
    }
    found
}

/// Whether a member of the first kind can be wherever one of the second could be.
fn is_easier(ground: &Ground<'_, '_>, one: usize, other: usize) -> bool {
    let cast = ground.view.cast;
    let (first, second): (&Member, &Member) =
        (&cast.kinds[one][0].members[0], &cast.kinds[other][0].members[0]);
    let needs_less = ground.needs_of(one)[..ground.amounts]
        .iter()
        .zip(&ground.needs_of(other)[..ground.amounts])
        .all(|(one, other)| one <= other);
    let wishes = |member: &Member| -> Vec<_> {
        member.claims.open.iter().map(|state| state.wish.spec.clone()).collect()
    };
    let has_fewer_claims = !first.claims.need_devices()
        || (first.claims.named.is_none() && second.claims.named.is_none() && wishes(first) == wishes(second));
    let is_settled_alike = first.claims.settled.is_empty() && first.follows.is_empty();
    let (shape, others) = (&first.pod.shape, &second.pod.shape);
    needs_less
        && has_fewer_claims
        && is_settled_alike
        && first.claims.footing.is_none()
        && first.pod.priority == second.pod.priority
        && (shape.ports.is_empty() || shape.ports == others.ports)
        && ground.view.rules.is_none()
        && !ground.crosses
        && (0..ground.nodes.len()).all(|node| ground.admits(node, one) || !ground.admits(node, other))
}
