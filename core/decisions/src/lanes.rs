//! Lanes: what is done for one node and not for another may be done side by side.
//!
//! Nothing here starts a thread. The program that runs the scheduler may give it lanes that do; else all is done one after the other.
//!
//! Invariant: what comes of parts is put together in their order, and nothing that is decided or counted depends on how many parts
//! there were, so that answers are the same with any number of lanes.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

/// What it takes to begin a part on a thread of a machine of these days, in nominal nanoseconds, with the wait for the last to end.
const BEGIN: u64 = 128_000;

/// Does pieces of work, perhaps several at a time.
pub trait Lanes: fmt::Debug + Send + Sync {
    /// How many can be done at a time.
    fn count(&self) -> usize;

    /// What it takes to begin a part, in nominal nanoseconds: less is not worth a part of its own.
    fn begin_nanos(&self) -> u64 {
        BEGIN
    }

    /// Does each of so many parts once, in any order, and returns when all are done.
    fn run(&self, parts: usize, work: &(dyn Fn(usize) + Sync));
}

/// One lane: what is done is done where it is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneLane;

impl Lanes for OneLane {
    fn count(&self) -> usize {
        1
    }

    fn run(&self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..parts).for_each(work);
    }
}

/// How many things are worth a part of their own, each of which takes so many nominal nanoseconds.
pub(crate) fn part_min(lanes: &dyn Lanes, nanos: u64) -> usize {
    usize::try_from(lanes.begin_nanos() / nanos.max(1)).unwrap_or(usize::MAX).max(1)
}

/// What comes of each part of so many things, in their order. Each takes so many nominal nanoseconds.
pub(crate) fn in_parts<T: Send + Sync>(
    lanes: &dyn Lanes,
    (count, nanos): (usize, u64),
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let parts = (count / part_min(lanes, nanos)).clamp(1, lanes.count().max(1));
    if parts == 1 {
        return vec![work(0..count)];
    }
    let range = |part: usize| count * part / parts..count * (part + 1) / parts;
    let done: Vec<OnceLock<T>> = (0..parts).map(|_| OnceLock::new()).collect();
    lanes.run(parts, &|part| {
        let is_first = done[part].set(work(range(part))).is_ok();
        assert!(is_first, "lanes do each part once");
    });
    done.into_iter().map(|one| one.into_inner().expect("lanes do all parts")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes that do the last part first.
    #[derive(Debug)]
    struct Backwards(usize);

    impl Lanes for Backwards {
        fn count(&self) -> usize {
            self.0
        }

        fn run(&self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
            (0..parts).rev().for_each(work);
        }
    }

    #[test]
    fn parts_are_put_together_in_order_whichever_is_done_first() {
        for lanes in 1..9 {
            for count in [0, 1, 255, 511, 512, 513, 1_000, 5_000] {
                let ranges = in_parts(&Backwards(lanes), (count, 500), |part| part);
                assert_eq!(ranges.len(), lanes.min(count / 256).max(1));
                let all: Vec<usize> = ranges.into_iter().flatten().collect();
                assert_eq!(all, (0..count).collect::<Vec<_>>());
            }
        }
    }
}
