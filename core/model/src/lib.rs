//! The nouns of Supercargo: values that every other crate speaks in, free of any wire format.

pub mod duration;
pub mod quantity;
pub mod timestamp;
