//! What came closest to seats for a gang.

use crate::values::certainty::Certainty;
use crate::values::gang_reason::GangReason;

/// What came closest to seats, and what is missing. Its words do not claim more than is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Miss {
    /// For how many members there is room.
    pub room_for: u32,
    /// What is missing.
    pub why: GangReason,
    /// Whether there certainly are none.
    pub certainty: Certainty,
    /// Some nodes could not even be asked for devices, for whatever is wrong with devices there.
    pub unanswered: bool,
}

impl Miss {
    /// Something that rules out seats for any member.
    #[must_use]
    pub fn proved(why: GangReason) -> Miss {
        Miss { room_for: 0, why, certainty: Certainty::Proved, unanswered: false }
    }

    /// Something of which it is not known whether it rules out seats.
    pub(crate) fn open(why: GangReason) -> Miss {
        Miss { room_for: 0, why, certainty: Certainty::LimitReached, unanswered: false }
    }

    /// The one of two that comes closer; both have to be proved.
    fn or_nearer(self, other: Miss) -> Miss {
        let certainty = self.certainty.and(other.certainty);
        let nearer = if self.room_for < other.room_for { other } else { self };
        Miss { certainty, ..nearer }
    }
}

/// The one that comes closer of what is known and another.
pub(crate) fn nearer(known: Option<Miss>, miss: Miss) -> Miss {
    match known {
        None => miss,
        Some(known) => known.or_nearer(miss),
    }
}
