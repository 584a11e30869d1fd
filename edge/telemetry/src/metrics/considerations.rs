//! Questions that take long to decide. Kubernetes measures nothing of this, so that the names are ours.

use std::time::Duration;

use super::family::{Named, Registry, growing};
use super::series::{Gauge, Histogram};

/// Questions that take long to decide.
pub struct Considerations {
    under_way: Gauge,
    duration: Histogram,
}

impl Considerations {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let under_way = Named {
            name: "supercargo_scheduler_considerations",
            help: "Number of pods and groups with a long scheduling decision in progress.",
            labels: &[],
        };
        let duration = Named {
            name: "supercargo_scheduler_consideration_duration_seconds",
            help: "Latency of long scheduling decisions, in seconds.",
            labels: &[],
        };
        Self {
            under_way: registry.gauge(under_way).with(&[]),
            duration: registry.seconds(duration, &growing(0.001, 2.0, 13)).with(&[]),
        }
    }

    /// So many are under way.
    pub fn under_way(&self, count: usize) {
        self.under_way.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// One is decided.
    pub fn decided(&self, took: Duration) {
        self.duration.took(took);
    }
}
