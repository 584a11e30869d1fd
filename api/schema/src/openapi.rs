//! The table as OpenAPI: what kubectl and client generators ask a server for, and what CRDs are made of.
//!
//! Everything here is derived from the table, in the shape that Kubernetes serves; nothing is written twice.

mod components;
mod crds;
mod gnostic;
mod names;
mod operations;
mod paths;
mod structural;

use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use crate::table::{Kind, Table, table};
use components::Dialect;

pub use crds::crds;
pub use names::component_name;
pub use structural::structural;

/// The version of Kubernetes whose shapes these are.
const VERSION: &str = "1.37";

/// The versions of groups that have a document, such as `v1` and `resource.k8s.io/v1`, in the table's order.
pub fn group_versions() -> Vec<&'static str> {
    let mut found: Vec<&str> = Vec::new();
    for kind in served(table()) {
        if !found.contains(&kind.api_version.as_str()) {
            found.push(&kind.api_version);
        }
    }
    found
}

/// The OpenAPI v3 document of one version of a group, or nothing if no kind of it is served.
pub fn document(group_version: &str) -> Option<Value> {
    let table = table();
    let kinds: Vec<&Kind> = served(table).filter(|kind| kind.api_version == group_version).collect();
    if kinds.is_empty() {
        return None;
    }
    let schemas = components::schemas(table, &kinds, Dialect::V3);
    Some(json!({
        "openapi": "3.0.0",
        "info": heading(),
        "paths": paths::paths(&kinds, Dialect::V3),
        "components": {
            "schemas": schemas,
            "securitySchemes": { "BearerToken": bearer_token() },
        },
    }))
}

/// The OpenAPI v3 document of a path that has no kinds.
pub fn empty_document() -> Value {
    json!({"openapi": "3.0.0", "info": heading(), "paths": {}})
}

/// The OpenAPI v2 document of everything that is served.
pub fn document_v2() -> Value {
    let table = table();
    let kinds: Vec<&Kind> = served(table).collect();
    json!({
        "swagger": "2.0",
        "info": heading(),
        "paths": paths::paths(&kinds, Dialect::V2),
        "definitions": components::schemas(table, &kinds, Dialect::V2),
        "securityDefinitions": { "BearerToken": bearer_token() },
        "security": [{ "BearerToken": [] }],
    })
}

/// The same document in protobuf, in the messages of gnostic.
pub fn document_v2_protobuf() -> &'static [u8] {
    static WRITTEN: OnceLock<Vec<u8>> = OnceLock::new();
    WRITTEN.get_or_init(|| gnostic::write(&document_v2()).0)
}

fn served(table: &Table) -> impl Iterator<Item = &Kind> {
    table.kinds().iter().filter(|kind| !kind.plural.is_empty())
}

fn heading() -> Value {
    json!({ "title": "Kubernetes", "version": VERSION })
}

fn bearer_token() -> Value {
    json!({
        "type": "apiKey",
        "description": "A token in the header of each request.",
        "name": "authorization",
        "in": "header",
    })
}

/// What is said about a field or structure, if anything.
fn describe(schema: &mut Map<String, Value>, description: &str) {
    if !description.is_empty() {
        schema.insert("description".to_owned(), description.into());
    }
}

fn group_version_kind(kind: &Kind, name: &str) -> Value {
    json!({ "group": kind.group(), "version": kind.version(), "kind": name })
}

#[cfg(test)]
mod tests;
