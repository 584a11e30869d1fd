//! Requests that a command sends to the API server, as metrics and, at level 6, as lines of its log.

use std::sync::Arc;

use client::{Hearer, Requests, Sent};
use telemetry::metrics::Exposition;
use tracing::trace;

/// Counts requests.
struct Counted(Arc<dyn Exposition>);

/// Has requests counted among these metrics.
pub(crate) fn counted(metrics: Arc<dyn Exposition>) -> Requests {
    Requests::heard_by(Arc::new(Counted(metrics)))
}

impl Hearer for Counted {
    fn sent(&self, request: &Sent<'_>) {
        let Sent { method, server, path, code, took, held_back } = *request;
        let host = server.split_once("://").map_or(server, |(_, host)| host);
        let counts = self.0.requests();
        counts.request(code, method, host, took);
        counts.held_back(method, host, held_back);
        trace!(method, path, code, ?took, "request");
    }
}
