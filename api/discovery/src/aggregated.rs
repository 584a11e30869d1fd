//! Discovery in one document: all groups with all their versions and resources.

use schema::{Kind, Scope};
use serde_json::{Value, json};

use crate::groups::{self, Group};
use crate::resource::{Subresource, singular, subresources, verbs};

/// `/api` as `APIGroupDiscoveryList`: the core group.
pub fn aggregated_core() -> Value {
    list(&[Group { name: "", versions: groups::versions("") }])
}

/// `/apis` as `APIGroupDiscoveryList`: all other groups.
pub fn aggregated_groups() -> Value {
    list(&groups::named_groups())
}

fn list(groups: &[Group]) -> Value {
    let items: Vec<Value> = groups.iter().map(group).collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

fn group(group: &Group) -> Value {
    let versions: Vec<Value> = group.versions.iter().map(|version| version_of(group.name, version)).collect();
    let metadata = if group.name.is_empty() { json!({}) } else { json!({"name": group.name}) };
    json!({"metadata": metadata, "versions": versions})
}

fn version_of(group: &str, version: &str) -> Value {
    let mut kinds: Vec<&'static Kind> =
        groups::resources().filter(|kind| kind.group() == group && kind.version() == version).collect();
    kinds.sort_by_key(|kind| &kind.plural);
    let resources: Vec<Value> = kinds.into_iter().map(resource).collect();
    // "Current" as opposed to what a server heard from another one some time ago.
    json!({"version": version, "resources": resources, "freshness": "Current"})
}

fn resource(kind: &'static Kind) -> Value {
    let mut entry = json!({
        "resource": kind.plural,
        "responseKind": response_kind(("", ""), &kind.kind),
        "scope": match kind.scope {
            Scope::Namespaced => "Namespaced",
            Scope::Cluster => "Cluster",
        },
        "singularResource": singular(kind),
        "verbs": verbs(kind),
    });
    let parts: Vec<Value> = subresources(kind).iter().map(subresource).collect();
    for (field, values) in [
        ("shortNames", json!(kind.short)),
        ("categories", json!(kind.categories)),
        ("subresources", parts.into()),
    ] {
        if values != json!([]) {
            entry[field] = values;
        }
    }
    entry
}

fn subresource(part: &Subresource) -> Value {
    json!({
        "subresource": part.name,
        "responseKind": response_kind(part.group_version, part.kind),
        "verbs": part.verbs,
    })
}

fn response_kind((group, version): (&str, &str), kind: &str) -> Value {
    json!({"group": group, "version": version, "kind": kind})
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{aggregated_core, aggregated_groups};

    #[test]
    fn the_core_group_has_no_name() {
        let core = &aggregated_core()["items"][0];
        assert_eq!(core["metadata"], json!({}));
        assert_eq!(core["versions"][0]["version"], "v1");
        let resources = core["versions"][0]["resources"].as_array().expect("a list");
        let pods = resources.iter().find(|entry| entry["resource"] == "pods").expect("pods are served");
        let kind = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
        assert_eq!(
            *pods,
            json!({
                "resource": "pods",
                "responseKind": kind("", "", "Pod"),
                "scope": "Namespaced",
                "singularResource": "pod",
                "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
                "shortNames": ["po"],
                "categories": ["all"],
                "subresources": [
                    {"subresource": "binding", "responseKind": kind("", "", "Binding"), "verbs": ["create"]},
                    {"subresource": "eviction", "responseKind": kind("policy", "v1", "Eviction"), "verbs": ["create"]},
                    {"subresource": "status", "responseKind": kind("", "", "Pod"), "verbs": ["get", "patch", "update"]},
                ],
            })
        );
    }

    #[test]
    fn a_group_comes_with_all_its_versions() {
        let document = aggregated_groups();
        let items = document["items"].as_array().expect("a list");
        let named = |name: &str| items.iter().find(|item| item["metadata"]["name"] == name).expect("served");
        let devices = named("resource.k8s.io")["versions"].as_array().expect("a list");
        let versions: Vec<&str> = devices.iter().filter_map(|version| version["version"].as_str()).collect();
        assert_eq!(versions, ["v1", "v1beta2", "v1beta1", "v1alpha3"]);
        // Eviction is the body of a subresource and no resource of its own.
        assert_eq!(named("policy")["versions"][0]["resources"].as_array().map(Vec::len), Some(1));
    }
}
