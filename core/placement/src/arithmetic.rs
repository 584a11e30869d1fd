//! What can be told by adding up: a domain in which too little is free is refused without being tried.
//!
//! Invariant: a sum refuses only what no choice of seats could mend. What members need is counted at the least, and what
//! nodes have at the most.

use crate::answer::{Lack, Shortfall};
use crate::gang::Gang;
use crate::generator::Domain;
use crate::load::Load;

/// How much there is along each axis of a gang.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Amounts(pub Vec<u64>);

impl Amounts {
    /// Nothing, along so many axes.
    #[must_use]
    pub fn nothing(axes: usize) -> Amounts {
        Amounts(vec![0; axes])
    }

    /// How much there is along an axis.
    #[must_use]
    pub fn get(&self, axis: usize) -> u64 {
        self.0.get(axis).copied().unwrap_or(0)
    }

    /// Adds other amounts.
    pub fn add(&mut self, other: &Amounts) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
    }
}

/// What a domain in which so much is free lacks for so many members of a gang, if that can be told by adding up.
#[must_use]
pub fn shortfall<W>(gang: &Gang, at_least: u32, domain: &Domain, free: &Amounts) -> Option<Shortfall<W>> {
    let Short { axis, needed, free, room_for } = shortage(gang, &gang.everybody(), at_least, free)?;
    let lack = Lack::Amount { axis: gang.axes[axis].clone(), needed, free };
    Some(Shortfall { domain: domain.name.clone(), room_for, lack })
}

/// Too little of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Short {
    pub axis: usize,
    pub needed: u64,
    pub free: u64,
    /// How many members it would be enough for.
    pub room_for: u32,
}

/// The axis along which too little is free for so many of these members, if there is one: that for which the fewest
/// members have room.
pub(crate) fn shortage(gang: &Gang, members: &Load, at_least: u32, free: &Amounts) -> Option<Short> {
    let axes = 0..gang.axes.len();
    let short = axes.filter_map(|axis| short_along(gang, members, at_least, axis, free.get(axis)));
    short.min_by_key(|short| short.room_for)
}

/// How much so many members need along an axis at the least, and for how many of them what is free would do: those that
/// need the least come first.
fn short_along(gang: &Gang, members: &Load, at_least: u32, axis: usize, free: u64) -> Option<Short> {
    let mut frugal: Vec<(u64, u32)> =
        members.present().map(|(kind, count)| (gang.kinds[kind].needs.get(axis), count)).collect();
    frugal.sort_unstable();
    let (mut needed, mut left, mut room_for) = (0_u64, at_least, 0_u32);
    for (need, count) in frugal {
        let count = count.min(left);
        left -= count;
        let spare = free.saturating_sub(needed);
        let fitting =
            spare.checked_div(need).map_or(count, |most| count.min(u32::try_from(most).unwrap_or(count)));
        room_for += fitting;
        needed = needed.saturating_add(need.saturating_mul(u64::from(count)));
    }
    (needed > free).then_some(Short { axis, needed, free, room_for })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gang::Kind;

    fn gang(kinds: &[(u32, u64)], at_least: u32) -> Gang {
        let kind = |(members, need): &(u32, u64)| Kind {
            name: "kind".into(),
            members: *members,
            needs: Amounts(vec![*need]),
        };
        Gang {
            axes: vec![crate::axis::Axis::counted("cpu")],
            kinds: kinds.iter().map(kind).collect(),
            at_least,
        }
    }

    #[test]
    fn those_that_need_the_least_are_counted_first() {
        let gang = gang(&[(2, 5), (3, 1)], 4);
        let all = gang.everybody();
        assert_eq!(shortage(&gang, &all, 4, &Amounts(vec![8])), None, "three small ones and a large one");
        let short = shortage(&gang, &all, 4, &Amounts(vec![7])).expect("one too few");
        assert_eq!((short.needed, short.free, short.room_for), (8, 7, 3));
        assert_eq!(shortage(&gang, &all, 5, &Amounts(vec![12])).expect("one too few").room_for, 4);
    }

    #[test]
    fn who_needs_nothing_is_never_short() {
        let gang = gang(&[(7, 0)], 7);
        assert_eq!(shortage(&gang, &gang.everybody(), 7, &Amounts(vec![0])), None);
    }
}
