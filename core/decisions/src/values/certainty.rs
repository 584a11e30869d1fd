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
}
