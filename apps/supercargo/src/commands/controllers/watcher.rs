//! What controllers do, as lines of their log, as metrics, and as answers about their health.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use telemetry::metrics::{ClaimLabels, ControllerMetrics};
use telemetry::surface::{Check, Checks, Flag, Pulse};
use tracing::{debug, info, warn};
use upkeep::{ClaimSource, ClaimState, Evictor, Listener, Notice};

use crate::troubles::Troubles;

/// After this long without a sign the loop counts as stuck: it gives one each second.
const STUCK_AFTER: Duration = Duration::from_secs(60);

/// Turns notices into logs, metrics and health checks.
pub(crate) struct Watcher {
    metrics: Arc<ControllerMetrics>,
    /// The lease, if a leader is elected.
    lease: Option<String>,
    /// The loop still turns.
    alive: Pulse,
    synced: Flag,
    /// Controllers whose caches are not synced yet.
    unready: Mutex<BTreeSet<&'static str>>,
    troubles: Troubles,
}

impl Watcher {
    /// A watcher of controllers by name, and the checks that tell what it knows.
    pub(crate) fn new(
        metrics: Arc<ControllerMetrics>,
        lease: Option<String>,
        controllers: Vec<&'static str>,
        troubles: Troubles,
    ) -> (Watcher, Checks) {
        let (synced, synced_flag) = Check::flag("informer-sync", "the initial list is not complete yet");
        let (alive, pulse) = Check::pulse("loop", STUCK_AFTER);
        let checks =
            Checks { healthz: vec![alive.clone()], livez: vec![alive.clone()], readyz: vec![alive, synced] };
        if controllers.is_empty() {
            synced_flag.raise();
        }
        let unready = Mutex::new(controllers.into_iter().collect());
        (Watcher { metrics, lease, alive: pulse, synced: synced_flag, unready, troubles }, checks)
    }

    fn leads(&self, leads: bool) {
        if let Some(lease) = &self.lease {
            self.metrics.leads(lease, leads);
        }
    }

    fn counted(&self, state: Option<ClaimState>, change: i64) {
        let Some(state) = state else { return };
        let source = match state.source {
            ClaimSource::Somebody => "",
            ClaimSource::Template => "resource_claim_template",
            ClaimSource::ExtendedResource => "extended_resource",
        };
        let labels = ClaimLabels { allocated: state.allocated, admin_access: state.admin_access, source };
        self.metrics.claims.there(&labels, change);
    }

    /// A controller cache synced.
    fn ready(&self, controller: &'static str) {
        let mut unready = self.unready.lock();
        unready.remove(controller);
        if unready.is_empty() {
            self.synced.raise();
        }
        debug!(controller, "cache synced");
    }
}

impl Listener for Watcher {
    fn hear(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Standby { leader } => {
                // Whoever stands by is as ready as can be, and has nothing to give a sign with.
                self.alive.rest();
                self.synced.raise();
                self.leads(false);
                info!(leader = leader.unwrap_or("unknown"), "standing by");
            }
            Notice::Leading => {
                if !self.unready.lock().is_empty() {
                    self.synced.lower();
                }
                self.leads(true);
                info!("leading");
            }
            Notice::ElectionTrouble { why } if !self.troubles.is_news(why) => {
                debug!(error = why, "leader election failed; retrying");
            }
            Notice::ElectionTrouble { why } => warn!(error = why, "leader election failed; retrying"),
            Notice::Beat => self.alive.beat(),
            Notice::Ready { controller } => self.ready(controller),
            Notice::NotServed { api_version, kind } => {
                info!(api_version, kind, "the API server does not serve this kind; ignoring it");
            }
            Notice::Trouble { why, is_brief } if *is_brief || !self.troubles.is_news(why) => {
                debug!(error = why, "watch restarted");
            }
            Notice::Trouble { why, .. } => warn!(error = why, "watch failed; retrying"),
            Notice::Failed { controller, subject, why, .. } if self.troubles.is_outage() => {
                debug!(controller, object = subject, error = why, "failed; retrying");
            }
            Notice::Failed { controller, subject, why, retry_in } => match retry_in {
                Some(retry_in) => {
                    let retry_ms = retry_in.as_millis();
                    warn!(controller, object = subject, error = why, retry_ms, "failed; retrying");
                }
                None => warn!(
                    controller,
                    object = subject,
                    error = why,
                    "failed; waiting for the object to change"
                ),
            },
            Notice::Added { queue } => self.metrics.queues.added(queue),
            Notice::Retried { queue } => self.metrics.queues.retried(queue),
            Notice::Worked { queue, took } => self.metrics.queues.worked(queue, *took),
            Notice::Waiting { queue, depth } => self.metrics.queues.depth(queue, *depth),
            Notice::ClaimMade { is_made, admin_access, owner_group, owner_kind } => {
                self.metrics.claims.made(*is_made, *admin_access, owner_group, owner_kind);
            }
            Notice::Evicted { evictor: Evictor::DeviceTaint, late } => self.metrics.removals.by_device(*late),
            Notice::Evicted { evictor: Evictor::NodeTaint, late } => self.metrics.removals.by_node(*late),
            Notice::Removed { namespace, reason, done } => {
                self.metrics.removals.forced(namespace, reason.label(), *done);
            }
            Notice::ClaimCounted { before, after } => {
                self.counted(*before, -1);
                self.counted(*after, 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use telemetry::metrics::Exposition;

    use super::*;

    #[test]
    fn what_happens_to_claims_and_queues_is_counted() {
        let metrics = Arc::new(ControllerMetrics::default());
        let (watcher, _) =
            Watcher::new(metrics.clone(), Some("lease".to_owned()), vec!["c"], Troubles::default());
        let state = |allocated| {
            Some(ClaimState { allocated, admin_access: false, source: ClaimSource::ExtendedResource })
        };
        for notice in [
            Notice::Standby { leader: None },
            Notice::Leading,
            Notice::Ready { controller: "c" },
            Notice::ClaimMade { is_made: true, admin_access: false, owner_group: "", owner_kind: "Pod" },
            Notice::ClaimCounted { before: None, after: state(false) },
            Notice::ClaimCounted { before: state(false), after: state(true) },
            Notice::Added { queue: "q" },
        ] {
            watcher.hear(&notice);
        }
        let text = metrics.text();
        let there = "dynamic_resource_allocation_resource_claims";
        for line in [
            "leader_election_master_status{name=\"lease\"} 1".to_owned(),
            "resource_controller_create_total 1".to_owned(),
            "workqueue_adds_total{name=\"q\"} 1".to_owned(),
            format!("{there}{{allocated=\"false\",admin_access=\"false\",source=\"extended_resource\"}} 0"),
            format!("{there}{{allocated=\"true\",admin_access=\"false\",source=\"extended_resource\"}} 1"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
