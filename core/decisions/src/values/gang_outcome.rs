//! What came of a gang, as it is told.

/// What came of a gang.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GangOutcome {
    /// So many members are on their way to nodes.
    Seated {
        /// How many.
        members: usize,
    },
    /// There are no nodes for enough of them.
    Refused {
        /// Why.
        message: String,
    },
    /// There are none yet: less important pods make way.
    MakingRoom {
        /// Why, and which pods go.
        message: String,
    },
    /// Enough of them are bound.
    Placed {
        /// How many.
        members: usize,
    },
}
