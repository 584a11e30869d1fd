//! Simulated nodes, as far as they decide: what they say of themselves, what becomes of their pods, and which pods they
//! refuse. Those that touch the world do it when its time has come: on an API server, or on a simulation's own clock.
//!
//! A node is simulated if it has the annotation [`SIMULATED`]. Whoever wants something to go wrong says so with
//! annotations: [`FAULT`] on a node or a pod, [`EXIT_CODE`] on a pod.
//!
//! Invariant: everything follows from the objects and the time, so that whoever simulates can be replaced at any moment.

pub mod phases;
pub mod readiness;
pub mod report;

use std::time::Duration;

/// The annotation of a node that is simulated.
pub const SIMULATED: &str = "supercargo.dev/simulated";

/// The annotation that makes something go wrong. On a node: `lost` (no sign of life, and nothing happens to its pods any
/// more) or `not-ready` (it says so of itself). On a pod: `no-start` (its containers never start).
pub const FAULT: &str = "supercargo.dev/fault";

/// The annotation that says how many seconds pass from the moment a pod has its node until it runs.
pub const START_SECONDS: &str = "supercargo.dev/start-seconds";

/// The annotation that says after how many seconds the containers of a pod end. The start of a container is known to the
/// second, so it may be up to one second less.
pub const RUN_SECONDS: &str = "supercargo.dev/run-seconds";

/// The annotation that says with which exit code the containers of a pod end; 0 if nothing is said.
pub const EXIT_CODE: &str = "supercargo.dev/exit-code";

/// How long things take on a simulated node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// From the moment a pod has its node until it runs, if it does not say.
    pub start: Duration,
    /// How long the containers of a pod run that is to end, if it does not say; without end if nothing is said here either.
    pub run: Option<Duration>,
    /// From the wish that a pod should end until it has, if it is given so much time.
    pub stop: Duration,
    /// Between two signs of life of a node.
    pub heartbeat: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            start: Duration::from_millis(300),
            run: None,
            stop: Duration::from_millis(300),
            heartbeat: Duration::from_secs(10),
        }
    }
}
