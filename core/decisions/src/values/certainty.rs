//! Whether it is certain that there is no placement.

/// How certain a refusal is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Certainty {
    /// There is no place as things stand.
    #[default]
    Proved,
    /// Not everything was tried, so there may be one.
    LimitReached,
}

impl Certainty {
    /// What is known of something that holds only if both do.
    pub fn and(self, other: Certainty) -> Certainty {
        match self {
            Certainty::Proved => other,
            Certainty::LimitReached => Certainty::LimitReached,
        }
    }

    /// The reason of a refusal, with what it is worth.
    pub fn tell(self, reason: &str) -> String {
        match self {
            Certainty::Proved => reason.to_owned(),
            Certainty::LimitReached => format!(
                "the search reached its limit before it found a placement or proved that there is none; the closest: {reason}"
            ),
        }
    }
}
