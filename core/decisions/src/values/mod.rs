//! Plain values: choices, refusals and their reasons, and what these are counted by.

pub mod certainty;
pub(crate) mod choice;
mod codes;
pub(crate) mod filter_set;
pub mod gang_preemption;
pub mod gang_reason;
pub(crate) mod gang_refusal;
pub mod in_the_way;
pub mod lacking;
pub(crate) mod lot;
pub mod meaning;
pub(crate) mod miss;
pub(crate) mod no_devices;
pub mod node_refusal;
pub mod not_ready;
pub(crate) mod openings;
pub(crate) mod pending;
pub(crate) mod pod_claims;
pub(crate) mod pod_refusal;
pub mod preemption;
pub mod reason;
pub(crate) mod renaming;
mod sentences;
pub(crate) mod tried;
pub mod wake;
pub mod work;
