//! Those who use a cluster: nodes and devices come and go, pods are made, gated, deleted, and make use of claims.
//!
//! Names are few, so that what is made often has the name of something that went.

use objects::supercargo::annotations::WORKLOAD_LABEL;
use scheduling::request::{ApiCall, Verb};
use serde_json::{Value, json};

use super::api::{Api, named, text};
use super::attacher::{FAILED, READY, TIMEOUT};
use super::dice::Dice;
use super::setup::{Arrangement, Devices, WorldSetup};
use super::trace::Trace;
use super::{extras, gangs, partitions};

/// The names that pods ask for.
pub(crate) const SCHEDULERS: [&str; 2] = ["supercargo", "rival"];

/// How much cpu a node has.
pub(super) const CPU: &str = "2";

const DRIVER: &str = "gpu.example.com";
/// The resource that devices stand for.
pub(crate) const RESOURCE: &str = "example.com/gpu";

const CLAIMS: [&str; 3] = ["shared-0", "shared-1", "shared-2"];
const POD_NAMES: usize = 12;

/// Where pods are that nobody touches.
const RESIDENTS: &str = "residents";

/// Everything that is there from the beginning.
pub(crate) fn furnish(api: &mut Api, setup: &WorldSetup, dice: &mut Dice) {
    furnish_basics(api, setup);
    for at in 0..setup.nodes {
        add_node(api, setup, dice, &format!("node-{at}"));
    }
    for name in &CLAIMS[..2] {
        add_claim(api, setup, dice, name);
    }
    if setup.arrangement == Arrangement::Rivals {
        add_residents(api);
    }
    extras::furnish(api, setup, dice);
    if setup.gangs {
        gangs::groups().iter().for_each(|group| drop(must(api.create(group))));
    }
}

/// What has to be there before nodes, pods and claims.
pub(crate) fn furnish_basics(api: &mut Api, setup: &WorldSetup) {
    let mut all = vec![json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "default" } })];
    for (name, value) in [("low", 0), ("middle", 10), ("high", 100)] {
        let class = json!({ "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": { "name": name }, "value": value });
        all.push(class);
    }
    all.push(class());
    for (name, count) in [("one", 1), ("two", 2)] {
        let mut template = named("resource.k8s.io/v1", "ResourceClaimTemplate", name);
        template["spec"]["spec"] = claim_spec(setup, count);
        all.push(template);
    }
    for object in &all {
        must(api.create(object));
    }
}

/// A pod of each scheduler that never goes anywhere, by which each knows that there is another.
fn add_residents(api: &mut Api) {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": RESIDENTS } });
    must(api.create(&namespace));
    for scheduler in SCHEDULERS {
        let mut pod = named("v1", "Pod", scheduler);
        pod["metadata"]["namespace"] = json!(RESIDENTS);
        pod["spec"] = json!({
            "schedulerName": scheduler,
            "containers": [{ "name": "c", "image": "i" }],
            "resourceClaims": [{ "name": "c", "resourceClaimName": "absent" }],
            "schedulingGates": [{ "name": "example.com/wait" }],
        });
        must(api.create(&pod));
    }
}

