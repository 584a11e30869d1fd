//! What members on a node can be worth at the most, if each kind has a price.
//!
//! Invariant: no load that a node takes is worth more than what is said here. Along each axis members are counted as if they could
//! be cut, and as if this axis alone decided.

use std::cmp::Ordering;

use crate::pack::alike::{Alike, WHOLE};

/// How much a part along one axis counts at the most.
const WEIGHT_MAX: u64 = 64;

/// Prices of kinds for a node, and how many of each can come.
#[derive(Debug)]
pub(super) struct Worth {
    /// Kinds that can come, those first that are worth the most for what they need.
    pub order: Vec<usize>,
    /// By place in the order.
    pub prices: Vec<u64>,
    pub bounds: Vec<u32>,
    /// What the node has along each axis, and at last in parts of all axes together.
    pub free: Vec<u64>,
    /// What a member needs of that, by place.
    needs: Vec<Vec<u64>>,
    /// What all from a place on are worth.
    total: Vec<u64>,
    /// By axis, places with what a member needs, those first that are worth the most for it.
    axes: Vec<Vec<(usize, u64)>>,
}

impl Worth {
    /// Prices for a node that takes up to so many members of each kind. Kinds that are worth nothing may be left out.
    pub fn new(alike: &mut Alike, prices: &[u64], bounds: &[u32], keeps_worthless: bool) -> Worth {
        let comes = |kind: &usize| bounds[*kind] > 0 && (keeps_worthless || prices[*kind] > 0);
        let mut order: Vec<usize> = (0..prices.len()).filter(comes).collect();
        weigh(alike, prices, bounds, &order);
        let parts = |kind: usize| part(&alike.shares[kind], &alike.weights);
        order.sort_by(|one, other| {
            dearer((prices[*one], parts(*one)), (prices[*other], parts(*other)))
                .then(alike.sizes[*other].cmp(&alike.sizes[*one]))
        });
        let priced: Vec<u64> = order.iter().map(|kind| prices[*kind]).collect();
        let counts: Vec<u32> = order.iter().map(|kind| bounds[*kind]).collect();
        let mut total = vec![0; order.len() + 1];
        for place in (0..order.len()).rev() {
            total[place] = total[place + 1] + priced[place] * u64::from(counts[place]);
        }
        let mut free = alike.free.clone();
        let mut needs: Vec<Vec<u64>> = order.iter().map(|kind| alike.needs[*kind].clone()).collect();
        if free.len() > 1 {
            free.push(WHOLE * alike.weights.iter().sum::<u64>());
            needs.iter_mut().zip(&order).for_each(|(needs, kind)| needs.push(parts(*kind)));
        }
        let along = |axis: usize| {
            let mut places: Vec<(usize, u64)> =
                needs.iter().enumerate().map(|(place, needs)| (place, needs[axis])).collect();
            places.sort_by(|one, other| dearer((priced[one.0], one.1), (priced[other.0], other.1)));
            places
        };
        let axes = (0..free.len()).map(along).collect();
        Worth { order, prices: priced, bounds: counts, free, needs, total, axes }
    }

    /// How many members of the kind at a place there are amounts for.
    pub fn fitting(&self, place: usize, rest: &[u64]) -> u32 {
        let bound = self.bounds[place];
        let of_axis = |(need, rest): (&u64, &u64)| rest.checked_div(*need);
        let most = self.needs[place].iter().zip(rest).filter_map(of_axis).min();
        most.map_or(bound, |most| bound.min(u32::try_from(most).unwrap_or(bound)))
    }

    /// Takes what members need away from what is left.
    pub fn take(&self, place: usize, count: u32, rest: &mut [u64]) {
        for (need, rest) in self.needs[place].iter().zip(rest) {
            *rest -= need * u64::from(count);
        }
    }

    /// Gives back what members needed.
    pub fn give_back(&self, place: usize, count: u32, rest: &mut [u64]) {
        for (need, rest) in self.needs[place].iter().zip(rest) {
            *rest += need * u64::from(count);
        }
    }

