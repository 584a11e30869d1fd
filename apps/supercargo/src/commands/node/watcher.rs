//! What a node tells of itself, as lines of its log, as metrics, and as answers about its health.

use std::sync::Arc;
use std::time::Duration;

use kubelet::node::{Listener, Notice, Operation};
use telemetry::metrics::NodeMetrics;
use telemetry::surface::{Check, Checks, Flag, Pulse};
use tracing::{debug, warn};

use crate::troubles::Troubles;

/// After this long without a sign the loop counts as stuck: it gives one each second.
const STUCK_AFTER: Duration = Duration::from_secs(60);

/// Turns notices into logs, metrics and health checks.
pub(crate) struct Watcher {
    metrics: Arc<NodeMetrics>,
    alive: Pulse,
    synced: Flag,
    troubles: Troubles,
}

impl Watcher {
    /// A watcher, and the checks that tell what it knows.
    pub(crate) fn new(metrics: Arc<NodeMetrics>, troubles: Troubles) -> (Watcher, Checks) {
        let (synced, synced_flag) = Check::flag("pod-sync", "the pods of this node are not listed yet");
        let (alive, pulse) = Check::pulse("loop", STUCK_AFTER);
        let checks =
            Checks { healthz: vec![alive.clone()], livez: vec![alive.clone()], readyz: vec![alive, synced] };
        (Watcher { metrics, alive: pulse, synced: synced_flag, troubles }, checks)
    }
}

impl Listener for Watcher {
    fn hear(&self, notice: &Notice<'_>) {
        let metrics = &self.metrics;
        match *notice {
            Notice::Beat => self.alive.beat(),
            Notice::Ready => self.synced.raise(),
            Notice::Trouble { why } if self.troubles.is_news(why) => warn!("{why}"),
            Notice::Trouble { why } => debug!("{why}"),
            Notice::Operated { operation, is_error, took } => {
                let operation = match operation {
                    Operation::Prepare => "PrepareResources",
                    Operation::Unprepare => "UnprepareResources",
                };
                metrics.operated(operation, is_error, took);
            }
            Notice::Called { driver, method, code, took } => metrics.called(driver, method, code, took),
            Notice::Skipped { driver, operation: Operation::Prepare } => metrics.skipped_prepare(driver),
            Notice::Skipped { driver, operation: Operation::Unprepare } => metrics.skipped_unprepare(driver),
            Notice::InUse { driver, claims } => metrics.in_use(driver, claims),
        }
    }
}
