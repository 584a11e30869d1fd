//! Discovery in many small documents: one for the groups, one for each group, one for each version.

use schema::{Kind, Scope};
use serde_json::{Value, json};

use crate::groups::{self, Group};
use crate::resource::{Subresource, singular, subresources, verbs};

/// `/api`: the versions of the core group, and where clients find the server.
pub fn core_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": groups::versions(""),
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// `/apis`: all groups but the core group.
pub fn groups() -> Value {
    let groups: Vec<Value> = groups::named_groups().iter().map(entry).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`: the versions of a group, if it is served.
pub fn group(name: &str) -> Option<Value> {
    let group = groups::named_groups().into_iter().find(|group| group.name == name)?;
    let mut document = entry(&group);
    document["kind"] = "APIGroup".into();
    document["apiVersion"] = "v1".into();
    Some(document)
}

/// `/api/v1` and `/apis/GROUP/VERSION`: the resources of a version, if it is served.
pub fn resources(group: &str, version: &str) -> Option<Value> {
    let kinds = groups::resources().filter(|kind| kind.group() == group && kind.version() == version);
    let mut entries: Vec<(String, Value)> = kinds.flat_map(resource).collect();
    if entries.is_empty() {
        return None;
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    let entries: Vec<Value> = entries.into_iter().map(|(_, entry)| entry).collect();
    let mut document = json!({"kind": "APIResourceList", "groupVersion": group_version(group, version), "resources": entries});
    // The core group is older than versions of this document.
    if !group.is_empty() {
        document["apiVersion"] = "v1".into();
    }
    Some(document)
}

fn entry(group: &Group) -> Value {
    let version =
        |version: &&str| json!({"groupVersion": group_version(group.name, version), "version": version});
    let versions: Vec<Value> = group.versions.iter().map(version).collect();
    json!({"name": group.name, "versions": versions, "preferredVersion": versions[0]})
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// The entries of a resource and of its subresources, by name.
fn resource(kind: &'static Kind) -> Vec<(String, Value)> {
    let mut own = json!({
        "name": kind.plural,
        "singularName": singular(kind),
        "namespaced": kind.scope == Scope::Namespaced,
        "kind": kind.kind,
        "verbs": verbs(kind),
    });
    for (field, names) in [("shortNames", &kind.short), ("categories", &kind.categories)] {
        if !names.is_empty() {
            own[field] = json!(names);
        }
    }
    let parts = subresources(kind).into_iter().map(|part| subresource(kind, &part));
    std::iter::once((kind.plural.clone(), own)).chain(parts).collect()
}

fn subresource(kind: &Kind, part: &Subresource) -> (String, Value) {
    let name = format!("{}/{}", kind.plural, part.name);
    let mut entry = json!({
        "name": name,
        "singularName": "",
        "namespaced": kind.scope == Scope::Namespaced,
        "kind": part.kind,
        "verbs": part.verbs,
    });
    let (group, version) = part.group_version;
    if !version.is_empty() {
        entry["group"] = group.into();
        entry["version"] = version.into();
    }
    (name, entry)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{core_versions, group, groups, resources};

    fn entry(group: &str, version: &str, name: &str) -> Value {
        let document = resources(group, version).expect("a version that is served");
        let entries = document["resources"].as_array().expect("a list");
        entries.iter().find(|entry| entry["name"] == name).cloned().expect("a resource that is served")
    }

    #[test]
    fn a_group_names_its_preferred_version() {
        let group = group("scheduling.k8s.io").expect("served");
        assert_eq!(
            group,
            json!({
                "kind": "APIGroup",
                "apiVersion": "v1",
                "name": "scheduling.k8s.io",
                "versions": [
                    {"groupVersion": "scheduling.k8s.io/v1", "version": "v1"},
                    {"groupVersion": "scheduling.k8s.io/v1beta1", "version": "v1beta1"},
                    {"groupVersion": "scheduling.k8s.io/v1alpha3", "version": "v1alpha3"},
                ],
                "preferredVersion": {"groupVersion": "scheduling.k8s.io/v1", "version": "v1"},
            })
        );
        assert!(super::group("").is_none());
        assert!(super::group("nope.k8s.io").is_none());
        assert_eq!(groups()["kind"], "APIGroupList");
        assert_eq!(core_versions("127.0.0.1:6443")["versions"], json!(["v1"]));
    }

    #[test]
    fn a_resource_says_what_can_be_done_with_it() {
        assert_eq!(
            entry("", "v1", "pods"),
            json!({
                "name": "pods",
                "singularName": "pod",
                "namespaced": true,
                "kind": "Pod",
                "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
                "shortNames": ["po"],
                "categories": ["all"],
            })
        );
        assert_eq!(
            entry("", "v1", "pods/eviction"),
            json!({
                "name": "pods/eviction",
                "singularName": "",
                "namespaced": true,
                "group": "policy",
                "version": "v1",
                "kind": "Eviction",
                "verbs": ["create"],
            })
        );
        assert_eq!(entry("", "v1", "bindings")["verbs"], json!(["create"]));
        assert_eq!(entry("", "v1", "namespaces/finalize")["verbs"], json!(["update"]));
        assert_eq!(entry("", "v1", "nodes/status")["verbs"], json!(["get", "patch", "update"]));
    }

    #[test]
    fn versions_that_are_not_served_have_no_document() {
        assert!(resources("resource.k8s.io", "v9").is_none());
        assert!(resources("", "v2").is_none());
        assert!(resources("nope", "v1").is_none());
    }

    #[test]
    fn resources_are_in_order_of_name_and_each_is_there_once() {
        for group in groups::named_groups() {
            for version in group.versions {
                let document = resources(group.name, version).expect("served");
                let entries = document["resources"].as_array().expect("a list");
                let names: Vec<&str> = entries.iter().filter_map(|entry| entry["name"].as_str()).collect();
                assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
            }
        }
    }
}
