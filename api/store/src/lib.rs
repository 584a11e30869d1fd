//! Changes to objects: the patches that clients send.

pub mod patch;