/// Somebody does something. Gives the uid of a pod that is removed without waiting for its node.
pub(crate) fn act(
    api: &mut Api,
    setup: &WorldSetup,
    dice: &mut Dice,
    trace: &mut Trace,
    now: i64,
) -> Option<String> {
    let mut told = |what: &str, name: &str| trace.note(now, format_args!("somebody {what} {name}"));
    extras::act_apart(api, setup, dice, &mut told);
    if extras::may_act(setup) && dice.per_mille(250) {
        extras::act(api, setup, dice, &mut told);
        return None;
    }
    match dice.below(100) {
        0..=44 => {
            if let Some(name) = add_pod(api, setup, dice) {
                told("makes pod", &name);
            }
        }
        45..=54 => {
            if let Some(pod) = any(api, "Pod", dice) {
                told("deletes pod", &pod);
                let _ = api.delete("Pod", ("default", &pod), None, None);
            }
        }
        55..=56 => {
            if let Some(name) = any(api, "Pod", dice) {
                told("removes at once pod", &name);
                let pod = api.get("Pod", "default", &name);
                let _ = api.delete("Pod", ("default", &name), Some(0), None);
                return pod.map(|pod| text(&pod["metadata"]["uid"]).to_owned());
            }
        }
        57..=58 => bind_by_hand(api, setup, dice, &mut told),
        59..=66 => ungate(api, dice, &mut told),
        67..=73 => touch(api, dice, "ResourceClaim", &mut told),
        74..=76 => touch(api, dice, "Pod", &mut told),
        77..=83 => {
            let name = CLAIMS[dice.below(CLAIMS.len())];
            if api.get("ResourceClaim", "default", name).is_some() {
                told("deletes claim", name);
                let _ = api.delete("ResourceClaim", ("default", name), None, None);
            } else {
                told("makes claim", name);
                add_claim(api, setup, dice, name);
            }
        }
        84..=89 => {
            let name = format!("node-{}", dice.below(setup.nodes));
            if api.get("Node", "", &name).is_some() {
                told("removes", &name);
                let _ = api.delete("Node", ("", &name), None, None);
            } else {
                told("adds", &name);
                add_node(api, setup, dice, &name);
            }
        }
        90..=93 => {
            let name = format!("node-{}", dice.below(setup.nodes));
            told("publishes other devices of", &name);
            publish(api, setup, &name, dice.below(3));
        }
        94..=95 => {
            let name = format!("node-{}", dice.below(setup.nodes));
            told("contradicts, or no longer, what is published of", &name);
            contradict(api, &name);
        }
        96 => {
            told("takes or gives back class", "gpu");
            if api.delete("DeviceClass", ("", "gpu"), None, None).is_err() {
                must(api.create(&class()));
            }
        }
        _ => {
            let name = format!("node-{}", dice.below(setup.nodes));
            told("takes pods from or gives them to", &name);
            change(api, "Node", "", &name, &|node| {
                node["spec"]["unschedulable"] = json!(node["spec"]["unschedulable"] != true);
            });
        }
    }
    None
}

/// Somebody takes the gates of a pod away.
fn ungate(api: &mut Api, dice: &mut Dice, told: &mut dyn FnMut(&str, &str)) {
    let gated = |pod: &Value| pod["spec"].get("schedulingGates").is_some();
    let pods = api.list("Pod");
    let gated: Vec<_> = pods.iter().filter(|(key, pod)| gated(pod) && &*key.namespace != RESIDENTS).collect();
    if let Some((key, _)) = dice.pick(&gated) {
        told("ungates pod", &key.name);
        change(api, "Pod", &key.namespace, &key.name, &|pod| {
            pod["spec"].as_object_mut().map(|spec| spec.remove("schedulingGates"));
        });
    }
}

/// Somebody who is no scheduler puts a pod that waits on a node, be it there or not.
fn bind_by_hand(api: &mut Api, setup: &WorldSetup, dice: &mut Dice, told: &mut dyn FnMut(&str, &str)) {
    let waits = |pod: &Value| {
        let spec = &pod["spec"];
        let is_free = text(&spec["nodeName"]).is_empty() && spec.get("schedulingGates").is_none();
        // Whoever binds members of gangs by hand answers for where they are.
        let is_free = is_free && spec.get("schedulingGroup").is_none() && !in_workload(pod);
        is_free && may_be_bound_by_hand(setup, spec)
    };
    let pods = api.list("Pod");
    let pods: Vec<_> = pods.iter().filter(|(_, pod)| waits(pod)).collect();
    let Some((key, _)) = dice.pick(&pods) else { return };
    told("binds by hand pod", &key.name);
    let node = any_node(setup, dice);
    let call = ApiCall {
        verb: Verb::Create,
        kind: "Pod",
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        subresource: Some("binding"),
        body: json!({ "metadata": { "name": *key.name, "namespace": *key.namespace },
            "target": { "apiVersion": "v1", "kind": "Node", "name": node } }),
    };
    let _ = api.perform(&call);
}

/// Whether a pod belongs to a workload of our own kind.
fn in_workload(pod: &Value) -> bool {
    pod["metadata"]["labels"].get(WORKLOAD_LABEL).is_some()
}

/// Beside a rival, devices of a pod that is on its node already may be given away at the same moment, and nobody can hold
/// such a pod back. So it is left to pods without claims there.
fn may_be_bound_by_hand(setup: &WorldSetup, spec: &Value) -> bool {
    setup.arrangement != Arrangement::Rivals || spec["resourceClaims"].as_array().is_none_or(Vec::is_empty)
}

