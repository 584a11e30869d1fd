//! Simulated nodes on an API server: they become ready, run what is bound to them, and leave others alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use client::{Connection, Event, Patch, Resource, Selectors, WatchOptions};
use futures_util::StreamExt;
use gates::Gates;
use kubelet::simulated::{Complaints, EXIT_CODE, FAULT, RUN_SECONDS, SIMULATED, Times, run};
use objects::Object;
use objects::coordination::Lease;
use objects::core::kinds::Binding;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::meta::DeleteOptions;
use objects::resource::claim::ResourceClaim;
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
    let complain: Complaints = Arc::new(|why: &str| eprintln!("{why}"));
    tokio::spawn(upkeep::run(connection.clone(), upkeep::Options::default(), std::future::pending()));
    let times = Times {
        start: Duration::from_millis(10),
        run: None,
        stop: Duration::from_millis(10),
        heartbeat: Duration::from_millis(100),
    };
    tokio::spawn(run(connection.clone(), times, complain, std::future::pending()));
    connection
}

fn read<K: Object>(value: &Value) -> K {
    K::read_value(value).expect("a good object")
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
    let node = read(&json!({ "apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status }));
    connection.create(&nodes(), &node).await.done().expect("a good node");
}

/// A pod that is bound to a node.
async fn bound(connection: &Connection, name: &str, node: &str, policy: &str) {
    let metadata = json!({ "name": name, "annotations": { RUN_SECONDS: "1" } });
    let spec = json!({ "containers": [{ "name": "c", "image": "i" }], "restartPolicy": policy });
    create_bound(connection, metadata, spec, node).await;
}

/// A pod that never starts again, and is bound to a node.
async fn bound_with(connection: &Connection, name: &str, node: &str, annotations: Value) {
    let metadata = json!({ "name": name, "annotations": annotations });
    let spec = json!({ "containers": [{ "name": "c", "image": "i" }], "restartPolicy": "Never" });
    create_bound(connection, metadata, spec, node).await;
}

/// Changes annotations.
async fn told<K: Object>(connection: &Connection, resource: &Resource<K>, name: &str, annotations: Value) {
    let body = json!({ "metadata": { "annotations": annotations } });
    connection.patch(resource, name, &Patch::Merge, &body).await.done().expect("it is there");
}

/// All events that there are.
async fn events(connection: &Connection) -> Vec<objects::events::Event> {
    let resource = Resource::named("events").within("default");
    let mut stream =
        Box::pin(connection.list_and_watch(&resource, &Selectors::default(), &WatchOptions::default()));
    let mut found = Vec::new();
    loop {
        match stream.next().await.expect("it goes on for ever") {
            Event::Applied(event) => found.push(event),
            Event::Synced { .. } => return found,
            _ => {}
        }
    }
}

async fn create_bound(connection: &Connection, metadata: Value, spec: Value, node: &str) {
    let name = metadata["name"].clone();
    let pod = read(&json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec }));
    connection.create(&pods(), &pod).await.done().expect("a good pod");
    let target = json!({ "kind": "Node", "name": node });
    let binding: Binding = read(&json!({
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
    node(&connection, "ours", json!({ SIMULATED: "true" })).await;
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
    node(&connection, "ours", json!({ SIMULATED: "true" })).await;
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

#[tokio::test]
async fn pods_fail_and_nodes_are_lost_as_they_are_told() {
    let connection = simulated().await;
    node(&connection, "ours", json!({ SIMULATED: "true" })).await;
    bound_with(&connection, "fails", "ours", json!({ RUN_SECONDS: "1", EXIT_CODE: "3" })).await;
    bound_with(&connection, "jams", "ours", json!({ FAULT: "no-start" })).await;
    let failed = until(&connection, &pods(), "fails", in_phase("Failed")).await.expect("it is there");
    let container = &failed.status.container_statuses[0];
    assert_eq!(container.state.terminated.as_ref().map(|end| end.exit_code), Some(3));
    let jams = |pod: Option<&Pod>| {
        let container = pod.and_then(|pod| pod.status.container_statuses.first());
        container.is_some_and(|container| container.state.waiting.is_some())
    };
    let jammed = until(&connection, &pods(), "jams", jams).await.expect("it is there");
    assert_eq!(jammed.status.phase, "Pending");
    told(&connection, &nodes(), "ours", json!({ FAULT: "not-ready" })).await;
    let says = |node: Option<&Node>, status: &str| {
        node.is_some_and(|node| {
            node.status.conditions.iter().any(|one| one.type_ == "Ready" && one.status == status)
        })
    };
    until(&connection, &nodes(), "ours", |node| says(node, "False")).await;
    told(&connection, &nodes(), "ours", json!({ FAULT: null })).await;
    until(&connection, &nodes(), "ours", |node| says(node, "True")).await;
    told(&connection, &nodes(), "ours", json!({ FAULT: "lost" })).await;
    sleep(Duration::from_millis(200)).await;
    let leases = Resource::<Lease>::named("leases").within("kube-node-lease");
    let last = connection.get(&leases, "ours").await.done().expect("it is there").spec.renew_time;
    bound_with(&connection, "late", "ours", json!({})).await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!(connection.get(&leases, "ours").await.done().expect("it is there").spec.renew_time, last);
    let late = connection.get(&pods(), "late").await.done().expect("it is there");
    assert_eq!(late.status.phase, "Pending");
    told(&connection, &nodes(), "ours", json!({ FAULT: null })).await;
    until(&connection, &pods(), "late", in_phase("Running")).await;
}

#[tokio::test]
async fn a_pod_whose_claim_is_not_its_own_is_refused_until_it_is() {
    let connection = simulated().await;
    node(&connection, "ours", json!({ SIMULATED: "true" })).await;
    let claims = Resource::<ResourceClaim>::named("resourceclaims").within("default");
    let request = json!({ "name": "gpu", "exactly": { "deviceClassName": "gpu" } });
    let claim: ResourceClaim = read(&json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": { "name": "shared" },
        "spec": { "devices": { "requests": [request] } },
    }));
    let mut claim = connection.create(&claims, &claim).await.done().expect("a good claim");
    let spec = json!({
        "containers": [{ "name": "c", "image": "i" }],
        "resourceClaims": [{ "name": "gpu", "resourceClaimName": "shared" }],
    });
    create_bound(&connection, json!({ "name": "user" }), spec, "ours").await;
    let is_told = |event: &objects::events::Event| {
        event.reason == "FailedPrepareDynamicResources" && event.note.contains("is not reserved for pod user")
    };
    let began = Instant::now();
    while !events(&connection).await.iter().any(is_told) {
        assert!(began.elapsed() < Duration::from_secs(20), "nobody says why the pod waits");
        sleep(Duration::from_millis(50)).await;
    }
    let pod = connection.get(&pods(), "user").await.done().expect("it is there");
    assert_eq!(pod.status.phase, "Pending");
    let device = json!({ "request": "gpu", "driver": "gpu.example.com", "pool": "p", "device": "d" });
    claim.status = serde_json::from_value(json!({
        "allocation": { "devices": { "results": [device] } },
        "reservedFor": [{ "resource": "pods", "name": "user", "uid": pod.metadata.uid }],
    }))
    .expect("a status");
    connection.update_status(&claims, &claim).await.done().expect("a good status");
    until(&connection, &pods(), "user", in_phase("Running")).await;
}