    /// What members from a place in the order on can be worth at the most, if so much is left of the node.
    pub fn most(&self, place: usize, rest: &[u64]) -> u64 {
        let mut most = self.total[place];
        for (needs, rest) in self.axes.iter().zip(rest) {
            let (mut rest, mut sum) = (*rest, 0);
            for (at, need) in needs.iter().filter(|(at, _)| *at >= place) {
                let all = need.saturating_mul(u64::from(self.bounds[*at]));
                if all <= rest {
                    rest -= all;
                    sum += self.prices[*at] * u64::from(self.bounds[*at]);
                } else {
                    let part = u128::from(self.prices[*at]) * u128::from(rest) / u128::from(*need);
                    sum += u64::try_from(part).unwrap_or(u64::MAX - sum);
                    break;
                }
                if sum >= most {
                    break;
                }
            }
            most = most.min(sum);
        }
        most
    }
}

/// Compares what two are worth for what they need, without dividing: the dearer first.
fn dearer(one: (u64, u64), other: (u64, u64)) -> Ordering {
    (u128::from(other.0) * u128::from(one.1)).cmp(&(u128::from(one.0) * u128::from(other.1)))
}

/// Parts along all axes, added up.
fn part(shares: &[u64], weights: &[u64]) -> u64 {
    shares
        .iter()
        .zip(weights)
        .fold(0, |sum, (share, weight)| sum.saturating_add(share.saturating_mul(*weight)))
}

/// Makes parts along each axis count so much that members are worth as little as possible for what is left. What served other prices
/// is a good place to begin at.
fn weigh(alike: &mut Alike, prices: &[u64], bounds: &[u32], kinds: &[usize]) {
    if alike.free.len() < 2 {
        return;
    }
    let most = |weights: &[u64]| {
        let mut parts: Vec<(u64, u64, u32)> = kinds
            .iter()
            .map(|kind| (prices[*kind], part(&alike.shares[*kind], weights), bounds[*kind]))
            .collect();
        parts.sort_by(|one, other| dearer((one.0, one.1), (other.0, other.1)));
        let (mut rest, mut sum) = (WHOLE * weights.iter().sum::<u64>(), 0);
        for (price, need, bound) in parts {
            let all = need.saturating_mul(u64::from(bound));
            if all > rest {
                return sum
                    + u64::try_from(u128::from(price) * u128::from(rest) / u128::from(need))
                        .unwrap_or(u64::MAX / 2);
            }
            rest -= all;
            sum += price * u64::from(bound);
        }
        sum
    };
    let mut weights = alike.weights.clone();
    let mut least = most(&weights);
    for axis in 0..weights.len() {
        for next in [weights[axis] / 2, (weights[axis] * 2).clamp(1, WEIGHT_MAX)] {
            let before = std::mem::replace(&mut weights[axis], next);
            let bound = most(&weights);
            if bound < least && weights.iter().any(|weight| *weight > 0) {
                least = bound;
            } else {
                weights[axis] = before;
            }
        }
    }
    alike.weights = weights;
}

/// What so many of these members are worth at the least: the cheapest come first.
pub(super) fn cheapest(prices: &[u64], members: &[u32], wanted: u32) -> u64 {
    let mut kinds: Vec<(u64, u32)> = prices.iter().copied().zip(members.iter().copied()).collect();
    kinds.sort_unstable();
    let mut left = wanted;
    let mut worth = |(price, count): (u64, u32)| {
        let count = count.min(left);
        left -= count;
        price * u64::from(count)
    };
    kinds.into_iter().map(&mut worth).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_are_counted_first() {
        assert_eq!(cheapest(&[5, 1, 3], &[2, 2, 2], 5), 1 + 1 + 3 + 3 + 5);
        assert_eq!(cheapest(&[5, 1], &[2, 2], 0), 0);
    }
}
