//! The answer to a path, if it is one of discovery's.

use serde_json::Value;

use crate::accept::choose;
use crate::version::{Build, version};
use crate::{aggregated, legacy};

/// What the documents say of the server itself.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    /// Host and port at which clients reach it.
    pub address: &'a str,
    /// How it was built.
    pub build: Build<'a>,
}

/// The answer to a path of discovery.
#[derive(Clone, Debug, PartialEq)]
pub enum DiscoveryResponse {
    /// The document.
    Found(Document),
    /// There is a document, but in no form that the client accepts.
    NotAcceptable,
}

/// A document and the form in which the client wants it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Whether it is the older or the aggregated form.
    pub form: Form,
    /// How it is to be written.
    pub media: Media,
    /// The document.
    pub body: Value,
}

/// The two forms of discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Many small documents.
    Plain,
    /// One document for all groups.
    Aggregated,
}

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// As JSON.
    Json,
    /// As YAML.
    Yaml,
}

impl Document {
    /// The `Content-Type`, which for the aggregated form repeats what was asked for.
    pub fn content_type(&self) -> &'static str {
        match (self.form, self.media) {
            (Form::Plain, Media::Json) => "application/json",
            (Form::Plain, Media::Yaml) => "application/yaml",
            (Form::Aggregated, Media::Json) => {
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
            (Form::Aggregated, Media::Yaml) => {
                "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
        }
    }
}

/// The answer to a request for `path` with the header `accept`, which may be empty.
///
/// `None` when the path is none of discovery's, or names a group or version that is not served.
pub fn answer(path: &str, accept: &str, server: &Server<'_>) -> Option<DiscoveryResponse> {
    let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    let parts = match parts.as_slice() {
        [rest @ .., ""] => rest,
        all => all,
    };
    let chosen = choose(accept, matches!(parts, ["api" | "apis"]));
    let form = chosen.map_or(Form::Plain, |(form, _)| form);
    let body = match (form, parts) {
        (Form::Aggregated, ["api"]) => aggregated::aggregated_core(),
        (Form::Aggregated, _) => aggregated::aggregated_groups(),
        (Form::Plain, ["api"]) => legacy::core_versions(server.address),
        (Form::Plain, ["api", version]) => legacy::resources("", version)?,
        (Form::Plain, ["apis"]) => legacy::groups(),
        (Form::Plain, ["apis", group]) => legacy::group(group)?,
        (Form::Plain, ["apis", group, version]) if !group.is_empty() => legacy::resources(group, version)?,
        (Form::Plain, ["version"]) => version(&server.build),
        (Form::Plain, _) => return None,
    };
    Some(match chosen {
        Some((form, media)) => DiscoveryResponse::Found(Document { form, media, body }),
        None => DiscoveryResponse::NotAcceptable,
    })
}

#[cfg(test)]
mod tests {
    use super::{DiscoveryResponse, Server, answer};
    use crate::version::Build;

    const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

    /// The path is answered with a document of this kind, `406`, or `404`.
    fn check(path: &str, accept: &str, expected: &str) {
        let build = Build { version: "0", commit: "", date: "", compiler: "rustc 1", platform: "" };
        let found = match answer(path, accept, &Server { address: "127.0.0.1:6443", build }) {
            Some(DiscoveryResponse::Found(document)) => {
                let kind = document.body["kind"].as_str().unwrap_or("version").to_owned();
                assert_eq!(
                    document.content_type().contains("as="),
                    kind == "APIGroupDiscoveryList",
                    "{path}"
                );
                kind
            }
            Some(DiscoveryResponse::NotAcceptable) => "406".to_owned(),
            None => "404".to_owned(),
        };
        assert_eq!(found, expected, "{path} {accept}");
    }

    #[test]
    fn every_path_has_its_document() {
        check("/api", "", "APIVersions");
        check("/api/", "application/json", "APIVersions");
        check("/api/v1", "", "APIResourceList");
        check("/apis", "*/*", "APIGroupList");
        check("/apis/resource.k8s.io", "", "APIGroup");
        check("/apis/resource.k8s.io/v1beta2/", "", "APIResourceList");
        check("/version", "", "version");
    }

    #[test]
    fn only_the_two_roots_have_the_aggregated_form() {
        check("/api", AGGREGATED, "APIGroupDiscoveryList");
        check("/apis", AGGREGATED, "APIGroupDiscoveryList");
        check("/api/v1", AGGREGATED, "406");
        check("/apis/resource.k8s.io", AGGREGATED, "406");
    }

    #[test]
    fn what_is_not_served_is_not_found() {
        for path in [
            "",
            "/",
            "//api",
            "/nope",
            "/api/v2",
            "/apis/resource.k8s.io/v9",
            "/apis/resource.k8s.io/v1/nope",
            "/apis/nope.k8s.io/v1",
            "/apis//v1",
            "/api/v1/pods",
            "api",
        ] {
            check(path, "", "404");
        }
    }
}
