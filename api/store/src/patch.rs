//! Patches: three ways in which a client says what it wants changed.

mod json;
mod merge;
mod strategic;

use thiserror::Error;

pub use json::json_patch;
pub use merge::merge_patch;
pub use strategic::strategic_merge_patch;

/// A patch that cannot be applied.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PatchError {
    /// The patch itself makes no sense: 400.
    #[error("the patch is malformed: {0}")]
    Malformed(String),
    /// The patch does not fit the object: 422.
    #[error("the patch does not fit the object: {0}")]
    Unfit(String),
    /// The patch has more operations than a request may have: 413.
    #[error("the patch has {have} operations and may have at most {most}")]
    TooManyOperations {
        /// How many it has.
        have: usize,
        /// How many it may have.
        most: usize,
    },
}
