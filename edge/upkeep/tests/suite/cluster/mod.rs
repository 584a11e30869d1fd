//! An API server with controllers, and what tests do with it.

use std::future::pending;
use std::time::{Duration, Instant};

use client::{Connection, Resource, Selectors, WatchOptions};
use futures_util::StreamExt;
use gates::{Gate, Gates};
use objects::Object;
use objects::core::pod::Pod;
use objects::events::Event;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use serde_json::{Value, json};
use server::{NoLog, Server, Users};
use store::Store;
use tokio::time::sleep;

pub const PROTECTION: &str = "resource.kubernetes.io/delete-protection";

/// The features that these tests need.
pub fn gates() -> Gates {
    let on = [Gate::GenericWorkload, Gate::DRAWorkloadResourceClaims, Gate::DRAControlPlaneController];
    on.into_iter().fold(Gates::default(), |gates, gate| gates.with(gate, true))
}

/// A server that nobody keeps in order.
pub async fn bare() -> Connection {
    let options = server::Options {
        listen: "127.0.0.1:0".parse().expect("an address"),
        credentials: None,
        users: Users::default().with_admin_token("t"),
        gates: gates(),
        store: Store::default(),
        log: Box::new(NoLog),
    };
    let server = Server::bind(options).await.expect("a free port");
    let url = format!("http://{}", server.address().expect("it listens"));
    tokio::spawn(server.serve(pending()));
    Connection::from_parts(&url, Some("t"), None, &client::Options::default()).expect("an address")
}

/// Controllers with these features.
pub fn options() -> upkeep::Options {
    upkeep::Options { gates: gates(), ..upkeep::Options::default() }
}

/// A server, and controllers that keep it in order.
pub async fn kept_in_order() -> Connection {
    let connection = bare().await;
    tokio::spawn(upkeep::run(connection.clone(), options(), pending()));
    connection
}

pub fn read<K: Object>(value: &Value) -> K {
    K::read_value(value).expect("a good object")
}

pub fn pods() -> Resource<Pod> {
    Resource::named("pods").within("default")
}

pub fn claims() -> Resource<ResourceClaim> {
    Resource::named("resourceclaims").within("default")
}

/// What a pod or claim asks for.
pub fn request() -> Value {
    json!({ "devices": { "requests": [{ "name": "gpu", "exactly": { "deviceClassName": "gpu" } }] } })
}

/// Makes a pod whose entry `gpu` is this.
pub async fn pod(connection: &Connection, name: &str, entry: Value, more: Value) -> Pod {
    let mut entry = entry;
    entry["name"] = json!("gpu");
    let containers = json!([{ "name": "c", "image": "i", "resources": { "claims": [{ "name": "gpu" }] } }]);
    let mut spec = json!({ "containers": containers, "resourceClaims": [entry] });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name }, "spec": spec });
    connection.create(&pods(), &read(&pod)).await.done().expect("a good pod")
}

/// The entry of a pod that wants a claim from the template `t`.
pub fn from_template() -> Value {
    json!({ "resourceClaimTemplateName": "t" })
}

/// Makes the template `t`.
pub async fn template(connection: &Connection) {
    let template = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
        "metadata": { "name": "t" }, "spec": { "spec": request() },
    });
    let templates = Resource::<ResourceClaimTemplate>::named("resourceclaimtemplates").within("default");
    connection.create(&templates, &read(&template)).await.done().expect("a good template");
}

/// Makes a claim with this metadata.
pub async fn claim(connection: &Connection, metadata: Value) -> ResourceClaim {
    let claim = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": request(),
    });
    connection.create(&claims(), &read(&claim)).await.done().expect("a good claim")
}

/// Gives devices to a claim, and reserves it.
pub async fn allocate(connection: &Connection, mut claim: ResourceClaim, users: Value) -> ResourceClaim {
    if !claim.metadata.finalizers.iter().any(|finalizer| finalizer == PROTECTION) {
        claim.metadata.finalizers.push(PROTECTION.to_owned());
        claim = connection.update(&claims(), &claim).await.done().expect("it may be protected");
    }
    let device = format!("device-{}", claim.metadata.uid);
    let device = json!({ "request": "gpu", "driver": "gpu.example.com", "pool": "p", "device": device });
    claim.status = serde_json::from_value(json!({
        "allocation": { "devices": { "results": [device] } }, "reservedFor": users,
    }))
    .expect("a status");
    connection.update_status(&claims(), &claim).await.done().expect("a good status")
}

/// A pod as the user of a claim.
pub fn user(name: &str, uid: &str) -> Value {
    json!([{ "resource": "pods", "name": name, "uid": uid }])
}

/// Looks at an object until something is so.
pub async fn until<K: Object>(
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

/// The claim that a pod names for its entry, once it does.
pub async fn noted(connection: &Connection, pod: &str) -> String {
    let is_noted = |pod: Option<&Pod>| pod.is_some_and(|pod| !pod.status.resource_claim_statuses.is_empty());
    let pod = until(connection, &pods(), pod, is_noted).await.expect("it is there");
    pod.status.resource_claim_statuses[0].resource_claim_name.clone().expect("a name")
}

/// A pod is over.
pub async fn finish(connection: &Connection, name: &str) {
    let mut pod = connection.get(&pods(), name).await.done().expect("it is there");
    pod.status.phase = "Succeeded".to_owned();
    connection.update_status(&pods(), &pod).await.done().expect("a pod may end");
}

/// Everything of a kind that is there.
pub async fn all<K: Object + Send + 'static>(connection: &Connection, resource: &Resource<K>) -> Vec<K> {
    let stream = connection.list_and_watch(resource, &Selectors::default(), &WatchOptions::default());
    let mut stream = Box::pin(stream);
    let mut objects = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            client::Event::Applied(object) => objects.push(object),
            client::Event::Synced { .. } => break,
            _ => {}
        }
    }
    objects
}

/// The first event about an object with this reason.
pub async fn event(connection: &Connection, name: &str, reason: &str) -> Event {
    let events = Resource::<Event>::named("events").within("default");
    let began = Instant::now();
    loop {
        let is_it = |event: &Event| event.regarding.name == name && event.reason == reason;
        if let Some(event) = all(connection, &events).await.into_iter().find(is_it) {
            return event;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "no event {reason} about {name}");
        sleep(Duration::from_millis(50)).await;
    }
}
