//! Lanes on threads: what the engine finds out of many nodes is found out side by side.
//!
//! Threads begin and end with each piece of work. That takes some microseconds, and the engine asks for lanes only where it finds out
//! much more than that.
//!
//! Invariant: when the engine goes on, all threads have ended.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use decisions::lanes::{Lanes, OneLane};

/// Lanes on threads of their own, but for one on the thread that waits for them.
#[derive(Debug)]
struct Threads {
    count: usize,
}

/// So many lanes, but no more than the machine can run at a time.
#[must_use]
pub fn lanes(parallelism: u32) -> Arc<dyn Lanes> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    match cores.min(usize::try_from(parallelism).unwrap_or(usize::MAX)) {
        0 | 1 => Arc::new(OneLane),
        count => Arc::new(Threads { count }),
    }
}

impl Lanes for Threads {
    fn count(&self) -> usize {
        self.count
    }

    fn run(&self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        thread::scope(|scope| {
            for part in 1..parts {
                scope.spawn(move || work(part));
            }
            if parts > 0 {
                work(0);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn each_part_is_done_once_before_the_work_goes_on() {
        for parts in [0, 1, 2, 7] {
            let done: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
            Threads { count: 4 }.run(parts, &|part| {
                done[part].fetch_add(1, Ordering::Relaxed);
            });
            assert!(done.iter().all(|count| count.load(Ordering::Relaxed) == 1), "{done:?}");
        }
    }

    #[test]
    fn there_are_no_more_lanes_than_asked_for_and_at_least_one() {
        assert_eq!(lanes(1).count(), 1);
        assert_eq!(lanes(0).count(), 1);
        assert!((1..=2).contains(&lanes(2).count()));
    }
}
