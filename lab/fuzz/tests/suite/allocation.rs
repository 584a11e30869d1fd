//! Allocation with a bounded number of random questions.

use std::sync::atomic::{AtomicUsize, Ordering};

use bolero::generator::{ValueGenerator, produce};
use fuzz::allocation::{self, Verdict};

/// Bytes for a small question or for a large one; few of them would make plain instances only.
fn bytes() -> impl ValueGenerator<Output = Vec<u8>> {
    produce::<Vec<u8>>().with().len(64..=512_usize)
}

/// How often each verdict was given.
#[derive(Default)]
struct Verdicts([AtomicUsize; 4]);

impl Verdicts {
    fn count(&self, verdict: Verdict) {
        self.0[verdict as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn of(&self, verdict: Verdict) -> usize {
        self.0[verdict as usize].load(Ordering::Relaxed)
    }
}

#[test]
fn what_is_given_is_valid_and_what_is_refused_is_impossible() {
    let verdicts = Verdicts::default();
    bolero::check!().with_iterations(1_000).with_generator(bytes()).for_each(|bytes| {
        verdicts.count(allocation::check(bytes));
    });
    // A target that comes to one verdict only would pass and show little.
    for verdict in [Verdict::Allocated, Verdict::Impossible, Verdict::Spent, Verdict::Unjudged] {
        assert!(verdicts.of(verdict) >= 10, "{verdict:?}: {}", verdicts.of(verdict));
    }
}

#[test]
fn damaged_objects_are_answered_or_refused() {
    let verdicts = Verdicts::default();
    bolero::check!().with_iterations(5_000).with_generator(bytes()).for_each(|bytes| {
        verdicts.count(allocation::check_mutated(bytes));
    });
    for verdict in [Verdict::Allocated, Verdict::Impossible, Verdict::Unjudged] {
        assert!(verdicts.of(verdict) >= 100, "{verdict:?}: {}", verdicts.of(verdict));
    }
}
