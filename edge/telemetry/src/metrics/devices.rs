//! Devices that are made ready after they were chosen: binding conditions.

use std::time::Duration;

use super::family::{Family, Named, Registry, growing};
use super::labels::{BindingOutcome, Label};
use super::series::{Counter, Histogram};

/// Devices that are made ready after they were chosen.
pub struct Devices {
    allocations: Family<Counter>,
    waits: Family<Histogram>,
    prebinds: Family<Histogram>,
}

impl Devices {
    pub(super) fn new(registry: &mut Registry) -> Self {
        Self {
            allocations: registry.counter(Named {
                name: "scheduler_dra_bindingconditions_allocations_total",
                help: "Number of allocations of devices with binding conditions, by result and driver.",
                labels: &["profile", "driver", "status"],
            }),
            waits: registry.seconds(
                Named {
                    name: "scheduler_dra_bindingconditions_wait_duration_seconds",
                    help: "Time that pods waited for the binding conditions of their devices, in seconds.",
                    labels: &["profile", "driver", "status"],
                },
                &growing(0.1, 2.0, 14),
            ),
            prebinds: registry.seconds(
                Named {
                    name: "scheduler_dra_bindingconditions_prebind_duration_seconds",
                    help: "Latency from the allocation of devices until the pod can be bound, in seconds.",
                    labels: &["status", "requires_bindingconditions"],
                },
                &growing(0.1, 2.0, 14),
            ),
        }
    }

    /// Waiting for devices of a driver ended.
    pub fn waited(&self, profile: &str, driver: &str, outcome: BindingOutcome, waited: Duration) {
        let values = [profile, driver, outcome.text()];
        self.allocations.with(&values).one();
        self.waits.with(&values).took(waited);
    }

    /// The devices of a pod are its own, or will not be, with or without conditions.
    pub fn prepared(&self, outcome: BindingOutcome, has_conditions: bool, took: Duration) {
        let required = if has_conditions { "true" } else { "false" };
        self.prebinds.with(&[outcome.text(), required]).took(took);
    }
}
