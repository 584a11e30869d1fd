//! What came closest to seats for a gang.

use crate::values::certainty::Certainty;

/// What came closest to seats, and what is missing.
#[derive(Debug)]
pub struct Miss {
    /// For how many members there is room.
    pub room_for: u32,
    /// What is missing, in words.
    pub message: String,
    /// Whether there certainly are none.
    pub certainty: Certainty,
}

impl Miss {
    /// Something that rules out seats for any member.
    pub fn proved(message: String) -> Miss {
        Miss { room_for: 0, message, certainty: Certainty::Proved }
    }

    /// Something of which it is not known whether it rules out seats.
    pub fn open(message: String) -> Miss {
        Miss { room_for: 0, message, certainty: Certainty::LimitReached }
    }

    /// The reason in words that do not claim more than is known.
    pub fn told(&self) -> String {
        self.certainty.tell(&self.message)
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
