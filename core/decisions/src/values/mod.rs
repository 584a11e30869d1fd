//! Plain values: choices, refusals and their reasons, and what these are counted by.

pub mod certainty;
pub(crate) mod choice;
pub(crate) mod filter_set;
pub(crate) mod hopeless;
pub mod in_the_way;
pub(crate) mod lot;
pub mod node_refusal;
pub(crate) mod openings;
pub(crate) mod pending;
pub(crate) mod pod_claims;
pub(crate) mod pod_refusal;
pub(crate) mod reason;
pub(crate) mod tried;
pub mod wake;
pub mod work;
