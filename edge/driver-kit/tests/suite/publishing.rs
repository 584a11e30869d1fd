//! Publishing on a server: what is wanted comes, changes and goes, and nobody else's slices are touched.

use client::{Connection, Event, Resource, Selectors, WatchOptions};
use driver_kit::api::{Device, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ResourceSlice};
use driver_kit::{Describe, Pool, PublishTrouble, Publisher, Reach, Scope, counter_set};
use futures_util::StreamExt;
use gates::{Gate, Gates};
use objects::core::node::Node;
use objects::meta::DeleteOptions;
use serde_json::json;

use crate::stage::{Ear, create, served, until, with_node};

const DRIVER: &str = "gpu.example.com";

fn start(connection: &Connection, scope: Scope, ear: &Ear) -> Publisher {
    Publisher::start(connection.clone(), DRIVER, scope, ear.listener())
}

fn node() -> Scope {
    Scope::Node("n1".to_owned())
}

fn pool(name: &str, count: usize) -> Pool {
    let devices = (0..count).map(|at| Device::named(format!("gpu-{at}")).attribute("index", at as i64));
    Pool { name: name.to_owned(), devices: devices.collect(), ..Pool::default() }
}

/// All slices, by name.
async fn slices(connection: &Connection) -> Vec<ResourceSlice> {
    let resource = Resource::<ResourceSlice>::named("resourceslices");
    let stream = connection.list_and_watch(&resource, &Selectors::default(), &WatchOptions::default());
    let mut stream = std::pin::pin!(stream);
    let mut found = Vec::new();
    loop {
        match stream.next().await.expect("it has no end") {
            Event::Applied(slice) => found.push(slice),
            Event::Synced { .. } => break,
            other => unreachable!("a server that answers says what is there: {other:?}"),
        }
    }
    found.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    found
}

