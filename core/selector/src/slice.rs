//! What a selector says about all devices of a slice at once, and remembering it.

use std::collections::BTreeMap;
use std::sync::Arc;

use fixedbitset::FixedBitSet;

use crate::columns::DeviceSlice;
use crate::selector::{EvalError, Selector};
use crate::{depends, sets};

/// The devices that match, as a bit for each, and those for which the selector gave no answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SliceMatches {
    /// Bit `i` is set if device `i` matches.
    pub matching: FixedBitSet,
    /// The devices whose evaluation failed, in order.
    pub failures: Vec<(usize, EvalError)>,
}

/// Up to how many devices a glance at each is faster than columns.
const GLANCED_MAX: usize = 32;

impl Selector {
    /// Evaluates every device of a slice.
    #[must_use]
    pub fn matches_slice(&self, slice: &DeviceSlice) -> SliceMatches {
        let devices = slice.devices();
        let one_by_one = || collected(devices.iter().map(|device| self.holds(device)));
        if self.glance.is_some() && devices.len() <= GLANCED_MAX {
            return one_by_one();
        }
        let fast = self.fast.as_ref().filter(|_| slice.is_within_bounds());
        if let Some(answers) = fast.and_then(|test| sets::answers(test, slice)) {
            // Only a device that failed is asked again, for the reason.
            let reason = |at: usize| self.holds(&devices[at]).err().map(|error| (at, error));
            return SliceMatches {
                matching: answers.yes,
                failures: answers.failed.ones().filter_map(reason).collect(),
            };
        }
        if self.glance.is_some() {
            return one_by_one();
        }
        match depends::signature(&self.program.root, slice) {
            Some(column) => {
                let ask = |example: &u32| self.holds(&devices[*example as usize]);
                let answers: Vec<_> = column.examples.iter().map(ask).collect();
                collected(column.codes.iter().map(|code| answers[*code as usize].clone()))
            }
            None => one_by_one(),
        }
    }
}

/// The answers, device by device, as sets.
fn collected(answers: impl ExactSizeIterator<Item = Result<bool, EvalError>>) -> SliceMatches {
    let mut found =
        SliceMatches { matching: FixedBitSet::with_capacity(answers.len()), failures: Vec::new() };
    for (at, answer) in answers.enumerate() {
        match answer {
            Ok(true) => found.matching.insert(at),
            Ok(false) => {}
            Err(error) => found.failures.push((at, error)),
        }
    }
    found
}

/// Which state of which slice an answer is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SliceRevision {
    /// The slice.
    pub slice: u64,
    /// Its revision; a slice that changes gets another.
    pub revision: u64,
}

/// Remembers answers by expression and slice revision.
///
/// It never holds more than `capacity` answers: the one that was not asked for the longest goes first.
#[derive(Debug)]
pub struct MatchCache {
    capacity: usize,
    tick: u64,
    answers: BTreeMap<Arc<str>, BTreeMap<SliceRevision, Remembered>>,
    by_age: BTreeMap<u64, (Arc<str>, SliceRevision)>,
}

#[derive(Debug)]
struct Remembered {
    matches: Arc<SliceMatches>,
    tick: u64,
}

impl MatchCache {
    /// A cache of at most `capacity` answers; at least one.
    #[must_use]
    pub fn new(capacity: usize) -> MatchCache {
        MatchCache { capacity: capacity.max(1), tick: 0, answers: BTreeMap::new(), by_age: BTreeMap::new() }
    }

