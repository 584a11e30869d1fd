//! Groups of groups, workloads of our own kind and topologies in a simulated world: what there is of them, how pods join, and how
//! they change.
//!
//! Invariant: the minimum of a group changes and its level becomes finer or coarser, but who belongs to whom never does. So what
//! every version asks for can be asked at any time.

use objects::supercargo::annotations::{POD_GROUP_LABEL, REPLICA_LABEL, WORKLOAD_LABEL};
use serde_json::{Value, json};

use super::api::{Api, named};
use super::dice::Dice;
use super::extras::{self, Extra, HOSTNAME};
use super::gangs::RACK;
use super::setup::{Arrangement, WorldSetup};
use super::workload::{self, SCHEDULERS, must};

/// Groups of groups: name, parent, and how many of the groups in it are placed at once. The first stays in one rack.
const COMPOSITES: [(&str, Option<&str>, usize); 2] = [("fleet", None, 2), ("crew", Some("fleet"), 1)];
/// Groups in them: name, parent, and how many pods are placed at once.
const LEAVES: [(&str, &str, usize); 3] = [("guide", "fleet", 1), ("left", "crew", 2), ("right", "crew", 1)];
/// A group of a workload of our own kind, whose replicas stay in one rack each.
const WORKLOAD: &str = "train";
const WORKERS: &str = "workers";
const TOPOLOGY: &str = "floor";
/// The level by the name that the topology gives it.
const LEVEL: &str = "rack";

pub(super) fn furnish(api: &mut Api, setup: &WorldSetup, dice: &mut Dice) {
    if setup.has(Extra::Trees) {
        COMPOSITES.iter().for_each(|(name, ..)| turn(api, "CompositePodGroup", name, dice));
        LEAVES.iter().for_each(|(name, ..)| turn(api, "PodGroup", name, dice));
    }
    if setup.has(Extra::Workloads) {
        // One of them comes late, now and then.
        turn_topology(api, dice);
        if dice.per_mille(700) {
            turn_workload(api, dice);
        }
    }
}

/// Somebody changes a tree of groups, or takes a part of it away and makes it again later.
pub(super) fn act_on_tree(api: &mut Api, _: &WorldSetup, dice: &mut Dice, told: &mut dyn FnMut(&str, &str)) {
    let missing = |api: &mut Api, kind: &'static str, name: &'static str| {
        api.get(kind, "default", name).is_none().then_some((kind, name))
    };
    let mut gone: Vec<(&str, &str)> = Vec::new();
    gone.extend(COMPOSITES.iter().filter_map(|(name, ..)| missing(api, "CompositePodGroup", name)));
    gone.extend(LEAVES.iter().filter_map(|(name, ..)| missing(api, "PodGroup", name)));
    if let Some((kind, name)) = dice.pick(&gone) {
        told("makes again group", name);
        return turn(api, kind, name, dice);
    }
    let (leaf, _, _) = LEAVES[dice.below(LEAVES.len())];
    match dice.below(5) {
        0 => {
            let (composite, ..) = COMPOSITES[dice.below(COMPOSITES.len())];
            told("takes group", composite);
            turn(api, "CompositePodGroup", composite, dice);
        }
        1 => {
            told("takes group", leaf);
            turn(api, "PodGroup", leaf, dice);
        }
        _ => {
            told("changes the size of group", leaf);
            let at_least = 1 + dice.below(2);
            workload::change(api, "PodGroup", "default", leaf, &|group| {
                group["spec"]["schedulingPolicy"]["gang"]["minCount"] = json!(at_least);
            });
        }
    }
}

/// A group that is there goes, and one that is not comes.
fn turn(api: &mut Api, kind: &str, name: &str, dice: &mut Dice) {
    if extras::remove(api, kind, "default", name) {
        return;
    }
    let mode = ["single", "all"][dice.below(2)];
    let (parent, policy, level, version) = match kind {
        "PodGroup" => {
            let (_, parent, at_least) = LEAVES[LEAVES.iter().position(|leaf| leaf.0 == name).unwrap_or(0)];
            let level = (name == "left").then_some(HOSTNAME);
            let policy = json!({ "gang": { "minCount": at_least } });
            (Some(parent), policy, level, "scheduling.k8s.io/v1beta1")
        }
        _ => {
            let at = COMPOSITES.iter().position(|one| one.0 == name).unwrap_or(0);
            let (_, parent, at_least) = COMPOSITES[at];
            let policy = json!({ "gang": { "minGroupCount": at_least } });
            (parent, policy, parent.is_none().then_some(RACK), "scheduling.k8s.io/v1alpha3")
        }
    };
    let mut group = named(version, kind, name);
    group["spec"] = json!({
        "schedulingPolicy": policy,
        "priorityClassName": "middle",
        "disruptionMode": { mode: {} },
        "workloadRef": { "workloadName": "w", "templateName": "t" },
    });
    if let Some(level) = level {
        group["spec"]["schedulingConstraints"] = json!({ "topology": [{ "key": level }] });
    }
    if let Some(parent) = parent {
        group["spec"]["parentCompositePodGroupName"] = json!(parent);
    }
    must(api.create(&group));
}

