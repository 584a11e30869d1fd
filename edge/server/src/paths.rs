//! Paths that are no resources: health, version, discovery, schemas, metrics.

use schema::openapi;
use serde_json::{Value, json};

use crate::negotiate::{Accepted, Form};
use crate::present;
use crate::respond::{self, Answer};
use crate::route::Query;
use crate::service::Service;
use crate::status::Failure;
use crate::yaml;

type Answered = Result<Answer, Failure>;

const TEXT: &str = "text/plain; charset=utf-8";

/// How this program was built.
const BUILD: discovery::Build<'static> = discovery::Build {
    version: env!("CARGO_PKG_VERSION"),
    commit: "",
    date: "1970-01-01T00:00:00Z",
    compiler: "rustc",
    platform: "linux/amd64",
};

/// Paths that need no user.
pub(crate) fn open_to_all(path: &str, query: &Query) -> Option<Answered> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["version"] => Some(Ok(json_answer(&discovery::version(&BUILD)))),
        [name @ ("healthz" | "livez" | "readyz")] if query.has("verbose") => {
            Some(Ok(respond::plain(200, TEXT, format!("[+]ping ok\n[+]store ok\n{name} check passed\n"))))
        }
        ["healthz" | "livez" | "readyz"] | ["healthz" | "livez" | "readyz", "ping" | "store" | "log"] => {
            Some(Ok(respond::plain(200, TEXT, "ok")))
        }
        ["healthz" | "livez" | "readyz", _] => Some(Ok(no_page())),
        _ => None,
    }
}

fn json_answer(value: &Value) -> Answer {
    respond::value(200, value, Accepted { form: Form::Object, yaml: false }, true)
}

fn no_page() -> Answer {
    respond::plain(404, TEXT, "404 page not found\n")
}

/// Paths that need a user but no resource.
pub(crate) fn general(service: &Service, path: &str, accept: Option<&str>) -> Option<Answered> {
    let about = discovery::Server { address: &service.address, build: BUILD };
    if let Some(answer) = discovery::answer(path, accept.unwrap_or_default(), &about) {
        return Some(match answer {
            discovery::Answer::NotAcceptable => Err(present::not_acceptable()),
            discovery::Answer::Found(document) => {
                let body = match document.media {
                    discovery::Media::Json => document.body.to_string(),
                    discovery::Media::Yaml => yaml::write(&document.body),
                };
                Ok(respond::plain(200, document.content_type(), body))
            }
        });
    }
    if let Some(rest) = path.strip_prefix("/openapi/") {
        return Some(schemas(rest.trim_end_matches('/')));
    }
    match path.trim_end_matches('/') {
        "" => {
            let paths = [
                "/api",
                "/api/v1",
                "/apis",
                "/healthz",
                "/livez",
                "/metrics",
                "/openapi/v3",
                "/readyz",
                "/version",
            ];
            Some(Ok(json_answer(&json!({"paths": paths}))))
        }
        "/metrics" => Some(Ok(respond::plain(
            200,
            "text/plain; version=0.0.4",
            service.metrics.text(&service.registry),
        ))),
        path if !is_of_a_group(path) => Some(Ok(no_page())),
        _ => None,
    }
}

/// The shapes of kinds: an index and one document for each version of a group, or one document for all.
fn schemas(path: &str) -> Answered {
    match path {
        "v2" => Ok(json_answer(&openapi::document_v2())),
        "v3" => {
            let versions = openapi::group_versions().into_iter();
            let entries = versions.map(|version| {
                let name =
                    if version.contains('/') { format!("apis/{version}") } else { format!("api/{version}") };
                // The hash lets clients keep a document until the server changes.
                let url = format!("/openapi/v3/{name}?hash={}", env!("CARGO_PKG_VERSION"));
                (name, json!({"serverRelativeURL": url}))
            });
            Ok(json_answer(&json!({"paths": entries.collect::<serde_json::Map<_, _>>()})))
        }
        path => {
            let version = path.strip_prefix("v3/apis/").or_else(|| path.strip_prefix("v3/api/"));
            match version.and_then(openapi::document) {
                Some(document) => Ok(respond::plain(200, respond::JSON, document.to_string())),
                None => Ok(no_page()),
            }
        }
    }
}

/// The path belongs to a group that is served, in whatever version.
fn is_of_a_group(path: &str) -> bool {
    match path.trim_matches('/').split('/').collect::<Vec<_>>().as_slice() {
        ["api", ..] => true,
        ["apis", group, ..] => {
            matches!(*group, "authentication.k8s.io" | "authorization.k8s.io")
                || schema::table().kinds().iter().any(|kind| kind.group() == *group)
        }
        _ => false,
    }
}
