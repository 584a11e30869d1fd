//! Recorded answers of Kubernetes against ours.

mod allocator;
mod selector_limits;
mod vectors;
