//! Simulated nodes: they report that they are ready, keep their leases, and run pods in name only.
//!
//! A node is simulated if it has the annotation [`SIMULATED`]; all others are left alone. What a node says and what
//! becomes of its pods is decided by the pure functions of `controllers::simulated`; here it is carried out when its time
//! has come: `fleet` says what that is, by the times in `agenda`; `drive` hears what happens, and `deeds` writes.
//!
//! Invariant: nothing is kept that the API does not have, so that it can be stopped at any time and started again.

mod agenda;
mod deeds;
mod drive;
mod fleet;

use std::future::Future;
use std::sync::Arc;

use client::Connection;

pub use controllers::simulated::phases::ends_by_itself;
pub use controllers::simulated::{EXIT_CODE, FAULT, RUN_SECONDS, SIMULATED, START_SECONDS, Times};

/// Hears what went wrong. Whatever it is, it is tried again.
pub type Complaints = Arc<dyn Fn(&str) + Send + Sync>;

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
