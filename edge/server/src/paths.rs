//! Paths that are no resources: health, version, discovery, schemas, metrics.

use hyper::Method;
use hyper::header::ACCEPT;
use schema::openapi;
use serde_json::{Value, json};
use telemetry::surface::{Check, Checks, Health};

use crate::call::Call;
use crate::negotiate::{self, Media};
use crate::present;
use crate::registry::Registry;
use crate::respond::{self, HttpResponse};
use crate::service::Service;
use crate::status::Failure;
use crate::yaml;

type Answered = Result<HttpResponse, Failure>;

const OPENAPI_V2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const OPENAPI_V2_OLD: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const TEXT: &str = "text/plain; charset=utf-8";

/// All kinds are built in, so that there are none of these.
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// How this program was built.
const BUILD: discovery::Build<'static> = discovery::Build {
    version: env!("CARGO_PKG_VERSION"),
    commit: match option_env!("SUPERCARGO_COMMIT") {
        Some(commit) => commit,
        None => "",
    },
    date: "1970-01-01T00:00:00Z",
    compiler: "rustc",
    platform: "linux/amd64",
};

/// Paths that need no user.
pub(crate) fn open_to_all(service: &Service, path: &str, query: Option<&str>) -> Option<Answered> {
    let path = path.trim_matches('/');
    if path == "version" {
        return Some(Ok(json_answer(&discovery::version(&BUILD))));
    }
    // What is deeper is no check and not open to all.
    if path.split('/').count() > 2 {
        return None;
    }
    // What the checks say is fit for everybody.
    Some(Ok(match service.checks.answer_with_reasons(path, query)? {
        Health::Well(text) => respond::plain(200, TEXT, text),
        Health::Unwell(text) => respond::plain(500, TEXT, text),
        Health::Unknown => no_page(),
    }))
}

/// What the server's health rests on. As in Kubernetes, storage counts for all three paths.
pub(crate) fn checks(registry: &Registry) -> Checks {
    let log = registry.log();
    let checks = vec![Check::new("ping", || Ok(())), Check::new("journal", move || log.health())];
    Checks { healthz: checks.clone(), livez: checks.clone(), readyz: checks }
}

fn json_answer(value: &Value) -> HttpResponse {
    respond::value(200, value, Media::Json, true)
}

fn no_page() -> HttpResponse {
    respond::plain(404, TEXT, "404 page not found\n")
}

/// Paths that need a user but no resource.
pub(crate) fn general(service: &Service, call: &Call) -> Option<Answered> {
    let (path, accept) = (&*call.path, call.header(&ACCEPT));
    let about = discovery::Server { address: &service.address, build: BUILD };
    if let Some(answer) = discovery::answer(path, accept.unwrap_or_default(), &about) {
        return Some(match answer {
            discovery::DiscoveryResponse::NotAcceptable => Err(present::not_acceptable()),
            discovery::DiscoveryResponse::Found(document) => {
                let body = match document.media {
                    discovery::Media::Json => document.body.to_string(),
                    discovery::Media::Yaml => yaml::write(&document.body),
                };
                Ok(respond::plain(200, document.content_type(), body))
            }
        });
    }
    if let Some(rest) = path.strip_prefix("/openapi/") {
        return Some(schemas(rest.trim_end_matches('/'), accept));
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
                "/openapi/v2",
                "/openapi/v3",
                "/readyz",
                "/version",
            ];
            Some(Ok(json_answer(&json!({"paths": paths}))))
        }
        // kubectl asks for them to find out about a kind that no path is for, such as ConfigMapList.
        CRDS if call.method == Method::GET => Some(Ok(json_answer(&json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinitionList",
            "metadata": {},
            "items": [],
        })))),
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
fn schemas(path: &str, accept: Option<&str>) -> Answered {
    if path == "v2" {
        // The second name is that of old clients, and is answered with the first.
        let served = [respond::JSON, OPENAPI_V2, OPENAPI_V2_OLD];
        return match negotiate::preferred(accept, &served) {
            Some(respond::JSON) => Ok(json_answer(&openapi::document_v2())),
            Some(_) => Ok(respond::plain(200, OPENAPI_V2, openapi::document_v2_protobuf())),
            None => Err(not_acceptable(&served)),
        };
    }
    // The documents of version 3 are JSON, which all clients that are known ask for.
    if negotiate::preferred(accept, &[respond::JSON]).is_none() {
        return Err(not_acceptable(&[respond::JSON]));
    }
    match path {
        "v3" => Ok(respond::plain(200, TEXT, index().to_string())),
        path => {
            let version = path.strip_prefix("v3/apis/").or_else(|| path.strip_prefix("v3/api/"));
            let general =
                path.strip_prefix("v3/").is_some_and(|path| general_paths().any(|general| general == path));
            match version.and_then(openapi::document) {
                Some(document) => Ok(respond::plain(200, respond::JSON, document.to_string())),
                None if general => Ok(json_answer(&openapi::empty_document())),
                None => Ok(no_page()),
            }
        }
    }
}

fn not_acceptable(served: &[&str]) -> Failure {
    let message = format!("only the following media types are accepted: {}", served.join(", "));
    Failure::new(406, "NotAcceptable", message)
}

/// Paths without kinds that clients expect in the index.
fn general_paths() -> impl Iterator<Item = String> {
    let mut groups: Vec<&str> = openapi::group_versions()
        .into_iter()
        .filter_map(|version| Some(version.split_once('/')?.0))
        .collect();
    groups.dedup();
    let groups = groups.into_iter().map(|group| format!("apis/{group}"));
    ["api", "apis", "version"].into_iter().map(str::to_owned).chain(groups)
}

/// Which documents there are.
fn index() -> Value {
    let versions = openapi::group_versions().into_iter();
    let versions = versions.map(|version| {
        if version.contains('/') { format!("apis/{version}") } else { format!("api/{version}") }
    });
    let entries = versions.chain(general_paths()).map(|name| {
        // The hash lets clients keep a document until the server changes.
        let url = format!("/openapi/v3/{name}?hash={}", env!("CARGO_PKG_VERSION"));
        (name, json!({"serverRelativeURL": url}))
    });
    json!({"paths": entries.collect::<serde_json::Map<_, _>>()})
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
