//! What a driver should hear about its publishing while everything is tried again by itself.

use std::time::Duration;

use thiserror::Error;

/// Something went wrong with publishing. None of these ends it: each is tried again, or cannot be helped from here.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PublishTrouble {
    /// A slice could not be written.
    #[error("cannot publish pool {pool}: slice {slice}: {why}; retrying in {retry_in:?}")]
    Failed {
        /// The pool.
        pool: String,
        /// The slice.
        slice: String,
        /// What the server said.
        why: String,
        /// When it is tried again.
        retry_in: Duration,
    },
    /// The name of a slice is taken by somebody else's.
    #[error(
        "cannot publish pool {pool}: slice {slice} already exists and belongs to driver {driver:?}; hint: delete it \
            if it is not needed"
    )]
    NameTaken {
        /// The pool.
        pool: String,
        /// The slice.
        slice: String,
        /// Whose it is.
        driver: String,
    },
    /// The server took the pool, but did not keep everything. It is not sent again before something changes.
    #[error("pool {pool}: the API server dropped {}; hint: {}", fields.join(", "), how_to_keep(gates))]
    FieldsDropped {
        /// The pool.
        pool: String,
        /// The fields of its slices' specs.
        fields: Vec<String>,
        /// The feature gates that they need.
        gates: Vec<String>,
    },
    /// There is no such node, so its slices would belong to nobody.
    #[error(
        "node {node} does not exist; its slices are published when it is created; hint: see `kubectl get nodes`"
    )]
    NoNode {
        /// The node.
        node: String,
    },
    /// The server cannot be heard for a while.
    #[error("watch of {what} failed: {why}; retrying in {retry_in:?}")]
    Interrupted {
        /// Slices or nodes.
        what: &'static str,
        /// What went wrong.
        why: String,
        /// When it is tried again.
        retry_in: Duration,
    },
    /// There is a slice that cannot be read.
    #[error("cannot read slice {slice}: {why}")]
    Unreadable {
        /// The slice.
        slice: String,
        /// What is wrong with it.
        why: String,
    },
}

fn how_to_keep(gates: &[String]) -> String {
    match gates {
        [] => "an admission webhook or another component changes slices".to_owned(),
        gates => format!("turn on {} in the API server", gates.join(", ")),
    }
}