    /// How many answers are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_age.len()
    }

    /// Whether nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_age.is_empty()
    }

    /// The answer for an expression and a slice revision, found or computed.
    pub fn matches(
        &mut self,
        expression: &Arc<str>,
        at: SliceRevision,
        compute: impl FnOnce() -> SliceMatches,
    ) -> Arc<SliceMatches> {
        self.tick += 1;
        let tick = self.tick;
        if let Some(known) = self.answers.get_mut(expression).and_then(|slices| slices.get_mut(&at)) {
            if let Some(key) = self.by_age.remove(&known.tick) {
                self.by_age.insert(tick, key);
            }
            known.tick = tick;
            return known.matches.clone();
        }
        let matches = Arc::new(compute());
        self.add(expression, at, matches.clone());
        matches
    }

    /// The answer for an expression and a slice revision, if it is held. It grows no younger by that.
    #[must_use]
    pub fn held(&self, expression: &str, at: SliceRevision) -> Option<&Arc<SliceMatches>> {
        Some(&self.answers.get(expression)?.get(&at)?.matches)
    }

    /// Takes over the answers that another of the same capacity holds. Those of the smaller come after those of the larger, which takes
    /// less time.
    pub fn absorb(&mut self, mut other: MatchCache) {
        if other.len() > self.len() {
            std::mem::swap(self, &mut other);
        }
        for (_, (expression, at)) in other.by_age {
            let known = other.answers.get(&expression).and_then(|slices| slices.get(&at));
            if let Some(known) = known
                && self.held(&expression, at).is_none()
            {
                self.add(&expression, at, known.matches.clone());
            }
        }
    }

    fn add(&mut self, expression: &Arc<str>, at: SliceRevision, matches: Arc<SliceMatches>) {
        self.tick += 1;
        let tick = self.tick;
        while self.by_age.len() >= self.capacity {
            self.forget_oldest();
        }
        self.by_age.insert(tick, (expression.clone(), at));
        self.answers.entry(expression.clone()).or_default().insert(at, Remembered { matches, tick });
    }

    fn forget_oldest(&mut self) {
        let Some((_, (expression, at))) = self.by_age.pop_first() else { return };
        let Some(slices) = self.answers.get_mut(&expression) else { return };
        slices.remove(&at);
        if slices.is_empty() {
            self.answers.remove(&expression);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AttributeValue, Device, Environment, ErrorClass, ExpressionKind};

    fn slice() -> DeviceSlice {
        let devices = (0..10)
            .map(|number| {
                let mut device = Device::new("gpu.example.com", false);
                if number != 3 {
                    device.attribute("index", &AttributeValue::Int(number)).expect("a valid attribute");
                }
                device
            })
            .collect();
        DeviceSlice::new(devices)
    }

    #[test]
    fn a_slice_is_answered_with_a_bit_a_device() {
        let expression = r#"device.attributes["gpu.example.com"].index >= 5"#;
        let selector =
            Selector::compile(expression, ExpressionKind::Selector, Environment::all()).expect("valid");
        let found = selector.matches_slice(&slice());
        assert_eq!(found.matching.ones().collect::<Vec<_>>(), [5, 6, 7, 8, 9]);
        assert_eq!(found.failures.len(), 1);
        assert_eq!((found.failures[0].0, found.failures[0].1.class), (3, ErrorClass::NoSuchKey));
    }

    #[test]
    fn an_answer_is_computed_once_until_the_slice_changes() {
        let mut cache = MatchCache::new(8);
        let expression: Arc<str> = Arc::from("true");
        let mut computed = 0;
        for revision in [1, 1, 2, 1, 2] {
            cache.matches(&expression, SliceRevision { slice: 7, revision }, || {
                computed += 1;
                SliceMatches::default()
            });
        }
        assert_eq!(computed, 2);
    }

    #[test]
    fn the_cache_is_bounded_and_forgets_what_was_not_asked_for() {
        let mut cache = MatchCache::new(3);
        let expression: Arc<str> = Arc::from("true");
        let ask = |cache: &mut MatchCache, slice: u64| {
            let mut fresh = false;
            cache.matches(&expression, SliceRevision { slice, revision: 1 }, || {
                fresh = true;
                SliceMatches::default()
            });
            fresh
        };
        for slice in 0..3 {
            assert!(ask(&mut cache, slice));
        }
        assert!(!ask(&mut cache, 0), "still known, and now the youngest");
        assert!(ask(&mut cache, 3), "a fourth answer pushes one out");
        assert_eq!(cache.len(), 3);
        assert!(!ask(&mut cache, 0));
        assert!(ask(&mut cache, 1), "the oldest was forgotten");
    }
    #[test]
    fn of_two_caches_all_answers_are_held_whichever_is_the_larger() {
        let expression: Arc<str> = "true".into();
        let of = |slices: std::ops::Range<u64>| {
            let mut cache = MatchCache::new(4);
            for slice in slices {
                cache.matches(&expression, SliceRevision { slice, revision: 1 }, SliceMatches::default);
            }
            cache
        };
        for (own, others) in [(0..1, 1..3), (0..2, 2..3), (0..0, 0..3), (0..3, 3..3), (0..3, 0..3)] {
            let mut cache = of(own);
            cache.absorb(of(others));
            let held = |slice| cache.held(&expression, SliceRevision { slice, revision: 1 }).is_some();
            assert!((0..3).all(held));
            assert_eq!(cache.len(), 3);
        }
        let mut full = of(0..4);
        full.absorb(of(4..6));
        assert_eq!(full.len(), 4, "it never holds more than it may");
    }
}
