//! What keeps objects in order: pure functions from what is there to what to do about it.

pub mod claim_templates;
pub mod claims;
pub mod garbage;
pub mod jobs;
pub mod namespaces;
pub mod nodes;
