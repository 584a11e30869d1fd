//! Which gates are on.
//!
//! Invariant: a set is one word, so asking about a gate costs one bit test. A set that was parsed or is a default
//! satisfies every dependency; sets put together gate by gate need not, as tests of a single feature want.

use std::fmt;

use crate::Gate;

/// The gates that are on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gates(u64);

// One bit a gate.
const _: () = assert!(Gate::ALL.len() <= u64::BITS as usize, "the gates no longer fit into one word");

impl Gates {
    /// No gate at all, not even those that are locked on.
    pub const NONE: Self = Self(0);

    /// Every gate.
    pub fn all_on() -> Self {
        Gate::ALL.iter().copied().collect()
    }

    /// Whether the gate is on.
    pub const fn enabled(self, gate: Gate) -> bool {
        self.0 & bit(gate) != 0
    }

    /// The same gates with one of them set, without looking at locks and dependencies.
    #[must_use]
    pub const fn with(self, gate: Gate, on: bool) -> Self {
        if on { Self(self.0 | bit(gate)) } else { Self(self.0 & !bit(gate)) }
    }

    /// The gates that are on, in the order of the table.
    pub fn iter(self) -> impl Iterator<Item = Gate> {
        Gate::ALL.iter().copied().filter(move |gate| self.enabled(*gate))
    }

    /// The gates that this one needs and that are off.
    pub fn missing_for(self, gate: Gate) -> impl Iterator<Item = Gate> {
        gate.spec().needs.iter().copied().filter(move |need| !self.enabled(*need))
    }
}

const fn bit(gate: Gate) -> u64 {
    1 << gate as u8
}

impl Default for Gates {
    /// The gates that are on unless a setting says otherwise.
    fn default() -> Self {
        Gate::ALL.iter().copied().filter(|gate| gate.spec().preset.is_on()).collect()
    }
}

impl FromIterator<Gate> for Gates {
    fn from_iter<I: IntoIterator<Item = Gate>>(gates: I) -> Self {
        gates.into_iter().fold(Self::NONE, |gates, gate| gates.with(gate, true))
    }
}

impl fmt::Debug for Gates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
