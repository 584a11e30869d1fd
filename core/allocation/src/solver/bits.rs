//! Sets of devices as words, with the few operations that a search repeats at each step.

/// A set of devices.
pub(super) type Bits = Box<[u64]>;

/// How many words a set of so many devices has.
pub(super) fn words(devices: usize) -> usize {
    devices.div_ceil(64).max(1)
}

/// No devices.
pub(super) fn none(words: usize) -> Bits {
    vec![0; words].into()
}

/// A set of these devices.
pub(super) fn of(words: usize, devices: impl IntoIterator<Item = usize>) -> Bits {
    let mut set = none(words);
    devices.into_iter().for_each(|device| insert(&mut set, device));
    set
}

pub(super) fn insert(set: &mut [u64], device: usize) {
    set[device / 64] |= 1 << (device % 64);
}

pub(super) fn contains(set: &[u64], device: usize) -> bool {
    set[device / 64] >> (device % 64) & 1 != 0
}

/// How many devices.
pub(super) fn count(set: &[u64]) -> u32 {
    set.iter().map(|word| word.count_ones()).sum()
}

/// How many devices two sets have in common.
pub(super) fn count_both(left: &[u64], right: &[u64]) -> u32 {
    left.iter().zip(right).map(|(left, right)| (left & right).count_ones()).sum()
}

pub(super) fn add(to: &mut [u64], from: &[u64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
}

/// The devices, in order.
pub(super) fn ones(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(at, word)| {
        let mut rest = *word;
        std::iter::from_fn(move || {
            let bit = rest.trailing_zeros() as usize;
            (rest != 0).then(|| {
                rest &= rest - 1;
                at * 64 + bit
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_come_in_order_across_words() {
        let set = of(words(130), [129, 3, 64]);
        assert_eq!(ones(&set).collect::<Vec<_>>(), [3, 64, 129]);
        assert_eq!((count(&set), contains(&set, 64), contains(&set, 65)), (3, true, false));
        assert_eq!(count_both(&set, &of(3, [3, 5, 129])), 2);
    }
}
