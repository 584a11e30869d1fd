//! Paths that are no resources: health, version, discovery, schemas, metrics.

use serde_json::{Value, json};

use crate::negotiate::{Accepted, Form};
use crate::respond::{self, Answer};
use crate::route::Query;
use crate::service::Service;
use crate::status::Failure;

type Answered = Result<Answer, Failure>;

/// Paths that need no user.
pub(crate) fn open_to_all(path: &str, query: &Query) -> Option<Answered> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["version"] => Some(Ok(json_answer(&version()))),
        ["healthz" | "livez" | "readyz"] if query.has("verbose") => {
            let name = parts[0];
            Some(Ok(respond::plain(
                200,
                "text/plain; charset=utf-8",
                format!("[+]ping ok\n[+]store ok\n{name} check passed\n"),
            )))
        }
        ["healthz" | "livez" | "readyz"] | ["healthz" | "livez" | "readyz", "ping" | "store" | "log"] => {
            Some(Ok(respond::plain(200, "text/plain; charset=utf-8", "ok")))
        }
        ["healthz" | "livez" | "readyz", _] => {
            Some(Ok(respond::plain(404, "text/plain; charset=utf-8", "404 page not found\n")))
        }
        _ => None,
    }
}

fn json_answer(value: &Value) -> Answer {
    respond::value(200, value, Accepted { form: Form::Object, yaml: false }, true)
}

/// The version of Kubernetes whose API is served.
fn version() -> Value {
    json!({"major": "1", "minor": "37", "gitVersion": concat!("v1.37.0-supercargo.", env!("CARGO_PKG_VERSION")),
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "none",
        "compiler": "rustc", "platform": "linux/amd64", "emulationMajor": "1", "emulationMinor": "37",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "36"})
}

/// Paths that need a user but no resource.
pub(crate) fn general(
    service: &Service,
    path: &str,
    _query: &Query,
    _accept: Option<&str>,
) -> Option<Answered> {
    match path.trim_end_matches('/') {
        "/metrics" => Some(Ok(respond::plain(
            200,
            "text/plain; version=0.0.4",
            service.metrics.text(&service.registry),
        ))),
        _ => None,
    }
}
