//! What keeps the search for any solution short, by name, so that a test can show what each is worth.

/// A proof that something cannot succeed, or a way to learn from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Aid {
    /// What all requests draw at least is more than is left.
    Sums,
    /// What remains over in each counter set or device cannot be put together.
    Remainders,
    /// Of amounts this large, fewer go where there is room than are wanted.
    Crowding,
    /// What is left of one counter cannot be had within what is left of another.
    Coupling,
    /// Requests have enough devices each, but not one for each.
    Pairing,
    /// Of the devices of a counter set only so many go together.
    Seats,
    /// A value that not all requests that must match can have.
    Match,
    /// Fewer values than devices that must differ.
    Distinct,
    /// What is refuted for a device is refuted for all that equal it.
    EqualDevices,
    /// What is refuted for a request is refuted for all that are like it.
    AlikeRequests,
    /// States that failed are remembered.
    FailedStates,
    /// The search begins anew from time to time.
    Restarts,
}

/// Some of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Aids(u16);

impl Aids {
    /// All of them.
    pub const ALL: Aids = Aids(u16::MAX);

    /// Whether one is among them.
    pub fn has(self, aid: Aid) -> bool {
        self.0 & (1 << aid as u16) != 0
    }

    /// None but these.
    #[cfg(test)]
    pub fn only(aids: &[Aid]) -> Aids {
        Aids(aids.iter().fold(0, |all, aid| all | 1 << *aid as u16))
    }
}