fn versions(slices: &[ResourceSlice]) -> Vec<(&str, i64, usize)> {
    let devices = |slice: &ResourceSlice| slice.spec.devices.iter().flatten().count();
    slices
        .iter()
        .map(|slice| (&slice.metadata.name[..5], slice.spec.pool.generation, devices(slice)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_comes_changes_and_goes_with_few_writes() {
    let connection = with_node(Gates::default()).await;
    let ear = Ear::default();
    let publisher = start(&connection, node(), &ear);
    let mut wanted = pool("n1", 300);
    publisher.publish(vec![wanted.clone()]).expect("a good pool");
    publisher.settled().await;
    let first = slices(&connection).await;
    assert_eq!(versions(&first), [("00000", 1, 128), ("00001", 1, 128), ("00002", 1, 44)]);
    assert!(first.iter().all(|slice| slice.spec.pool.resource_slice_count == 3));
    assert!(first.iter().all(|slice| slice.spec.node_name.as_deref() == Some("n1")));
    assert_eq!(first[0].metadata.owner_references[0].kind, "Node");

    wanted.devices[200] = Device::named("gpu-200").attribute("index", -1);
    publisher.publish(vec![wanted.clone()]).expect("a good pool");
    publisher.settled().await;
    let second = slices(&connection).await;
    assert_eq!(versions(&second), versions(&first));
    let written: Vec<bool> = first.iter().zip(&second).map(|(a, b)| a.metadata != b.metadata).collect();
    assert_eq!(written, [false, true, false], "one slice was written");

    // Another life of the driver finds everything as it should be.
    publisher.stop().await;
    let publisher = start(&connection, node(), &ear);
    publisher.publish(vec![wanted]).expect("a good pool");
    publisher.settled().await;
    assert_eq!(slices(&connection).await, second);

    publisher.publish(vec![pool("n1", 2), pool("other", 1)]).expect("good pools");
    publisher.settled().await;
    assert_eq!(versions(&slices(&connection).await), [("00000", 2, 2), ("00000", 1, 1)]);
    publisher.withdraw().await;
    assert!(slices(&connection).await.is_empty());
    assert_eq!(ear.heard(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_do_is_corrected_and_their_own_is_left_alone() {
    let connection = with_node(Gates::default()).await;
    let foreign = |name: &str, driver: &str, node: serde_json::Value| {
        let mut spec =
            json!({ "driver": driver, "pool": { "name": "n1", "generation": 9, "resourceSliceCount": 1 } });
        spec.as_object_mut().expect("an object").extend(node.as_object().expect("an object").clone());
        json!({ "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": { "name": name }, "spec": spec })
    };
    let make = |object| create::<ResourceSlice>(&connection, "resourceslices", object);
    make(foreign("a", "nic.example.com", json!({ "nodeName": "n1" }))).await.expect("a good slice");
    make(foreign("b", DRIVER, json!({ "nodeName": "n2" }))).await.expect("a good slice");
    make(foreign("c", DRIVER, json!({ "allNodes": true }))).await.expect("a good slice");
    make(foreign("leftover", DRIVER, json!({ "nodeName": "n1" }))).await.expect("a good slice");
    let publisher = start(&connection, node(), &Ear::default());
    publisher.publish(vec![pool("n1", 1)]).expect("a good pool");
    publisher.settled().await;
    let there = slices(&connection).await;
    assert_eq!(versions(&there[..1]), [("00000", 10, 1)], "newer than what was left over");
    let names: Vec<&str> = there[1..].iter().map(|slice| &*slice.metadata.name).collect();
    assert_eq!(names, ["a", "b", "c"]);

    let resource = Resource::<ResourceSlice>::named("resourceslices");
    let ours = there[0].metadata.name.clone();
    connection.delete(&resource, &ours, &DeleteOptions::default()).await.done().expect("it is there");
    until("it is made again", || async { connection.get(&resource, &ours).await.done().is_some() }).await;
    let mut changed = connection.get(&resource, &ours).await.done().expect("it is there");
    changed.spec.devices = None;
    connection.update(&resource, &changed).await.done().expect("a good slice");
    let is_right = || async {
        let slice = connection.get(&resource, &ours).await.done().expect("it is there");
        slice.spec.devices.is_some_and(|devices| devices.len() == 1)
    };
    until("it is corrected", is_right).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slices_wait_for_their_node_and_follow_it_when_it_is_made_anew() {
    let connection = served(Gates::default()).await;
    let ear = Ear::default();
    let publisher = start(&connection, node(), &ear);
    publisher.publish(vec![pool("n1", 1)]).expect("a good pool");
    until("it is said", || async { !ear.heard().is_empty() }).await;
    assert_eq!(ear.heard()[0], PublishTrouble::NoNode { node: "n1".to_owned() });
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1" } });
    create::<Node>(&connection, "nodes", node.clone()).await.expect("a good node");
    publisher.settled().await;
    let nodes = Resource::<Node>::named("nodes");
    connection.delete(&nodes, "n1", &DeleteOptions::default()).await.done().expect("it is there");
    let anew: Node = create(&connection, "nodes", node).await.expect("a good node");
    // The garbage collector would do this.
    let old = slices(&connection).await.remove(0);
    let resource = Resource::<ResourceSlice>::named("resourceslices");
    connection.delete(&resource, &old.metadata.name, &DeleteOptions::default()).await.done().expect("there");
    let follows = || async {
        let there = slices(&connection).await;
        there.first().is_some_and(|slice| slice.metadata.owner_references[0].uid == anew.metadata.uid)
    };
    until("the slice belongs to the new node", follows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_without_the_feature_drops_is_said_and_not_sent_again() {
    let partition = |name: &str| {
        let mut device = Device::named(name).draws("gpu-0", &[("memory", "10Gi")]).expect("an amount");
        device.consumes_counters[0].compatibility_groups = vec!["mig".to_owned()];
        device
    };
    let counter_sets = vec![counter_set("gpu-0", &[("memory", "80Gi")]).expect("an amount")];
    let devices = vec![partition("a"), partition("b")];
    let wanted = Pool { name: "n1".to_owned(), devices, counter_sets, ..Pool::default() };
    let connection = with_node(Gates::default().with(Gate::DRADeviceCompatibilityGroups, false)).await;
    let ear = Ear::default();
    let publisher = start(&connection, node(), &ear);
    publisher.publish(vec![wanted.clone()]).expect("a good pool");
    publisher.settled().await;
    let first = slices(&connection).await;
    assert_eq!(
        ear.heard().iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["pool n1: the API server dropped devices[].consumesCounters[].compatibilityGroups; \
          hint: turn on DRADeviceCompatibilityGroups in the API server"]
    );
    publisher.publish(vec![wanted, pool("more", 1)]).expect("good pools");
    publisher.settled().await;
    let second = slices(&connection).await;
    let of_first = |slice: &&ResourceSlice| slice.spec.pool.name == "n1";
    assert!(second.iter().filter(of_first).eq(first.iter()), "nothing was sent again");
    assert_eq!(ear.heard().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_of_a_network_are_reached_from_the_nodes_that_the_pool_names() {
    let connection = served(Gates::default()).await;
    let requirement = NodeSelectorRequirement {
        key: "rack".to_owned(),
        operator: "In".to_owned(),
        values: vec!["r1".to_owned()],
        ..NodeSelectorRequirement::default()
    };
    let term = NodeSelectorTerm { match_expressions: vec![requirement], ..NodeSelectorTerm::default() };
    let selector = NodeSelector { node_selector_terms: vec![term], ..NodeSelector::default() };
    let mut each = pool("each", 2);
    each.reach = Reach::PerDevice;
    each.devices[0].node_name = Some("n1".to_owned());
    each.devices[1].node_selector = Some(selector.clone());
    let all = Pool { reach: Reach::AllNodes, ..pool("all", 1) };
    let rack = Pool { reach: Reach::Nodes(selector), ..pool("rack", 1) };
    let ear = Ear::default();
    let publisher = start(&connection, Scope::Network { owner: None }, &ear);
    publisher.publish(vec![all, each, rack.clone()]).expect("good pools");
    publisher.settled().await;
    let there = slices(&connection).await;
    let reach = |slice: &ResourceSlice| {
        let spec = &slice.spec;
        (spec.all_nodes, spec.per_device_node_selection, spec.node_selector.is_some())
    };
    let expected = [(Some(true), None, false), (None, Some(true), false), (None, None, true)];
    assert_eq!(there.iter().map(reach).collect::<Vec<_>>(), expected);
    // Who may reach a pool can change.
    publisher.publish(vec![Pool { reach: Reach::AllNodes, ..rack }]).expect("a good pool");
    publisher.settled().await;
    assert_eq!(slices(&connection).await.iter().map(reach).collect::<Vec<_>>(), [(Some(true), None, false)]);
    assert_eq!(ear.heard(), []);
}