/// Somebody changes a workload or a topology, or takes it away and makes it again later.
pub(super) fn act_on_workload(
    api: &mut Api,
    _: &WorldSetup,
    dice: &mut Dice,
    told: &mut dyn FnMut(&str, &str),
) {
    if dice.per_mille(300) {
        told("changes topology", TOPOLOGY);
        return turn_topology(api, dice);
    }
    told("changes workload", WORKLOAD);
    turn_workload(api, dice);
}

/// A topology that is not there is made; one that is there names another label, or goes.
fn turn_topology(api: &mut Api, dice: &mut Dice) {
    let known = api.get("NodeTopology", "", TOPOLOGY);
    if known.is_some() && dice.per_mille(300) {
        extras::remove(api, "NodeTopology", "", TOPOLOGY);
        return;
    }
    let label = if dice.per_mille(250) { HOSTNAME } else { RACK };
    let levels = json!([{ "name": LEVEL, "nodeLabel": label }]);
    put(api, "NodeTopology", "", TOPOLOGY, json!({ "levels": levels }));
}

/// The same for a workload, which asks for another minimum.
fn turn_workload(api: &mut Api, dice: &mut Dice) {
    let known = api.get("Workload", "default", WORKLOAD);
    if known.is_some() && dice.per_mille(300) {
        extras::remove(api, "Workload", "default", WORKLOAD);
        return;
    }
    let mut gang = json!({ "minCount": 2 + usize::from(dice.per_mille(300)) });
    if let Some(policy) = [None, Some("Replace"), Some("Release")][dice.below(3)] {
        gang["bindingFailurePolicy"] = json!(policy);
    }
    let level = if dice.per_mille(500) { LEVEL } else { RACK };
    let constraints = json!({ "topologyConstraints": [{ "level": level, "mode": "Required" },
        { "level": HOSTNAME, "mode": "Preferred" }] });
    let group = json!({ "name": WORKERS, "replicas": 2, "policy": { "gang": gang },
        "schedulingConstraints": constraints });
    put(api, "Workload", "default", WORKLOAD, json!({ "podGroups": [group] }));
}

/// Makes an object of ours, or changes what it says.
fn put(api: &mut Api, kind: &str, namespace: &str, name: &str, spec: Value) {
    if let Some(known) = api.get(kind, namespace, name) {
        let mut object = Value::clone(&known);
        object["spec"] = spec;
        must(api.update(kind, object, false));
        return;
    }
    let mut object = named("supercargo.dev/v1alpha1", kind, name);
    if namespace.is_empty() {
        object["metadata"].as_object_mut().map(|meta| meta.remove("namespace"));
    }
    object["spec"] = spec;
    must(api.create(&object));
}

/// Lets a pod join a tree or a workload, if the world has one, and says whether it does.
pub(super) fn join(pod: &mut Value, setup: &WorldSetup, dice: &mut Dice) -> bool {
    let joins = |extra: Extra, dice: &mut Dice| setup.has(extra) && dice.per_mille(500);
    let scheduler = if joins(Extra::Trees, dice) {
        let (leaf, ..) = LEAVES[dice.below(LEAVES.len())];
        pod["spec"]["schedulingGroup"] = json!({ "podGroupName": leaf });
        0
    } else if joins(Extra::Workloads, dice) {
        let replica = dice.below(2);
        pod["metadata"]["labels"][WORKLOAD_LABEL] = json!(WORKLOAD);
        pod["metadata"]["labels"][POD_GROUP_LABEL] = json!(WORKERS);
        pod["metadata"]["labels"][REPLICA_LABEL] = json!(replica.to_string());
        1
    } else {
        return false;
    };
    pod["spec"]["priorityClassName"] = json!("middle");
    if setup.arrangement == Arrangement::Rivals {
        // A group has one scheduler.
        pod["spec"]["schedulerName"] = json!(SCHEDULERS[scheduler]);
    }
    true
}
