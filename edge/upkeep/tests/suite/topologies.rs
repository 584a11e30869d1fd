//! The status of topologies and of our own workloads, on a live server.

use crate::cluster::{kept_in_order, pods, read, until};
use client::{Connection, Resource};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::supercargo::node_topology::NodeTopology;
use objects::supercargo::workload::Workload;
use serde_json::{Value, json};

fn topologies() -> Resource<NodeTopology> {
    Resource::named("nodetopologies")
}

fn workloads() -> Resource<Workload> {
    Resource::named("workloads").within("default")
}

async fn node(connection: &Connection, name: &str, labels: Value) {
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": labels } });
    let nodes = Resource::<Node>::named("nodes");
    connection.create(&nodes, &read(&node)).await.done().expect("a good node");
}

/// How many domains and unlabelled nodes each level has, and how many contradictions.
fn found(topology: &NodeTopology) -> Vec<(i64, i64, i64)> {
    let levels = topology.status.levels.iter();
    levels.map(|level| (level.domains, level.nodes_without_label_count, level.contradictions_count)).collect()
}

#[tokio::test]
async fn the_status_of_a_topology_follows_the_labels_of_nodes() {
    let connection = kept_in_order().await;
    node(&connection, "a", json!({ "e/block": "b1", "e/rack": "r1" })).await;
    node(&connection, "b", json!({ "e/block": "b1" })).await;
    let levels =
        json!([{ "name": "block", "nodeLabel": "e/block" }, { "name": "rack", "nodeLabel": "e/rack" }]);
    let topology = json!({
        "apiVersion": "supercargo.dev/v1alpha1", "kind": "NodeTopology", "metadata": { "name": "floor" },
        "spec": { "levels": levels },
    });
    connection.create(&topologies(), &read(&topology)).await.done().expect("a good topology");
    let is = |expected: &'static [(i64, i64, i64)]| {
        move |topology: Option<&NodeTopology>| topology.is_some_and(|topology| found(topology) == expected)
    };
    until(&connection, &topologies(), "floor", is(&[(1, 0, 0), (1, 1, 0)])).await;
    // The rack of the first node is now said to be in two blocks.
    node(&connection, "c", json!({ "e/block": "b2", "e/rack": "r1" })).await;
    until(&connection, &topologies(), "floor", is(&[(2, 0, 0), (0, 1, 1)])).await;
}

#[tokio::test]
async fn the_status_of_a_workload_counts_its_pods_on_nodes() {
    let connection = kept_in_order().await;
    let group = json!({ "name": "g", "policy": { "gang": { "minCount": 1 } } });
    let workload = json!({
        "apiVersion": "supercargo.dev/v1alpha1", "kind": "Workload", "metadata": { "name": "w" },
        "spec": { "podGroups": [group] },
    });
    connection.create(&workloads(), &read(&workload)).await.done().expect("a good workload");
    let bound = |count: i32| {
        move |workload: Option<&Workload>| {
            workload.is_some_and(|one| one.status.pod_groups.iter().any(|group| group.bound == count))
        }
    };
    until(&connection, &workloads(), "w", bound(0)).await;
    let labels = json!({ "supercargo.dev/workload": "w", "supercargo.dev/pod-group": "g" });
    let pod: Pod = read(&json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p", "labels": labels },
        "spec": { "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] },
    }));
    node(&connection, "n", json!({})).await;
    connection.create(&pods(), &pod).await.done().expect("a good pod");
    until(&connection, &workloads(), "w", bound(1)).await;
}
