//! What the scheduler shows of itself while it works.
//!
//! [`metrics`] counts and measures, under the names that dashboards for the Kubernetes scheduler know. [`surface`]
//! answers over HTTP whether all is well, what was measured and what the configuration is. [`logs`] writes what
//! happens, for people or for machines. Nothing in this crate knows the scheduler's types: the runtime says what
//! happened in plain words.

pub mod logs;
pub mod metrics;
pub mod surface;