/// A node that may be there, or now and then one that never was.
fn any_node(setup: &WorldSetup, dice: &mut Dice) -> String {
    format!("node-{}", if dice.per_mille(100) { 99 } else { dice.below(setup.nodes) })
}

pub(super) fn must<T, E: std::fmt::Debug>(made: Result<T, E>) -> T {
    made.expect("what a world is made of can be admitted")
}

/// The name of any object of a kind.
fn any(api: &mut Api, kind: &str, dice: &mut Dice) -> Option<String> {
    let all = api.list(kind);
    dice.pick(&all).map(|(key, _)| key.name.to_string())
}

pub(super) fn change(api: &mut Api, kind: &str, namespace: &str, name: &str, with: &dyn Fn(&mut Value)) {
    let Some(object) = api.get(kind, namespace, name) else { return };
    let mut object = Value::clone(&object);
    with(&mut object);
    must(api.update(kind, object, false));
}

/// Something changes about an object that decides nothing.
fn touch(api: &mut Api, dice: &mut Dice, kind: &str, told: &mut dyn FnMut(&str, &str)) {
    let label = format!("{}", dice.below(1_000));
    if let Some(name) = any(api, kind, dice) {
        told("labels", &name);
        change(api, kind, "default", &name, &|object| object["metadata"]["labels"]["touched"] = json!(label));
    }
}

fn add_node(api: &mut Api, setup: &WorldSetup, dice: &mut Dice, name: &str) {
    add_machine(api, setup, name, dice.below(3));
}

/// A node with so many devices.
pub(crate) fn add_machine(api: &mut Api, setup: &WorldSetup, name: &str, devices: usize) {
    let room = json!({ "cpu": CPU, "memory": "4Gi", "pods": "6" });
    let mut node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name } },
        "status": { "allocatable": room, "capacity": room } });
    if setup.gangs {
        node["metadata"]["labels"][gangs::RACK] = json!(gangs::rack_of(name));
    }
    must(api.create(&node));
    // Every node is born with a taint, until somebody sees that it is ready.
    must(api.adjust("Node", "", name, |node| {
        node["spec"].as_object_mut().map(|spec| spec.remove("taints"));
        Ok(())
    }));
    publish(api, setup, name, devices);
}

/// The driver of a node tells which devices it has now.
fn publish(api: &mut Api, setup: &WorldSetup, node: &str, count: usize) {
    let name = format!("{node}-gpus");
    let known = api.get("ResourceSlice", "", &name);
    let generation =
        known.as_ref().and_then(|slice| slice["spec"]["pool"]["generation"].as_i64()).unwrap_or(0);
    let mut devices: Vec<Value> = (0..count).map(|at| json!({ "name": format!("gpu-{at}") })).collect();
    let mut slices = 1;
    match setup.devices {
        Devices::Whole => {}
        Devices::Shared => devices.iter_mut().for_each(|device| {
            device["allowMultipleAllocations"] = json!(true);
            device["capacity"] = json!({ "memory": { "value": "3Gi",
                "requestPolicy": { "default": "1Gi", "validRange": { "min": "1Gi", "step": "1Gi" } } } });
        }),
        Devices::Partitioned => {
            slices = 2;
            devices = partitions::devices(count, setup.groups, generation);
        }
    }
    if setup.readied {
        devices.iter_mut().for_each(made_ready_first);
    }
    let spec = |part: Value| {
        let pool = json!({ "name": node, "generation": generation + 1, "resourceSliceCount": slices });
        let mut spec = json!({ "driver": DRIVER, "pool": pool, "nodeName": node });
        for (field, value) in part.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        spec
    };
    if slices == 2 {
        put_slice(
            api,
            &format!("{node}-counters"),
            spec(json!({ "sharedCounters": partitions::counter_sets() })),
        );
    }
    put_slice(api, &name, spec(json!({ "devices": devices })));
}

/// A device has to be made ready before a pod may use it.
fn made_ready_first(device: &mut Value) {
    device["bindsToNode"] = json!(true);
    device["bindingConditions"] = json!([READY]);
    device["bindingFailureConditions"] = json!([FAILED]);
    device["bindingTimeout"] = json!(TIMEOUT);
}

