//! Changes to objects: the patches that clients send, and who owns the fields that they set.

pub mod managed;
pub mod patch;
