//! Pods that make way for others.

use std::time::Duration;

use super::family::{Family, Named, Registry, growing};
use super::labels::{Label, Preemptor, Status};
use super::series::{Counter, Histogram};

/// Pods that make way for others.
pub struct Preemption {
    attempts: Counter,
    victims: Histogram,
    group_attempts: Family<Counter>,
    group_victims: Histogram,
    disruptions: Family<Histogram>,
    execution: Family<Histogram>,
    violations: Family<Counter>,
}

impl Preemption {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let attempts = Named {
            name: "scheduler_preemption_attempts_total",
            help: "Number of preemption attempts for pods.",
            labels: &[],
        };
        let victims = Named {
            name: "scheduler_preemption_victims",
            help: "Number of victims of a preemption by a pod.",
            labels: &[],
        };
        let group_victims = Named {
            name: "scheduler_workload_preemption_victims",
            help: "Number of victims of a preemption by a pod group.",
            labels: &[],
        };
        let to_a_thousand = growing(1.0, 2.0, 11);
        let milliseconds = growing(0.001, 2.0, 16);
        Self {
            attempts: registry.counter(attempts).with(&[]),
            victims: registry.amounts(victims, &growing(1.0, 2.0, 7)).with(&[]),
            group_attempts: registry.counter(Named {
                name: "scheduler_workload_preemption_attempts_total",
                help: "Number of preemption attempts for pod groups, by result.",
                labels: &["result"],
            }),
            group_victims: registry.amounts(group_victims, &to_a_thousand).with(&[]),
            disruptions: registry.amounts(
                Named {
                    name: "scheduler_preemption_workload_disruptions",
                    help: "Number of preempted units: single pods, or groups that are disrupted as a whole.",
                    labels: &["preemptor"],
                },
                &to_a_thousand,
            ),
            execution: registry.seconds(
                Named {
                    name: "scheduler_preemption_execution_duration_seconds",
                    help: "Latency of evicting one preemption victim, in seconds.",
                    labels: &["preemptor", "result"],
                },
                &milliseconds,
            ),
            violations: registry.counter(Named {
                name: "scheduler_preemption_pdb_violations_total",
                help: "Number of PodDisruptionBudget violations by preemption.",
                labels: &["preemptor"],
            }),
        }
    }

    /// It was tried to find pods that make way for a pod or a group.
    pub fn attempt(&self, preemptor: Preemptor, status: Status) {
        match preemptor {
            Preemptor::Pod => self.attempts.one(),
            Preemptor::PodGroup => self.group_attempts.with(&[status.text()]).one(),
        }
    }

    /// So many pods make way, in so many units, against so many disruption budgets.
    pub fn victims(&self, preemptor: Preemptor, pods: u64, units: u64, violations: u64) {
        match preemptor {
            Preemptor::Pod => self.victims.amount(pods),
            Preemptor::PodGroup => self.group_victims.amount(pods),
        }
        self.disruptions.with(&[preemptor.text()]).amount(units);
        if violations > 0 {
            self.violations.with(&[preemptor.text()]).add(violations);
        }
    }

    /// A pod that makes way was asked to go, or asking it failed.
    pub fn executed(&self, preemptor: Preemptor, success: bool, took: Duration) {
        let result = if success { "success" } else { "error" };
        self.execution.with(&[preemptor.text(), result]).took(took);
    }
}
