//! Writes to the API server that are under way, and what came of them.

use std::time::Duration;

use super::family::{Family, Named, Registry, growing};
use super::series::{Counter, Gauge, Histogram};

/// Writes to the API server.
pub struct Writes {
    calls: Family<Counter>,
    durations: Family<Histogram>,
    pending: Family<Gauge>,
}

impl Writes {
    pub(super) fn new(registry: &mut Registry) -> Self {
        Self {
            calls: registry.counter(Named {
                name: "scheduler_async_api_call_execution_total",
                help: "Number of completed API writes, by purpose.",
                labels: &["call_type", "result"],
            }),
            durations: registry.seconds(
                Named {
                    name: "scheduler_async_api_call_execution_duration_seconds",
                    help: "Latency of API writes, in seconds.",
                    labels: &["call_type", "result"],
                },
                &growing(0.001, 2.0, 15),
            ),
            pending: registry.gauge(Named {
                name: "scheduler_pending_async_api_calls",
                help: "Number of queued or unanswered API writes.",
                labels: &["call_type"],
            }),
        }
    }

    /// A write such as `pod_binding` or `pod_status_patch` waits to be sent.
    pub fn submitted(&self, call: &str) {
        self.pending.with(&[call]).add(1);
    }

    /// A write that was submitted was answered.
    pub fn settled(&self, call: &str, success: bool, took: Duration) {
        let values = [call, if success { "success" } else { "error" }];
        self.pending.with(&[call]).add(-1);
        self.calls.with(&values).one();
        self.durations.with(&values).took(took);
    }
}
