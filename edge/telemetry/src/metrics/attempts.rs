//! Attempts to schedule pods: how many, how long, and how long a pod took in all.

use std::time::Duration;

use super::family::{Family, Named, Registry, growing};
use super::series::{Counter, Histogram};
use super::slots::Slots;

/// Attempts to schedule pods.
pub struct Attempts {
    pub(super) total: Family<Counter>,
    pub(super) duration: Family<Histogram>,
    algorithm: Histogram,
    service: Family<Histogram>,
    services: Slots<Histogram>,
    needed: Histogram,
    after_flush: Counter,
}

/// From this many attempts on they share a label.
const ATTEMPTS_MANY: usize = 15;

impl Attempts {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let milliseconds = growing(0.001, 2.0, 15);
        let algorithm = Named {
            name: "scheduler_scheduling_algorithm_duration_seconds",
            help: "Latency of choosing a node for a pod, in seconds.",
            labels: &[],
        };
        let needed = Named {
            name: "scheduler_pod_scheduling_attempts",
            help: "Number of attempts to successfully schedule a pod.",
            labels: &[],
        };
        let after_flush = Named {
            name: "scheduler_pod_scheduled_after_flush_total",
            help: "Number of pods scheduled after they were retried because they had been unschedulable for too long.",
            labels: &[],
        };
        Self {
            total: registry.counter(Named {
                name: "scheduler_schedule_attempts_total",
                help: "Number of attempts to schedule pods, by result.",
                labels: &["result", "profile"],
            }),
            duration: registry.seconds(
                Named {
                    name: "scheduler_scheduling_attempt_duration_seconds",
                    help: "Latency of scheduling attempts (algorithm and binding), in seconds.",
                    labels: &["result", "profile"],
                },
                &milliseconds,
            ),
            algorithm: registry.seconds(algorithm, &milliseconds).with(&[]),
            service: registry.seconds(
                Named {
                    name: "scheduler_pod_scheduling_sli_duration_seconds",
                    help: "Latency of a pod from its first scheduling attempt until it is scheduled, in seconds, by \
                        number of attempts.",
                    labels: &["attempts"],
                },
                &growing(0.01, 2.0, 20),
            ),
            services: Slots::new(ATTEMPTS_MANY),
            needed: registry.amounts(needed, &growing(1.0, 2.0, 5)).with(&[]),
            after_flush: registry.counter(after_flush).with(&[]),
        }
    }

    /// A node was chosen for a pod, or none was found.
    pub fn algorithm(&self, took: Duration) {
        self.algorithm.took(took);
    }

    /// A pod was bound after so many attempts, and so long after the first of them began.
    pub fn bound(&self, attempts: u32, since_first_attempt: Duration) {
        self.needed.amount(u64::from(attempts));
        let place = usize::try_from(attempts).unwrap_or(usize::MAX).clamp(1, ATTEMPTS_MANY) - 1;
        let find = || match place + 1 {
            ATTEMPTS_MANY => self.service.with(&["15+"]),
            few => self.service.with(&[&few.to_string()]),
        };
        self.services.get(place, find).took(since_first_attempt);
    }

    /// A pod was bound that nothing had woken, but that was tried again because it had waited for too long.
    pub fn bound_after_flush(&self) {
        self.after_flush.one();
    }
}
