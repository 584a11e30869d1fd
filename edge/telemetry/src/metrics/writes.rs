//! Requests to the API server: writes that are under way, and what came of each request.

use std::time::Duration;

use super::family::{Family, Named, Registry, growing};
use super::series::{Counter, Gauge, Histogram};

/// Requests to the API server.
pub struct Writes {
    calls: Family<Counter>,
    durations: Family<Histogram>,
    pending: Family<Gauge>,
    requests: Family<Counter>,
    latencies: Family<Histogram>,
    delays: Family<Histogram>,
}

const CLIENT_SECONDS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];

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
            requests: registry.counter(Named {
                name: "rest_client_requests_total",
                help: "Number of HTTP requests to the API server, by status code, method and host.",
                labels: &["code", "method", "host"],
            }),
            latencies: registry.seconds(
                Named {
                    name: "rest_client_request_duration_seconds",
                    help: "Latency of requests to the API server, in seconds.",
                    labels: &["verb", "host"],
                },
                &CLIENT_SECONDS,
            ),
            delays: registry.seconds(
                Named {
                    name: "rest_client_rate_limiter_duration_seconds",
                    help: "Delay of requests by client-side rate limiting, in seconds.",
                    labels: &["verb", "host"],
                },
                &CLIENT_SECONDS,
            ),
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

    /// A request was answered with a status code, or with none, which is 0.
    pub fn request(&self, code: u16, method: &str, host: &str, took: Duration) {
        let mut digits = [0; 3];
        self.requests.with(&[code_text(code, &mut digits), method, host]).one();
        self.latencies.with(&[method, host]).took(took);
    }

    /// A request was held back by our own limit.
    pub fn held_back(&self, method: &str, host: &str, waited: Duration) {
        self.delays.with(&[method, host]).took(waited);
    }
}

/// The text of a status code, without allocating. Kubernetes writes `<error>` where there was no answer.
fn code_text(code: u16, digits: &mut [u8; 3]) -> &str {
    if !(100..1000).contains(&code) {
        return "<error>";
    }
    for (digit, power) in digits.iter_mut().zip([100, 10, 1]) {
        *digit = b'0' + u8::try_from(code / power % 10).expect("a digit is below ten");
    }
    std::str::from_utf8(digits).expect("digits are text")
}
