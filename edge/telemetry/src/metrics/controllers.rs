//! What controllers count and measure, under the names of Kubernetes' controller manager.
//!
//! Claims that are made are counted under three names: the one of today, and the two that KEP-3063 gave them.

use std::time::Duration;

use super::family::{Family, Named, Registry, growing};
use super::removals::Removals;
use super::series::{Counter, Gauge, Histogram};
use super::{Described, Exposition, Requests, usage};

/// Everything that controllers count and measure. Made once, shared by reference or in an `Arc`.
pub struct ControllerMetrics {
    registry: Registry,
    /// What waits to be looked at, and how long it takes.
    pub queues: WorkQueues,
    /// Claims that are there, and that are made.
    pub claims: Claims,
    /// Pods that are deleted.
    pub removals: Removals,
    requests: Requests,
    leader: Family<Gauge>,
}

/// What waits to be looked at, by the name of a queue.
pub struct WorkQueues {
    depth: Family<Gauge>,
    adds: Family<Counter>,
    retries: Family<Counter>,
    durations: Family<Histogram>,
}

/// Claims that are there, and that are made.
pub struct Claims {
    creates: Family<Counter>,
    attempts: Family<Counter>,
    failures: Family<Counter>,
    there: Family<Gauge>,
}

/// What tells claims apart that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimLabels<'a> {
    /// It has devices.
    pub allocated: bool,
    /// It asks for devices that others use.
    pub admin_access: bool,
    /// What it was made from: `resource_claim_template`, `extended_resource`, or nothing if by somebody.
    pub source: &'a str,
}

impl Default for ControllerMetrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        Self {
            queues: WorkQueues::new(&mut registry),
            claims: Claims::new(&mut registry),
            removals: Removals::new(&mut registry),
            requests: Requests::new(&mut registry),
            leader: registry.gauge(Named {
                name: "leader_election_master_status",
                help: "Leader election status: 1 if this replica is the leader, 0 if it stands by.",
                labels: &["name"],
            }),
            registry,
        }
    }
}

impl ControllerMetrics {
    /// This replica leads, or stands by, for the lease of this name.
    pub fn leads(&self, lease: &str, leads: bool) {
        self.leader.with(&[lease]).set(i64::from(leads));
    }
}

impl Exposition for ControllerMetrics {
    fn requests(&self) -> &Requests {
        &self.requests
    }

    fn text(&self) -> String {
        let mut out = self.registry.text();
        usage::write(&mut out);
        out
    }

    fn described(&self) -> Vec<Described> {
        self.registry.described()
    }
}

impl WorkQueues {
    fn new(registry: &mut Registry) -> Self {
        Self {
            depth: registry.gauge(Named {
                name: "workqueue_depth",
                help: "Current depth of the work queue.",
                labels: &["name"],
            }),
            adds: registry.counter(Named {
                name: "workqueue_adds_total",
                help: "Number of additions to the work queue.",
                labels: &["name"],
            }),
            retries: registry.counter(Named {
                name: "workqueue_retries_total",
                help: "Number of retries of the work queue.",
                labels: &["name"],
            }),
            durations: registry.seconds(
                Named {
                    name: "workqueue_work_duration_seconds",
                    help: "Time to process an item of the work queue, in seconds.",
                    labels: &["name"],
                },
                &growing(10e-9, 10.0, 10),
            ),
        }
    }

