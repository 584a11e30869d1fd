//! The description of what the page's server answers, as OpenAPI 3. It is written by hand, and the tests of the server hold it
//! against the routes.

use serde_json::{Value, json};

/// A route of the API.
#[derive(Clone, Copy, Debug)]
pub struct ApiRoute {
    /// `get` or `post`.
    pub method: &'static str,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// What it answers.
    pub summary: &'static str,
    /// The media type of the answer.
    pub media_type: &'static str,
}

/// The path of all routes.
pub const BASE: &str = "/supercargo/v1alpha1";

const JSON: &str = "application/json";

/// Every route.
pub const ROUTES: [ApiRoute; 13] = [
    route("get", "/cluster", "Nodes with their devices, and pools that several nodes reach"),
    route("get", "/topology", "Topology domains with nodes, devices, free resources and fragmentation"),
    route("get", "/waiting", "Pods without a node, since when and why"),
    route("get", "/decisions", "The newest decisions, the oldest first"),
    route("get", "/history", "Figures over time"),
    route("get", "/status", "Whether the connection to the API server works, and what may be read"),
    route("get", "/explain/{kind}/{namespace}/{name}", "Why an object waits or is where it is"),
    route("get", "/objects/{kind}/{namespace}/{name}", "The timeline of a pod, claim or pod group"),
    route("get", "/devices/{driver}/{pool}/{device}", "A device with its holders and decisions about it"),
    route("get", "/fabric", "Attachments of a composable fabric"),
    route("post", "/plan", "What would become of pods in a changed cluster"),
    route("post", "/links", "A new link that signs in one browser"),
    ApiRoute {
        method: "get",
        path: "/watch",
        summary: "Updates as server-sent events",
        media_type: "text/event-stream",
    },
];

const fn route(method: &'static str, path: &'static str, summary: &'static str) -> ApiRoute {
    ApiRoute { method, path, summary, media_type: JSON }
}

/// The document.
#[must_use]
pub fn document(version: &str) -> Value {
    let mut paths = serde_json::Map::new();
    for route in ROUTES {
        let parameters = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let parameter = |name: &str| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
        let schema =
            if route.media_type == JSON { json!({ "type": "object" }) } else { json!({ "type": "string" }) };
        let mut operation = json!({
            "summary": route.summary,
            "parameters": parameters.map(parameter).collect::<Vec<_>>(),
            "responses": {
                "200": { "description": "OK", "content": { route.media_type: { "schema": schema } } },
                "401": { "description": "The request has no valid session cookie" },
                "default": { "description": "An error with the fields message and hint" },
            },
        });
        if route.path == "/plan" {
            let string = json!({ "type": "string" });
            operation["requestBody"] = json!({ "content": { JSON: { "schema": { "type": "object", "properties": {
                "manifests": { "type": "string", "description": "Manifests in YAML or JSON" },
                "with": { "type": "array", "items": string, "description": "Changes, as `supercargo plan --with` takes them" },
                "namespace": string,
            } } } } });
        }
        paths.entry(format!("{BASE}{}", route.path)).or_insert_with(|| json!({}))[route.method] = operation;
    }
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": "Supercargo page",
            "version": version,
            "description": "What the page shows. Read-only: no route changes the cluster.",
        },
        "paths": paths,
        "components": { "securitySchemes": { "session": {
            "type": "apiKey", "in": "cookie", "name": "supercargo-page-PORT",
            "description": "Set when the printed link is opened; PORT is the port of the server",
        } } },
        "security": [{ "session": [] }],
    })
}
