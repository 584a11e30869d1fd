//! What may be stored, and what not.

mod core_kinds;
mod groups;
mod handles;
mod limits;
mod versions;
