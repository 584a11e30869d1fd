//! What the scheduler shows of itself while it works.
//!
//! [`metrics`] counts and measures, under the names that dashboards for the Kubernetes scheduler know. Nothing in this
//! crate knows the scheduler's types: the runtime says what happened in plain words.

pub mod metrics;
