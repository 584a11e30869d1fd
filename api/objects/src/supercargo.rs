//! supercargo.dev/v1alpha1: our own kinds, and our annotations.

pub mod annotations;
pub mod control;
pub mod device_attachment;
pub mod node_topology;
pub mod noted_groups;
pub mod pod_scheduling_context;
pub mod workload;
