//! Seats for one gang: what it looks for, and what it is given.

pub(crate) mod assumed;
pub(crate) mod find;
pub(crate) mod hand_out;
pub(crate) mod negotiated;
pub(crate) mod seek;
pub(crate) mod sought;
