//! Requests to the API server, as every client of Kubernetes counts them.

use std::time::Duration;

use super::family::{Family, Named, Registry};
use super::series::{Counter, Histogram};

/// Requests to the API server.
pub struct Requests {
    requests: Family<Counter>,
    latencies: Family<Histogram>,
    delays: Family<Histogram>,
}

const SECONDS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];

impl Requests {
    pub(super) fn new(registry: &mut Registry) -> Self {
        Self {
            requests: registry.counter(Named {
                name: "rest_client_requests_total",
                help: "Requests to the API server, by status code, method and host.",
                labels: &["code", "method", "host"],
            }),
            latencies: registry.seconds(
                Named {
                    name: "rest_client_request_duration_seconds",
                    help: "How long requests to the API server took.",
                    labels: &["verb", "host"],
                },
                &SECONDS,
            ),
            delays: registry.seconds(
                Named {
                    name: "rest_client_rate_limiter_duration_seconds",
                    help: "How long requests were held back by our own limit.",
                    labels: &["verb", "host"],
                },
                &SECONDS,
            ),
        }
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
