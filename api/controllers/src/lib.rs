//! What keeps objects in order: pure functions from what is there to what to do about it.

pub mod claim_templates;
pub mod claims;
pub mod device_taints;
pub mod evictions;
pub mod garbage;
pub mod namespaces;
pub mod nodes;
