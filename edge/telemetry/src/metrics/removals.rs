//! Pods that controllers delete: because of taints, and those that nobody would have ended.

use std::time::Duration;

use super::family::{Family, Named, Registry};
use super::series::{Counter, Histogram};

/// Pods that controllers delete.
pub struct Removals {
    by_device: Evictions,
    by_node: Evictions,
    forced: Family<Counter>,
    failed: Family<Counter>,
}

struct Evictions {
    count: Family<Counter>,
    late: Family<Histogram>,
}

const LATE_SECONDS: [f64; 12] = [0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 120.0, 180.0, 240.0];

impl Removals {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let mut evictions = |count, late, help| Evictions {
            count: registry.counter(Named { name: count, help, labels: &[] }),
            late: registry.seconds(
                Named {
                    name: late,
                    help: "Delay between the eviction time of a pod and its deletion, in seconds.",
                    labels: &[],
                },
                &LATE_SECONDS,
            ),
        };
        Self {
            by_device: evictions(
                "device_taint_eviction_controller_pod_deletions_total",
                "device_taint_eviction_controller_pod_deletion_duration_seconds",
                "Number of pods evicted because of a device taint.",
            ),
            by_node: evictions(
                "taint_eviction_controller_pod_deletions_total",
                "taint_eviction_controller_pod_deletion_duration_seconds",
                "Number of pods evicted because of a node taint.",
            ),
            forced: registry.counter(Named {
                name: "pod_gc_collector_force_delete_pods_total",
                help: "Number of pods deleted by pod garbage collection.",
                labels: &["namespace", "reason"],
            }),
            failed: registry.counter(Named {
                name: "pod_gc_collector_force_delete_pod_errors_total",
                help: "Number of errors of pod garbage collection.",
                labels: &["namespace", "reason"],
            }),
        }
    }

    /// A pod was deleted because of a taint of a device, so long after its time.
    pub fn by_device(&self, late: Duration) {
        self.by_device.one(late);
    }

    /// A pod was deleted because of a taint of its node, so long after its time.
    pub fn by_node(&self, late: Duration) {
        self.by_node.one(late);
    }

    /// A pod was to be removed because nobody would have ended it.
    pub fn forced(&self, namespace: &str, reason: &str, done: bool) {
        self.forced.with(&[namespace, reason]).one();
        if !done {
            self.failed.with(&[namespace, reason]).one();
        }
    }
}

impl Evictions {
    fn one(&self, late: Duration) {
        self.count.with(&[]).one();
        self.late.with(&[]).took(late);
    }
}
