//! What a node counts and measures about claims and drivers, under the names of the kubelet.

use std::time::Duration;

use super::family::{Family, Named, Registry, ranging};
use super::series::{Counter, Gauge, Histogram};
use super::{Described, Exposition, Requests, usage};

/// The word for claims of whatever driver.
const ANY_DRIVER: &str = "<any>";

/// Everything that a node counts and measures. Made once, shared by reference or in an `Arc`.
pub struct NodeMetrics {
    registry: Registry,
    operations: Family<Histogram>,
    calls: Family<Histogram>,
    prepare_skips: Family<Counter>,
    unprepare_skips: Family<Counter>,
    in_use: Family<Gauge>,
    requests: Requests,
}

impl Default for NodeMetrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        // A call ends after 45 seconds.
        let bounds = ranging(0.1, 40.0, 15);
        Self {
            operations: registry.seconds(
                Named {
                    name: "dra_operations_duration_seconds",
                    help: "Latency of preparing or unpreparing all claims of a pod, in seconds.",
                    labels: &["operation_name", "is_error"],
                },
                &bounds,
            ),
            calls: registry.seconds(
                Named {
                    name: "dra_grpc_operations_duration_seconds",
                    help: "Latency of gRPC calls to DRA drivers, in seconds.",
                    labels: &["driver_name", "method_name", "grpc_status_code"],
                },
                &bounds,
            ),
            prepare_skips: registry.counter(Named {
                name: "dra_node_prepare_skips_total",
                help: "Number of skipped calls to prepare claims whose devices need none.",
                labels: &["driver_name"],
            }),
            unprepare_skips: registry.counter(Named {
                name: "dra_node_unprepare_skips_total",
                help: "Number of skipped calls to unprepare claims whose devices need none.",
                labels: &["driver_name"],
            }),
            in_use: registry.gauge(Named {
                name: "dra_resource_claims_in_use",
                help: "Number of prepared ResourceClaims, by driver; <any> counts all.",
                labels: &["driver_name"],
            }),
            requests: Requests::new(&mut registry),
            registry,
        }
    }
}

impl NodeMetrics {
    /// All claims of a pod were prepared or unprepared, or one was not.
    pub fn operated(&self, operation: &str, is_error: bool, took: Duration) {
        let is_error = if is_error { "true" } else { "false" };
        self.operations.with(&[operation, is_error]).took(took);
    }

    /// A driver was called.
    pub fn called(&self, driver: &str, method: &str, code: &str, took: Duration) {
        self.calls.with(&[driver, method, code]).took(took);
    }

    /// A driver does without a call to prepare a claim.
    pub fn skipped_prepare(&self, driver: &str) {
        self.prepare_skips.with(&[driver]).one();
    }

    /// A driver does without a call to unprepare a claim.
    pub fn skipped_unprepare(&self, driver: &str) {
        self.unprepare_skips.with(&[driver]).one();
    }

    /// How many claims are prepared now, of one driver or of whatever driver.
    pub fn in_use(&self, driver: Option<&str>, claims: usize) {
        let claims = i64::try_from(claims).unwrap_or(i64::MAX);
        self.in_use.with(&[driver.unwrap_or(ANY_DRIVER)]).set(claims);
    }
}

impl Exposition for NodeMetrics {
    fn requests(&self) -> &Requests {
        &self.requests
    }

    fn text(&self) -> String {
        let mut out = self.registry.text();
        usage::write(&mut out);
        out
    }

    fn described(&self) -> Vec<Described> {
        self.registry.described()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_are_those_of_the_kubelet() {
        let metrics = NodeMetrics::default();
        metrics.operated("PrepareResources", true, Duration::from_millis(120));
        metrics.called("gpu", "/v1/Prepare", "OK", Duration::from_secs(50));
        metrics.skipped_prepare("gpu");
        metrics.in_use(Some("gpu"), 2);
        metrics.in_use(None, 3);
        let text = metrics.text();
        for line in [
            "dra_operations_duration_seconds_count{operation_name=\"PrepareResources\",is_error=\"true\"} 1",
            "dra_grpc_operations_duration_seconds_bucket{driver_name=\"gpu\",method_name=\"/v1/Prepare\",grpc_status_code=\"OK\",le=\"0.1\"} 0",
            "dra_node_prepare_skips_total{driver_name=\"gpu\"} 1",
            "dra_resource_claims_in_use{driver_name=\"<any>\"} 3",
            "dra_resource_claims_in_use{driver_name=\"gpu\"} 2",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\nis not in\n{text}");
        }
        assert_eq!(text.matches("dra_operations_duration_seconds_bucket").count(), 16);
    }
}
