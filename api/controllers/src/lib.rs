//! What keeps objects in order: pure functions from what is there to what to do about it.

pub mod claim_reservations;
pub mod claim_templates;
pub mod claimants;
pub mod claims;
pub mod classic;
pub mod contexts;
pub mod device_taints;
pub mod ephemeral_volumes;
pub mod evictions;
pub mod fabric;
pub mod garbage;
pub mod jobs;
pub mod namespaces;
pub mod node_life;
pub mod node_taints;
pub mod node_topologies;
pub mod nodes;
pub mod own_workloads;
pub mod pod_garbage;
pub mod pod_groups;
pub mod simulated;
pub mod volumes;
