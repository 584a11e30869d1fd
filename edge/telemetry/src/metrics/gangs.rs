//! Groups of pods that are placed together, and the placements that were looked at for them.

use std::time::Duration;

use super::family::{Family, Named, Registry, growing};
use super::labels::{GangResult, Label};
use super::series::{Counter, Histogram};

/// Groups of pods that are placed together.
pub struct Gangs {
    attempts: Family<Counter>,
    duration: Family<Histogram>,
    algorithm: Histogram,
    generated: Family<Counter>,
    evaluations: Family<Counter>,
    evaluation: Family<Histogram>,
}

impl Gangs {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let milliseconds = growing(0.001, 2.0, 15);
        let algorithm = Named {
            name: "scheduler_podgroup_scheduling_algorithm_duration_seconds",
            help: "Latency of choosing nodes for a pod group, in seconds.",
            labels: &[],
        };
        Self {
            attempts: registry.counter(Named {
                name: "scheduler_podgroup_schedule_attempts_total",
                help: "Number of attempts to schedule pod groups, by result.",
                labels: &["result", "profile"],
            }),
            duration: registry.seconds(
                Named {
                    name: "scheduler_podgroup_scheduling_attempt_duration_seconds",
                    help: "Latency of attempts to schedule pod groups, in seconds.",
                    labels: &["result", "profile"],
                },
                &milliseconds,
            ),
            algorithm: registry.seconds(algorithm, &milliseconds).with(&[]),
            generated: registry.counter(Named {
                name: "scheduler_generated_placements_total",
                help: "Number of candidate placements for pod groups.",
                labels: &["profile"],
            }),
            evaluations: registry.counter(Named {
                name: "scheduler_placement_evaluations_total",
                help: "Number of placements evaluated for pod groups, by result.",
                labels: &["result", "profile"],
            }),
            evaluation: registry.seconds(
                Named {
                    name: "scheduler_placement_evaluation_duration_seconds",
                    help: "Latency of evaluating one placement for a pod group, in seconds.",
                    labels: &["result", "profile"],
                },
                &milliseconds,
            ),
        }
    }

    /// An attempt to schedule a group ended.
    pub fn attempt(&self, result: GangResult, profile: &str, took: Duration) {
        let values = [result.text(), profile];
        self.attempts.with(&values).one();
        self.duration.with(&values).took(took);
    }

    /// Nodes were chosen for a group, or none were found.
    pub fn algorithm(&self, took: Duration) {
        self.algorithm.took(took);
    }

    /// So many placements come into question for a group.
    pub fn generated(&self, profile: &str, placements: u64) {
        self.generated.with(&[profile]).add(placements);
    }

    /// A placement was tried for a group.
    pub fn tried(&self, fits: bool, profile: &str, took: Duration) {
        let values = [if fits { "feasible" } else { "infeasible" }, profile];
        self.evaluations.with(&values).one();
        self.evaluation.with(&values).took(took);
    }
}
