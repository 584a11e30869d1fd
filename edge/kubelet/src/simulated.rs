//! Simulated nodes: they report that they are ready, keep their leases, and run pods in name only.
//!
//! A node is simulated if it has the annotation [`SIMULATED`]; all others are left alone. What a node says and what
//! becomes of its pods is decided by pure functions (`report`, `phases`); `drive` carries it out when its time has
//! come.
//!
//! Invariant: nothing is kept that the API does not have, so that it can be stopped at any time and started again.

mod drive;
mod phases;
mod report;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use client::Connection;

pub use phases::{RUN_SECONDS, ends_by_itself};

/// The annotation of a node that is simulated.
pub const SIMULATED: &str = "supercargo.dev/simulated";

/// Hears what went wrong. Whatever it is, it is tried again.
pub type Complaints = Arc<dyn Fn(&str) + Send + Sync>;

/// How long things take on a simulated node.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// From the moment a pod has its node until it runs.
    pub start: Duration,
    /// From the wish that a pod should end until it has, if it is given so much time.
    pub stop: Duration,
    /// Between two signs of life of a node.
    pub heartbeat: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            start: Duration::from_millis(300),
            stop: Duration::from_millis(300),
            heartbeat: Duration::from_secs(10),
        }
    }
}

/// Simulates nodes until it is told to stop.
pub async fn run(
    connection: Connection,
    times: Times,
    complaints: Complaints,
    stop: impl Future<Output = ()> + Send,
) {
    tokio::select! {
        () = drive::drive(&connection, times, &complaints) => {}
        () = stop => {}
    }
}
