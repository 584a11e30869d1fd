//! What a search for seats of a gang answers with.

pub(crate) mod miss;
pub(crate) mod refusal;
pub(crate) mod seats;
