//! scheduling.k8s.io: priorities and groups of pods.

pub mod composite_pod_group;
pub mod job;
pub mod pod_group;
pub mod priority_class;
pub mod workload;
