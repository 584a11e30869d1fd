//! What a search for seats of a gang answers with.

pub(crate) mod seats;
