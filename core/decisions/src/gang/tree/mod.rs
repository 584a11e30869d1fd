//! Seats for a tree of groups: each group in the domain of its parent.

pub(crate) mod branch;
pub(crate) mod progress;
pub(crate) mod search;
pub(crate) mod seats;
pub(crate) mod sought;
pub(crate) mod survey;
pub(crate) mod whole;
