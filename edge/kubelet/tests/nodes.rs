//! Simulated nodes on an API server: they become ready, run what is bound to them, and leave others alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use client::{Connection, Resource};
use gates::Gates;
use objects::Object;
use objects::coordination::Lease;
use objects::core::kinds::Binding;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::meta::DeleteOptions;
use serde_json::{Value, json};
use server::{NoLog, Options, Server, Users};
use store::Store;
use tokio::time::sleep;

/// A server with simulated nodes, and controllers that see to their taints.
async fn simulated() -> Connection {
    let options = Options {
        listen: "127.0.0.1:0".parse().expect("an address"),
        credentials: None,
        users: Users::default().with_admin_token("t"),
        gates: Gates::default(),
        store: Store::default(),
        log: Box::new(NoLog),
    };
    let server = Server::bind(options).await.expect("a free port");
    let url = format!("http://{}", server.address().expect("it listens"));
    tokio::spawn(server.serve(std::future::pending()));
    let connection =
        Connection::from_parts(&url, Some("t"), None, &client::Options::default()).expect("an address");
    let complain: kubelet::simulated::Complaints = Arc::new(|why: &str| eprintln!("{why}"));
    tokio::spawn(upkeep::run(connection.clone(), upkeep::Options::default(), std::future::pending()));
    let times = kubelet::simulated::Times {
        start: Duration::from_millis(10),
        stop: Duration::from_millis(10),
        heartbeat: Duration::from_millis(100),
    };
    tokio::spawn(kubelet::simulated::run(connection.clone(), times, complain, std::future::pending()));
    connection
}

fn read<K: Object>(value: Value) -> K {
    serde_json::from_value(value).expect("a good object")
}

/// Looks at an object until something is so.
async fn until<K: Object>(
    connection: &Connection,
    resource: &Resource<K>,
    name: &str,
    is_so: impl Fn(Option<&K>) -> bool,
) -> Option<K> {
    let began = Instant::now();
    loop {
        let object = connection.get(resource, name).await.done();
        if is_so(object.as_ref()) {
            return object;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{name} never became what it should");
        sleep(Duration::from_millis(20)).await;
    }
}

fn nodes() -> Resource<Node> {
    Resource::named("nodes")
}

fn pods() -> Resource<Pod> {
    Resource::named("pods").within("default")
}

async fn node(connection: &Connection, name: &str, annotations: Value) {
    let metadata = json!({ "name": name, "annotations": annotations });
    let status = json!({ "allocatable": { "cpu": "8", "pods": "10" } });
    let node = read(json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status }));
    connection.create(&nodes(), &node).await.done().expect("a good node");
}

/// A pod that is bound to a node.
async fn bound(connection: &Connection, name: &str, node: &str, policy: &str) {
    let metadata = json!({ "name": name, "annotations": { kubelet::simulated::RUN_SECONDS: "1" } });
    let spec = json!({ "containers": [{ "name": "c", "image": "i" }], "restartPolicy": policy });
    let pod = read(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec }));
    connection.create(&pods(), &pod).await.done().expect("a good pod");
    let target = json!({ "kind": "Node", "name": node });
    let binding: Binding = read(json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": { "name": name, "namespace": "default" }, "target": target,
    }));
    connection.bind(&binding).await.done().expect("nobody bound it before");
}

fn in_phase(phase: &'static str) -> impl Fn(Option<&Pod>) -> bool {
    move |pod| pod.is_some_and(|pod| pod.status.phase == phase)
}

#[tokio::test]
async fn a_simulated_node_becomes_ready_and_loses_its_taint_and_others_do_not() {
    let connection = simulated().await;
    node(&connection, "real", json!({})).await;
    node(&connection, "ours", json!({ kubelet::simulated::SIMULATED: "true" })).await;
    let is_open = |node: Option<&Node>| node.is_some_and(|node| node.spec.taints.is_empty());
    let ours = until(&connection, &nodes(), "ours", is_open).await.expect("it is there");
    assert_eq!((ours.status.conditions.len(), ours.status.capacity.len()), (1, 2));
    let real = connection.get(&nodes(), "real").await.done().expect("it is there");
    assert_eq!((real.status.conditions.len(), real.spec.taints.len()), (0, 1));
    let leases = Resource::<Lease>::named("leases").within("kube-node-lease");
    let lease = until(&connection, &leases, "ours", |lease| lease.is_some()).await.expect("it is there");
    let renewed = |now: Option<&Lease>| now.is_some_and(|now| now.spec.renew_time > lease.spec.renew_time);
    until(&connection, &leases, "ours", renewed).await;
    assert!(connection.get(&leases, "real").await.done().is_none());
}

#[tokio::test]
async fn pods_run_on_simulated_nodes_end_when_they_are_done_and_go_when_they_are_to() {
    let connection = simulated().await;
    bound(&connection, "early", "ours", "Always").await;
    bound(&connection, "theirs", "real", "Always").await;
    node(&connection, "real", json!({})).await;
    node(&connection, "ours", json!({ kubelet::simulated::SIMULATED: "true" })).await;
    bound(&connection, "job", "ours", "Never").await;
    until(&connection, &pods(), "early", in_phase("Running")).await;
    until(&connection, &pods(), "job", in_phase("Succeeded")).await;
    for name in ["early", "job"] {
        connection.delete(&pods(), name, &DeleteOptions::default()).await.done().expect("it is there");
        until(&connection, &pods(), name, |pod| pod.is_none()).await;
    }
    let theirs = connection.get(&pods(), "theirs").await.done().expect("it is there");
    assert_eq!(theirs.status.phase, "Pending");
}
