//! Pods that wait, what moves them, and what the changes cost that arrive from the cluster.

use std::time::Duration;

use super::family::{Family, Named, Registry, growing};
use super::labels::{Entity, Label, Queue};
use super::series::{Counter, Gauge, Histogram};

/// Pods and groups that wait.
pub struct Queues {
    pending: Vec<Gauge>,
    entities: Family<Gauge>,
    incoming: Family<Counter>,
    incoming_entities: Family<Counter>,
    handling: Family<Histogram>,
}

/// How many pods wait where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// For their turn.
    pub active: usize,
    /// For their patience to end.
    pub backoff: usize,
    /// For something to change.
    pub unschedulable: usize,
    /// For their gates to be lifted.
    pub gated: usize,
    /// For the rest of their group.
    pub incomplete: usize,
    /// For the turn of their group.
    pub pending: usize,
}

impl Pending {
    fn of(&self, queue: Queue) -> usize {
        match queue {
            Queue::Active => self.active,
            Queue::Backoff => self.backoff,
            Queue::Unschedulable => self.unschedulable,
            Queue::Gated => self.gated,
            Queue::Incomplete => self.incomplete,
            Queue::Pending => self.pending,
        }
    }
}

impl Queues {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let pending = registry.gauge(Named {
            name: "scheduler_pending_pods",
            help: "Number of pending pods, by queue: active, backoff, unschedulable, gated, incomplete (members of \
                the group are missing) or pending (in a queued group).",
            labels: &["queue"],
        });
        let tenths = growing(0.0001, 2.0, 12);
        Self {
            pending: Queue::ALL.iter().map(|queue| pending.with(&[queue.text()])).collect(),
            entities: registry.gauge(Named {
                name: "scheduler_queued_entities",
                help: "Number of pending scheduling units: pods without a group, and groups.",
                labels: &["queue", "type"],
            }),
            incoming: registry.counter(Named {
                name: "scheduler_queue_incoming_pods_total",
                help: "Number of pods added to a scheduling queue, by event; a pod group counts once.",
                labels: &["queue", "event"],
            }),
            incoming_entities: registry.counter(Named {
                name: "scheduler_queue_incoming_entities_total",
                help: "Number of scheduling units (pods without a group, and groups) added to a scheduling queue, by event.",
                labels: &["queue", "event", "type"],
            }),
            handling: registry.seconds(
                Named {
                    name: "scheduler_event_handling_duration_seconds",
                    help: "Latency of handling an event, in seconds.",
                    labels: &["event"],
                },
                &tenths,
            ),
        }
    }

    /// So many pods wait now.
    pub fn pending(&self, counts: Pending) {
        for (queue, gauge) in Queue::ALL.iter().zip(&self.pending) {
            gauge.set(i64::try_from(counts.of(*queue)).unwrap_or(i64::MAX));
        }
    }

    /// So many pods of no group, or groups, are in a queue now.
    pub fn entities(&self, queue: Queue, entity: Entity, count: usize) {
        let gauge = self.entities.with(&[queue.text(), entity.text()]);
        gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// So many pods of no group, or groups, came to a queue because of an event such as `UnscheduledPodAdd` or
    /// `ScheduleAttemptFailure`.
    pub fn queued(&self, queue: Queue, event: &str, entity: Entity, count: u64) {
        self.incoming.with(&[queue.text(), event]).add(count);
        self.incoming_entities.with(&[queue.text(), event, entity.text()]).add(count);
    }

    /// A change such as `NodeUpdate` was taken in.
    pub fn handled(&self, event: &str, took: Duration) {
        self.handling.with(&[event]).took(took);
    }
}
