//! The claims of a pod, and devices for them on a node.

pub(crate) mod ahead;
pub(crate) mod alternatives;
pub(crate) mod claims;
pub mod extended;
pub mod footprint;
pub mod holding;
pub(crate) mod in_the_way;
pub(crate) mod pending;
pub(crate) mod question;
pub(crate) mod scopes;
pub(crate) mod search;
pub(crate) mod wakes;
