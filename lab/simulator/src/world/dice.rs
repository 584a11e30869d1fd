//! Random numbers from a seed.
//!
//! Invariant: the same seed and purpose give the same numbers on every machine.

/// A generator after Steele, Lea and Flood (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice for one purpose; other purposes of the same seed get other numbers.
    pub fn new(seed: u64, purpose: u64) -> Dice {
        let mut dice = Dice(seed ^ purpose.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        dice.next();
        dice
    }

    /// Dice for another purpose, that follow from where these are now and leave them there.
    pub fn aside(&self, purpose: u64) -> Dice {
        Dice::new(self.0, purpose)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; zero if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % end).unwrap_or_default()
    }

    /// A number of milliseconds from `first` to `last`.
    pub fn millis(&mut self, first: i64, last: i64) -> i64 {
        let span = usize::try_from(last - first + 1).unwrap_or(1);
        first + i64::try_from(self.below(span)).unwrap_or_default()
    }

    /// True so many times in a thousand.
    pub fn per_mille(&mut self, odds: u32) -> bool {
        self.below(1_000) < usize::try_from(odds).unwrap_or_default()
    }

    /// One of several values, if there is one.
    pub fn pick<'v, T>(&mut self, values: &'v [T]) -> Option<&'v T> {
        values.get(self.below(values.len()))
    }
}