/// A slice says again what another says already, which makes the pool unusable, or is taken away.
fn contradict(api: &mut Api, node: &str) {
    let twin = format!("{node}-twin");
    let Some(slice) = api.get("ResourceSlice", "", &format!("{node}-gpus")) else { return };
    if api.delete("ResourceSlice", ("", &twin), None, None).is_err() {
        put_slice(api, &twin, slice["spec"].clone());
    }
}

fn class() -> Value {
    let expression = format!("device.driver == \"{DRIVER}\"");
    json!({ "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": { "name": "gpu" },
        "spec": { "selectors": [{ "cel": { "expression": expression } }], "extendedResourceName": RESOURCE } })
}

fn put_slice(api: &mut Api, name: &str, spec: Value) {
    let Some(known) = api.get("ResourceSlice", "", name) else {
        let slice = json!({ "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
            "metadata": { "name": name }, "spec": spec });
        must(api.create(&slice));
        return;
    };
    let mut slice = Value::clone(&known);
    slice["spec"] = spec;
    must(api.update("ResourceSlice", slice, false));
}

pub(crate) fn claim_spec(setup: &WorldSetup, count: u32) -> Value {
    let mut exactly = json!({ "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count });
    if setup.devices == Devices::Shared {
        exactly["capacity"] = json!({ "requests": { "memory": format!("{count}Gi") } });
        exactly["count"] = json!(1);
    }
    json!({ "devices": { "requests": [{ "name": "gpu", "exactly": exactly }] } })
}

fn add_claim(api: &mut Api, setup: &WorldSetup, dice: &mut Dice, name: &str) {
    let mut claim = named("resource.k8s.io/v1", "ResourceClaim", name);
    claim["spec"] = claim_spec(setup, 1 + u32::from(dice.per_mille(200)));
    must(api.create(&claim));
}

fn add_pod(api: &mut Api, setup: &WorldSetup, dice: &mut Dice) -> Option<String> {
    let name = format!("p{}", dice.below(POD_NAMES));
    if api.get("Pod", "default", &name).is_some() {
        return None;
    }
    let scheduler = match setup.arrangement {
        Arrangement::Rivals => SCHEDULERS[dice.below(2)],
        Arrangement::Alone | Arrangement::Replicas => SCHEDULERS[0],
    };
    let priority = ["low", "low", "middle", "high"][dice.below(4)];
    let cpu = ["100m", "500m", "900m"][dice.below(3)];
    let mut claims = Vec::new();
    for entry in 0..[0, 1, 1, 1, 2][dice.below(5)] {
        let entry_name = format!("c{entry}");
        claims.push(match dice.below(5) {
            0 | 1 => json!({ "name": entry_name, "resourceClaimName": CLAIMS[dice.below(CLAIMS.len())] }),
            2 | 3 => json!({ "name": entry_name, "resourceClaimTemplateName": "one" }),
            _ => json!({ "name": entry_name, "resourceClaimTemplateName": "two" }),
        });
    }
    // A pod that names a claim twice is refused.
    claims.dedup_by(|a, b| {
        text(&a["resourceClaimName"]) == text(&b["resourceClaimName"]) && a.get("resourceClaimName").is_some()
    });
    let mut pod = named("v1", "Pod", &name);
    pod["spec"] = json!({
        "schedulerName": scheduler,
        "priorityClassName": priority,
        "terminationGracePeriodSeconds": 5,
        "containers": [{ "name": "c", "image": "i", "resources": { "requests": { "cpu": cpu } } }],
        "resourceClaims": claims,
    });
    if dice.per_mille(120) {
        pod["spec"]["schedulingGates"] = json!([{ "name": "example.com/wait" }]);
    }
    if dice.per_mille(100) {
        let node = format!("node-{}", dice.below(setup.nodes));
        pod["spec"]["nodeSelector"] = json!({ "kubernetes.io/hostname": node });
    }
    if dice.per_mille(80) && may_be_bound_by_hand(setup, &pod["spec"]) {
        pod["spec"].as_object_mut().map(|spec| spec.remove("schedulingGates"));
        pod["spec"]["nodeName"] = json!(any_node(setup, dice));
    }
    extras::dress(api, &mut pod, setup, dice);
    if setup.gangs {
        gangs::join(&mut pod, setup, dice);
    }
    must(api.create(&pod));
    Some(name)
}