    /// So many objects wait now.
    pub fn depth(&self, queue: &str, depth: usize) {
        self.depth.with(&[queue]).set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    /// An object came.
    pub fn added(&self, queue: &str) {
        self.adds.with(&[queue]).one();
    }

    /// An object is looked at again.
    pub fn retried(&self, queue: &str) {
        self.retries.with(&[queue]).one();
    }

    /// Work on an object took so long.
    pub fn worked(&self, queue: &str, took: Duration) {
        self.durations.with(&[queue]).took(took);
    }
}

impl Claims {
    fn new(registry: &mut Registry) -> Self {
        Self {
            creates: registry.counter(Named {
                name: "dynamic_resource_allocation_resourceclaim_creates_total",
                help: "Number of ResourceClaims created, by status, admin access and owner.",
                labels: &["status", "admin_access", "owner_api_group", "owner_api_kind"],
            }),
            attempts: registry.counter(Named {
                name: "resource_controller_create_total",
                help: "Number of attempts to create ResourceClaims from templates.",
                labels: &[],
            }),
            failures: registry.counter(Named {
                name: "resource_controller_create_failures_total",
                help: "Number of failed attempts to create ResourceClaims from templates.",
                labels: &[],
            }),
            there: registry.gauge(Named {
                name: "dynamic_resource_allocation_resource_claims",
                help: "Number of ResourceClaims, by allocation state, admin access and source.",
                labels: &["allocated", "admin_access", "source"],
            }),
        }
    }

    /// A claim was made for an object of this API group and kind, or could not be made.
    pub fn made(&self, is_made: bool, admin_access: bool, owner_group: &str, owner_kind: &str) {
        let status = if is_made { "success" } else { "failure" };
        self.creates.with(&[status, boolean(admin_access), owner_group, owner_kind]).one();
        self.attempts.with(&[]).one();
        if !is_made {
            self.failures.with(&[]).one();
        }
    }

    /// There is one more such claim, or one less.
    pub fn there(&self, labels: &ClaimLabels<'_>, change: i64) {
        let values = [boolean(labels.allocated), boolean(labels.admin_access), labels.source];
        self.there.with(&values).add(change);
    }
}

fn boolean(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_counted_under_every_name_that_they_have_had() {
        let metrics = ControllerMetrics::default();
        metrics.claims.made(true, false, "", "Pod");
        metrics.claims.made(false, true, "scheduling.k8s.io", "PodGroup");
        let source = "resource_claim_template";
        let labels = |allocated| ClaimLabels { allocated, admin_access: false, source };
        metrics.claims.there(&labels(false), 1);
        metrics.claims.there(&labels(false), -1);
        metrics.claims.there(&labels(true), 1);
        metrics.queues.added("resource_claim");
        metrics.queues.depth("resource_claim", 3);
        metrics.queues.retried("resource_claim");
        metrics.queues.worked("resource_claim", Duration::from_millis(2));
        metrics.leads("supercargo-controllers", true);
        metrics.removals.by_device(Duration::from_millis(1));
        metrics.removals.forced("ns", "orphaned", false);
        let text = metrics.text();
        let creates = "dynamic_resource_allocation_resourceclaim_creates_total";
        let there = "dynamic_resource_allocation_resource_claims";
        for line in [
            format!(
                "{creates}{{status=\"success\",admin_access=\"false\",owner_api_group=\"\",owner_api_kind=\"Pod\"}} 1"
            ),
            format!(
                "{creates}{{status=\"failure\",admin_access=\"true\",owner_api_group=\"scheduling.k8s.io\",owner_api_kind=\"PodGroup\"}} 1"
            ),
            "resource_controller_create_total 2".to_owned(),
            "resource_controller_create_failures_total 1".to_owned(),
            format!("{there}{{allocated=\"false\",admin_access=\"false\",source=\"{source}\"}} 0"),
            format!("{there}{{allocated=\"true\",admin_access=\"false\",source=\"{source}\"}} 1"),
            "workqueue_adds_total{name=\"resource_claim\"} 1".to_owned(),
            "workqueue_depth{name=\"resource_claim\"} 3".to_owned(),
            "workqueue_retries_total{name=\"resource_claim\"} 1".to_owned(),
            "workqueue_work_duration_seconds_count{name=\"resource_claim\"} 1".to_owned(),
            "device_taint_eviction_controller_pod_deletions_total 1".to_owned(),
            "device_taint_eviction_controller_pod_deletion_duration_seconds_count 1".to_owned(),
            "pod_gc_collector_force_delete_pod_errors_total{namespace=\"ns\",reason=\"orphaned\"} 1"
                .to_owned(),
            "leader_election_master_status{name=\"supercargo-controllers\"} 1".to_owned(),
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
