//! The ways to skip branches that cannot succeed, by name, so that a test can show what each is worth.

/// A way to skip branches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// Too few candidates are left for a request.
    Candidates,
    /// Too few of them are covered by what is left of counters.
    Left,
    /// Too few of them are admitted by the devices that hold their counter sets.
    Groups,
    /// Requests have enough candidates each, but not together.
    Together,
    /// No value of an attribute is had by enough devices.
    Match,
    /// Devices must differ in an attribute that has too few values.
    Distinct,
    /// The counters of each set cover too few devices of a request.
    Counters,
    /// The counters of each set cover too few devices of all requests together.
    Sets,
    /// The counters of a pool do not cover all requests together.
    Pools,
    /// Too few counters of a pool have room for one more device.
    Places,
    /// A device equals one that failed at the same place.
    EqualDevices,
    /// It stands on a counter set that equals the other's.
    EqualSets,
    /// The state is one that failed before.
    FailedStates,
}

/// Some of the ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cuts(u16);

impl Cuts {
    /// All of them.
    pub const ALL: Cuts = Cuts(u16::MAX);

    /// Whether a way is among them.
    pub fn has(self, cut: Cut) -> bool {
        self.0 & (1 << cut as u16) != 0
    }

    /// None but these.
    #[cfg(test)]
    pub fn only(cuts: &[Cut]) -> Cuts {
        Cuts(cuts.iter().fold(0, |all, cut| all | 1 << *cut as u16))
    }
}
