//! Pods that wait for drivers' own controllers. Kubernetes measures nothing of this, so that the name is ours.

use super::family::{Family, Named, Registry};
use super::series::Gauge;

/// Pods that wait for drivers' controllers.
pub struct Negotiations {
    pods: Family<Gauge>,
}

impl Negotiations {
    pub(super) fn new(registry: &mut Registry) -> Self {
        Self {
            pods: registry.gauge(Named {
                name: "supercargo_scheduler_negotiating_pods",
                help: "Number of pods that wait for a driver's controller, by what they wait for: information or allocation.",
                labels: &["awaits", "driver"],
            }),
        }
    }

    /// So many pods wait for this of a driver.
    pub fn waiting(&self, awaits: &str, driver: &str, pods: usize) {
        self.pods.with(&[awaits, driver]).set(i64::try_from(pods).unwrap_or(i64::MAX));
    }
}
