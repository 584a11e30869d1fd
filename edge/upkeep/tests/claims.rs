//! Controllers on an API server: claims are made once, and released only when their users are gone.

use std::time::{Duration, Instant};

use client::{Connection, Resource};
use gates::Gates;
use objects::Object;
use objects::core::pod::Pod;
use objects::meta::DeleteOptions;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use serde_json::{Value, json};
use server::{NoLog, Options, Server, Users};
use store::Store;
use tokio::time::sleep;

const PROTECTION: &str = "resource.kubernetes.io/delete-protection";

/// A server, and controllers that keep it in order.
async fn kept_in_order() -> Connection {
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
    tokio::spawn(upkeep::run(connection.clone(), upkeep::Options::default(), std::future::pending()));
    connection
}

fn read<K: Object>(value: Value) -> K {
    serde_json::from_value(value).expect("a good object")
}

fn pods() -> Resource<Pod> {
    Resource::named("pods").within("default")
}

fn claims() -> Resource<ResourceClaim> {
    Resource::named("resourceclaims").within("default")
}

async fn pod(connection: &Connection, claim: Value) -> Pod {
    let mut claim = claim;
    claim["name"] = json!("gpu");
    let containers = json!([{ "name": "c", "image": "i", "resources": { "claims": [{ "name": "gpu" }] } }]);
    let spec = json!({ "containers": containers, "resourceClaims": [claim] });
    let pod = read(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" }, "spec": spec }));
    connection.create(&pods(), &pod).await.done().expect("a good pod")
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

fn request() -> Value {
    json!({ "devices": { "requests": [{ "name": "gpu", "exactly": { "deviceClassName": "gpu" } }] } })
}

/// A claim with devices, reserved for a pod.
async fn reserved(connection: &Connection, pod: &str, uid: &str) -> ResourceClaim {
    let metadata = json!({ "name": "shared", "finalizers": [PROTECTION] });
    let kind = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": request(),
    });
    let mut claim: ResourceClaim =
        connection.create(&claims(), &read(kind)).await.done().expect("a good claim");
    let device = json!({ "request": "gpu", "driver": "gpu.example.com", "pool": "p", "device": "d" });
    claim.status = serde_json::from_value(json!({
        "allocation": { "devices": { "results": [device] } },
        "reservedFor": [{ "resource": "pods", "name": pod, "uid": uid }],
    }))
    .expect("a status");
    connection.update_status(&claims(), &claim).await.done().expect("a good status")
}

#[tokio::test]
async fn a_claim_is_made_when_its_template_comes_and_goes_with_its_pod() {
    let connection = kept_in_order().await;
    pod(&connection, json!({ "resourceClaimTemplateName": "t" })).await;
    let template = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
        "metadata": { "name": "t" }, "spec": { "spec": request() },
    });
    let templates = Resource::<ResourceClaimTemplate>::named("resourceclaimtemplates").within("default");
    connection.create(&templates, &read(template)).await.done().expect("a good template");
    let noted = |pod: Option<&Pod>| pod.is_some_and(|pod| !pod.status.resource_claim_statuses.is_empty());
    let pod = until(&connection, &pods(), "p", noted).await.expect("it is there");
    let name = pod.status.resource_claim_statuses[0].resource_claim_name.clone().expect("a name");
    assert!(name.starts_with("p-gpu-"), "{name}");
    assert!(connection.get(&claims(), &name).await.done().is_some());
    // It never had a node, so that nobody has to end it.
    connection.delete(&pods(), "p", &DeleteOptions::default()).await.done().expect("it is there");
    until(&connection, &claims(), &name, |claim| claim.is_none()).await;
}

#[tokio::test]
async fn devices_stay_with_a_claim_while_its_pod_is_there() {
    let connection = kept_in_order().await;
    let pod = pod(&connection, json!({ "resourceClaimName": "shared" })).await;
    reserved(&connection, "p", &pod.metadata.uid).await;
    sleep(Duration::from_millis(300)).await;
    let claim = connection.get(&claims(), "shared").await.done().expect("it is there");
    assert_eq!((claim.status.reserved_for.len(), claim.status.allocation.is_some()), (1, true));
    connection.delete(&pods(), "p", &DeleteOptions::default()).await.done().expect("it is there");
    let free = |claim: Option<&ResourceClaim>| {
        claim.is_some_and(|claim| claim.status.allocation.is_none() && claim.metadata.finalizers.is_empty())
    };
    until(&connection, &claims(), "shared", free).await;
}

#[tokio::test]
async fn who_took_the_name_of_a_pod_does_not_use_its_claims() {
    let connection = kept_in_order().await;
    pod(&connection, json!({ "resourceClaimName": "shared" })).await;
    reserved(&connection, "p", "another").await;
    let free = |claim: Option<&ResourceClaim>| claim.is_some_and(|claim| claim.status.allocation.is_none());
    until(&connection, &claims(), "shared", free).await;
}
