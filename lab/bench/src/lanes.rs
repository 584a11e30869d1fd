//! Lanes on threads, as a live scheduler has them.

use std::sync::Arc;
use std::thread;

use decisions::lanes::{Lanes, OneLane};

#[derive(Debug)]
struct Threads {
    count: usize,
}

/// So many lanes, whatever machine this is.
pub(crate) fn lanes(count: u32) -> Arc<dyn Lanes> {
    match count {
        0 | 1 => Arc::new(OneLane),
        count => Arc::new(Threads { count: count as usize }),
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
            work(0);
        });
    }
}
