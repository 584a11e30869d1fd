//! Pods that were made to go, by the controllers that made them.

use std::time::Duration;

use super::family::{Family, Named, Registry};
use super::series::{Counter, Histogram};

/// Up to these many seconds after its time a pod was deleted.
const LATE: [f64; 12] = [0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 120.0, 180.0, 240.0];

/// Pods that were evicted on behalf of a controller.
pub struct Evictions {
    deletions: Family<Counter>,
    durations: Family<Histogram>,
}

/// Pods that were removed because nobody would have ended them.
pub struct Removals {
    tried: Family<Counter>,
    failed: Family<Counter>,
}

impl Evictions {
    pub(super) fn by_device_taints(registry: &mut Registry) -> Self {
        let deletions = "device_taint_eviction_controller_pod_deletions_total";
        Self::new(registry, deletions, "device_taint_eviction_controller_pod_deletion_duration_seconds")
    }

    pub(super) fn by_node_taints(registry: &mut Registry) -> Self {
        let deletions = "taint_eviction_controller_pod_deletions_total";
        Self::new(registry, deletions, "taint_eviction_controller_pod_deletion_duration_seconds")
    }

    fn new(registry: &mut Registry, deletions: &'static str, durations: &'static str) -> Self {
        Self {
            deletions: registry.counter(Named {
                name: deletions,
                help: "Pods that were deleted because of a taint.",
                labels: &[],
            }),
            durations: registry.seconds(
                Named {
                    name: durations,
                    help: "How long after its time a pod was deleted because of a taint.",
                    labels: &[],
                },
                &LATE,
            ),
        }
    }

    /// A pod was deleted so long after its time.
    pub fn evicted(&self, late: Duration) {
        self.deletions.with(&[]).one();
        self.durations.with(&[]).took(late);
    }
}

impl Removals {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let labels = &["namespace", "reason"];
        Self {
            tried: registry.counter(Named {
                name: "pod_gc_collector_force_delete_pods_total",
                help: "Pods that nobody would have ended and that were to be removed.",
                labels,
            }),
            failed: registry.counter(Named {
                name: "pod_gc_collector_force_delete_pod_errors_total",
                help: "Pods that nobody would have ended and that could not be removed.",
                labels,
            }),
        }
    }

    /// A pod was removed, or could not be.
    pub fn removed(&self, namespace: &str, reason: &str, is_done: bool) {
        self.tried.with(&[namespace, reason]).one();
        if !is_done {
            self.failed.with(&[namespace, reason]).one();
        }
    }
}
