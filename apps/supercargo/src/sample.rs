//! The manifests that `up` begins with: the sample cluster, which is part of the binary, and those of the user.
//!
//! Invariant: every manifest is of a kind that the server serves, and every namespace that one names is made before.

use std::collections::BTreeSet;

use schema::{Scope, table};
use serde_json::json;
use simulation::{Manifest, Place, check_fields, read};

use crate::failure::Failure;

const NODE: &str = include_str!("../../../examples/up/node.yaml");
const WORKLOADS: &str = include_str!("../../../examples/up/workloads.yaml");

/// An object to be made, and where the server wants it.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) manifest: Manifest,
    pub(crate) plural: &'static str,
    /// Empty if the kind has none.
    pub(crate) namespace: String,
}

/// So many nodes of the sample cluster.
pub(crate) fn nodes(count: u32) -> Result<Vec<Manifest>, Failure> {
    let mut nodes = Vec::new();
    for number in 1..=count {
        let text = NODE.replace("node-1", &format!("node-{number}"));
        nodes.extend(read("examples/up/node.yaml", &text)?);
    }
    Ok(nodes)
}

/// What runs on the sample cluster.
pub(crate) fn workloads() -> Result<Vec<Manifest>, Failure> {
    Ok(read("examples/up/workloads.yaml", WORKLOADS)?)
}

/// Manifests in the order in which they are made. Every node becomes a simulated one, since nothing else could run it.
pub(crate) fn wanted(manifests: Vec<Manifest>) -> Result<Vec<Wanted>, Failure> {
    let mut all = Vec::new();
    let mut namespaces = BTreeSet::new();
    for mut manifest in manifests {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&manifest.value["apiVersion"]), text(&manifest.value["kind"]));
        let served = table().kind(&api_version, &kind).filter(|kind| !kind.plural.is_empty());
        let Some(served) = served else {
            let place = &manifest.place;
            return Err(Failure::hinted(&format!("{place}: {kind:?} of {api_version:?} is not served")));
        };
        check_fields(&manifest)?;
        let mut namespace = String::new();
        if served.scope == Scope::Namespaced {
            namespace = text(&manifest.value["metadata"]["namespace"]);
            if namespace.is_empty() {
                "default".clone_into(&mut namespace);
            }
            namespaces.insert(namespace.clone());
        }
        if kind == "Node" {
            manifest.value["metadata"]["annotations"][kubelet::simulated::SIMULATED] = json!("true");
        }
        all.push(Wanted { manifest, plural: &served.plural, namespace });
    }
    let rank = |wanted: &Wanted| wanted.plural != "namespaces";
    // A namespace that has a manifest of its own is made from that.
    namespaces.retain(|name| {
        !all.iter().any(|one| !rank(one) && one.manifest.value["metadata"]["name"] == name.as_str())
    });
    all.extend(namespaces.iter().map(|name| namespace(name)));
    all.sort_by_key(rank);
    Ok(all)
}

fn namespace(name: &str) -> Wanted {
    let value = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let place = Place { file: format!("namespace {name}"), line: 1 };
    let manifest = Manifest::made(place, value);
    Wanted { manifest, plural: "namespaces", namespace: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(wanted: &[Wanted]) -> Vec<String> {
        let name = |one: &Wanted| one.manifest.value["metadata"]["name"].as_str().expect("a name").to_owned();
        wanted.iter().map(|one| format!("{}/{}/{}", one.namespace, one.plural, name(one))).collect()
    }

    #[test]
    fn the_sample_cluster_has_as_many_nodes_as_it_is_told() {
        let made = wanted(nodes(2).expect("good manifests")).expect("served kinds");
        let expected =
            ["/nodes/node-1", "/resourceslices/node-1-gpus", "/nodes/node-2", "/resourceslices/node-2-gpus"];
        assert_eq!(names(&made), expected);
        assert_eq!(made[0].manifest.value["metadata"]["annotations"][kubelet::simulated::SIMULATED], "true");
        assert!(nodes(0).expect("nothing to read").is_empty());
        assert!(!wanted(workloads().expect("good manifests")).expect("served kinds").is_empty());
    }

    #[test]
    fn namespaces_come_first_and_those_that_are_only_named_are_made() {
        let text = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: a}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: q, namespace: b}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: b}}\n";
        let made = wanted(read("f.yaml", text).expect("manifests")).expect("served kinds");
        assert_eq!(names(&made), ["/namespaces/b", "/namespaces/a", "a/pods/p", "b/pods/q"]);
    }

    #[test]
    fn what_the_server_does_not_serve_is_named_with_its_place() {
        let text = "\n{apiVersion: example.com/v1, kind: Boat, metadata: {name: p}}\n";
        let failure = wanted(read("f.yaml", text).expect("manifests")).expect_err("nobody serves boats");
        assert_eq!(failure.to_string(), "error: f.yaml:2: \"Boat\" of \"example.com/v1\" is not served");
    }
}
