//! resource.k8s.io/v1: devices, and claims for them.

pub mod allocation;
pub mod claim;
pub mod class;
pub mod pool_status;
pub mod slice;
