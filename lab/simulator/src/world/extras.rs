//! What some worlds have besides nodes, devices, pods, claims and gangs, and what those who use the cluster do with it: disruption
//! budgets, rules that taint devices, volumes, namespaces that rules about pods pick, services and owners. Objects appear late,
//! change, and vanish while pods depend on them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::api::{Api, named, text};
use super::dice::Dice;
use super::node_taints;
use super::provisioner;
use super::setup::{Arrangement, Sabotage, WorldSetup};
use super::storage;
use super::trees;
use super::workload::{self, SCHEDULERS, must};

/// Something that a world has or has not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Extra {
    /// Groups of groups.
    Trees,
    /// Workloads of our own kind, and topologies by which they name levels.
    Workloads,
    /// Disruption budgets.
    Budgets,
    /// Rules that taint devices.
    TaintRules,
    /// Volumes that only some nodes reach.
    Volumes,
    /// Pods that stay away from those of other namespaces.
    Neighbours,
    /// Services and owners whose pods are spread.
    Companions,
    /// Volumes that are found or made only once it is known where their pod goes.
    Provisioned,
    /// Taints of nodes, and pods that tolerate them.
    NodeTaints,
    /// What storage drivers say of nodes and volumes.
    StorageDrivers,
}

impl Extra {
    /// Every one.
    pub const ALL: [Extra; 10] = [
        Extra::Trees,
        Extra::Workloads,
        Extra::Budgets,
        Extra::TaintRules,
        Extra::Volumes,
        Extra::Neighbours,
        Extra::Companions,
        Extra::Provisioned,
        Extra::NodeTaints,
        Extra::StorageDrivers,
    ];

    /// Whether dice of its own decide about it. It came later than the others, and leaves what these decide as it was.
    fn is_apart(self) -> bool {
        matches!(self, Extra::NodeTaints | Extra::StorageDrivers)
    }

    /// What is needed for a mistake to matter.
    fn for_mistake(sabotage: Sabotage) -> &'static [Extra] {
        match sabotage {
            Sabotage::ForgetsParents => &[Extra::Trees],
            Sabotage::ForgetsLevels => &[Extra::Workloads],
            Sabotage::DeafToBudgets | Sabotage::MistakesPriorities => &[Extra::Budgets],
            Sabotage::DeafToTaintRules => &[Extra::TaintRules],
            Sabotage::ForgetsReach | Sabotage::SharesVolumes => &[Extra::Volumes],
            Sabotage::DeafToNamespaces => &[Extra::Neighbours],
            Sabotage::DeafToServices => &[Extra::Companions],
            Sabotage::SkipsVolumes => &[Extra::Provisioned],
            Sabotage::ForgetsLimits | Sabotage::ForgetsCapacity => {
                &[Extra::Volumes, Extra::Provisioned, Extra::StorageDrivers]
            }
            Sabotage::DeafToTaints => &[Extra::NodeTaints],
            _ => &[],
        }
    }
}

/// What a world has: each in one of three. Groups of groups and workloads go with gangs.
pub(super) fn of_world(seed: u64, sabotage: Sabotage, gangs: bool) -> BTreeSet<Extra> {
    // Of numbers of their own, so that worlds without any stay what they were.
    let mut dice = Dice::new(seed, 5);
    let drawn = Extra::ALL.into_iter().filter(|extra| !extra.is_apart() && dice.below(3) == 0);
    let drawn = drawn.collect::<Vec<_>>();
    let taints = node_taints::are_in(seed).then_some(Extra::NodeTaints);
    let drivers = storage::is_in(seed, &drawn).then_some(Extra::StorageDrivers);
    let needed = Extra::for_mistake(sabotage).iter().copied();
    let is_possible = |extra: &Extra| gangs || !matches!(extra, Extra::Trees | Extra::Workloads);
    drawn.into_iter().chain(taints).chain(drivers).chain(needed).filter(is_possible).collect()
}

/// The namespace of the other pods.
pub(super) const ANNEX: &str = "annex";
/// The label of namespaces by which rules pick them, and its values.
pub(super) const TEAM: &str = "example.com/team";
pub(super) const TEAMS: [&str; 2] = ["red", "blue"];
/// The label by which budgets, services and rules pick pods.
pub(super) const APP: &str = "app";
const APPS: [&str; 2] = ["web", "batch"];
const RULES: [&str; 2] = ["hot", "worn"];
/// Claims for volumes; the last of them is for one pod at a time.
const DISKS: [&str; 3] = ["disk-0", "disk-1", "disk-2"];
pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";
/// Volumes, and the nodes that reach each of them. It is the same for all volumes that ever have the name.
pub(super) const VOLUMES: [(&str, &[&str]); 3] = [
    ("pv-0", &["node-0", "node-1"]),
    ("pv-1", &["node-1", "node-2"]),
    ("pv-2", &["node-0", "node-2", "node-3"]),
];

/// What there is from the beginning.
pub(super) fn furnish(api: &mut Api, setup: &WorldSetup, dice: &mut Dice) {
    trees::furnish(api, setup, dice);
    for extra in &setup.extras {
        match extra {
            Extra::Trees | Extra::Workloads | Extra::NodeTaints => {}
            Extra::StorageDrivers => storage::furnish(api, setup, dice),
            Extra::Budgets => turn_budget(api, APPS[0], dice),
            Extra::TaintRules => {
                let mut template = named("resource.k8s.io/v1", "ResourceClaimTemplate", "bold");
                template["spec"]["spec"] = workload::claim_spec(setup, 1);
                template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] =
                    json!([{ "key": RULES[0], "operator": "Exists" }]);
                must(api.create(&template));
                turn_rule(api, setup, RULES[0], dice);
            }
            Extra::Volumes => {
                let class = json!({ "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                    "metadata": { "name": "disks" }, "provisioner": "example.com/disks" });
                must(api.create(&class));
                VOLUMES.iter().for_each(|(name, _)| turn_volume(api, setup, name));
                DISKS.iter().for_each(|name| turn_disk(api, name, dice));
            }
            // From the beginning, since rules about namespaces can be kept only by who knows of them.
            Extra::Neighbours => {
                let namespace = json!({ "apiVersion": "v1", "kind": "Namespace",
                    "metadata": { "name": ANNEX, "labels": { TEAM: TEAMS[0] } } });
                must(api.create(&namespace));
            }
            Extra::Companions => turn_companion(api, dice.below(4)),
            Extra::Provisioned => provisioner::furnish(api, dice),
        }
    }
}

/// Somebody does something with what not every world has.
pub(super) fn act(api: &mut Api, setup: &WorldSetup, dice: &mut Dice, told: &mut dyn FnMut(&str, &str)) {
    let extras: Vec<Extra> = setup.extras.iter().copied().filter(|extra| !extra.is_apart()).collect();
    let Some(extra) = dice.pick(&extras) else { return };
    match extra {
        Extra::Trees => trees::act_on_tree(api, setup, dice, told),
        Extra::Workloads => trees::act_on_workload(api, setup, dice, told),
        Extra::Budgets => {
            let app = APPS[dice.below(APPS.len())];
            told("makes, changes or takes the budget of", app);
            turn_budget(api, app, dice);
        }
        Extra::TaintRules => {
            let rule = RULES[dice.below(RULES.len())];
            told("makes, changes or takes rule", rule);
            turn_rule(api, setup, rule, dice);
        }
        Extra::Volumes if dice.per_mille(250) => {
            let (name, _) = VOLUMES[dice.below(VOLUMES.len())];
            told("makes or takes volume", name);
            turn_volume(api, setup, name);
        }
        Extra::Volumes => {
            let name = DISKS[dice.below(DISKS.len())];
            told("makes, binds or takes volume claim", name);
            turn_disk(api, name, dice);
        }
        Extra::Neighbours => act_in_annex(api, setup, dice, told),
        Extra::Companions => {
            let at = dice.below(4);
            told("makes or takes a service or an owner,", &at.to_string());
            turn_companion(api, at);
        }
        Extra::Provisioned => provisioner::act(api, dice, told),
        // They have dice of their own.
        Extra::NodeTaints | Extra::StorageDrivers => {}
    }
}

/// A user changes one of the extra objects, in addition to the usual changes.
pub(super) fn act_apart(api: &mut Api, setup: &WorldSetup, aside: &Dice, told: &mut dyn FnMut(&str, &str)) {
    if setup.has(Extra::NodeTaints) {
        node_taints::act_beside(api, setup.nodes, aside, told);
    }
    if setup.has(Extra::StorageDrivers) {
        storage::act_beside(api, setup, aside, told);
    }
}

/// Whether a world has what is chosen from when something is done.
pub(super) fn may_act(setup: &WorldSetup) -> bool {
    setup.extras.iter().any(|extra| !extra.is_apart())
}

/// Gives a pod what it has to do with all this.
pub(super) fn dress(api: &mut Api, pod: &mut Value, setup: &WorldSetup, dice: &mut Dice) {
    if setup.has(Extra::NodeTaints) {
        node_taints::dress(pod, dice);
    }
    let app = APPS[dice.below(APPS.len())];
    if !may_act(setup) {
        return;
    }
    pod["metadata"]["labels"][APP] = json!(app);
    if setup.has(Extra::Volumes) && dice.per_mille(300) {
        let disk = DISKS[dice.below(DISKS.len())];
        pod["spec"]["volumes"] = json!([{ "name": "v", "persistentVolumeClaim": { "claimName": disk } }]);
    }
    if setup.has(Extra::Provisioned) {
        provisioner::dress(pod, dice);
    }
    if setup.has(Extra::Neighbours) && dice.per_mille(400) {
        let term = json!({ "topologyKey": HOSTNAME, "labelSelector": { "matchLabels": { APP: APPS[0] } },
            "namespaceSelector": { "matchLabels": { TEAM: TEAMS[0] } } });
        pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!([term]);
    }
    if setup.has(Extra::TaintRules) {
        let claims = pod["spec"]["resourceClaims"].as_array_mut().into_iter().flatten();
        let own = claims.filter(|claim| text(&claim["resourceClaimTemplateName"]) == "one");
        own.filter(|_| dice.per_mille(400))
            .for_each(|claim| claim["resourceClaimTemplateName"] = json!("bold"));
    }
    if setup.has(Extra::Companions) && dice.per_mille(300) {
        let (kind, api_version, name) = OWNERS[dice.below(OWNERS.len())];
        if let Some(owner) = api.get(kind, "default", name) {
            pod["metadata"]["ownerReferences"] = json!([{ "apiVersion": api_version, "kind": kind,
                "name": name, "uid": owner["metadata"]["uid"], "controller": true }]);
        }
    }
}

/// Takes an object away whatever protects it.
pub(super) fn remove(api: &mut Api, kind: &str, namespace: &str, name: &str) -> bool {
    if api.get(kind, namespace, name).is_none() {
        return false;
    }
    let bared = api.adjust(kind, namespace, name, |object| {
        object["metadata"].as_object_mut().map(|meta| meta.remove("finalizers"));
        Ok(())
    });
    must(bared);
    must(api.delete(kind, (namespace, name), None, None));
    true
}

/// A budget that is not there is made; one that is there allows another number, or goes.
fn turn_budget(api: &mut Api, app: &str, dice: &mut Dice) {
    let is_there = api.get("PodDisruptionBudget", "default", app).is_some();
    if is_there && dice.per_mille(300) {
        remove(api, "PodDisruptionBudget", "default", app);
        return;
    }
    let allowed = dice.below(3);
    let status = json!({ "disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 1,
        "expectedPods": 2, "observedGeneration": 1 });
    if is_there {
        let changed = api.adjust("PodDisruptionBudget", "default", app, |budget| {
            budget["status"] = status;
            Ok(())
        });
        must(changed);
        return;
    }
    let mut budget = named("policy/v1", "PodDisruptionBudget", app);
    budget["spec"] = json!({ "minAvailable": 1, "selector": { "matchLabels": { APP: app } } });
    budget["status"] = status;
    must(api.create(&budget));
}

/// A rule that is not there is made; one that is there is for other devices, or goes.
fn turn_rule(api: &mut Api, setup: &WorldSetup, name: &str, dice: &mut Dice) {
    let pool = format!("node-{}", dice.below(setup.nodes));
    let selector = match dice.below(3) {
        0 => json!({ "pool": pool }),
        1 => json!({ "pool": pool, "device": "gpu-0" }),
        _ => json!({ "driver": "gpu.example.com", "device": "gpu-1" }),
    };
    match api.get("DeviceTaintRule", "", name) {
        Some(_) if dice.per_mille(400) => drop(remove(api, "DeviceTaintRule", "", name)),
        Some(known) => {
            let mut rule = Value::clone(&known);
            rule["spec"]["deviceSelector"] = selector;
            must(api.update("DeviceTaintRule", rule, false));
        }
        None => {
            let effect = ["NoSchedule", "NoExecute"][dice.below(2)];
            let rule = json!({ "apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule",
                "metadata": { "name": name },
                "spec": { "deviceSelector": selector, "taint": { "key": name, "value": "x", "effect": effect } } });
            must(api.create(&rule));
        }
    }
}

fn turn_volume(api: &mut Api, setup: &WorldSetup, name: &str) {
    if remove(api, "PersistentVolume", "", name) {
        return;
    }
    let nodes = VOLUMES.iter().find(|known| known.0 == name).map_or(&[][..], |known| known.1);
    let expression = json!({ "key": HOSTNAME, "operator": "In", "values": nodes });
    let (kind, source) = storage::source(setup, name);
    let volume = json!({ "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": name },
        "spec": { "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "disks", kind: source,
            "nodeAffinity": { "required": { "nodeSelectorTerms": [{ "matchExpressions": [expression] }] } } } });
    must(api.create(&volume));
}

/// A claim that is not there is made; one that has no volume gets one; one that has goes.
fn turn_disk(api: &mut Api, name: &str, dice: &mut Dice) {
    const BOUND: &str = "pv.kubernetes.io/bind-completed";
    let (volume, _) = VOLUMES[dice.below(VOLUMES.len())];
    let is_bound = dice.per_mille(700);
    let Some(known) = api.get("PersistentVolumeClaim", "default", name) else {
        let mode = if name == DISKS[2] { "ReadWriteOncePod" } else { "ReadWriteOnce" };
        let mut claim = named("v1", "PersistentVolumeClaim", name);
        claim["spec"] = json!({ "storageClassName": "disks", "accessModes": [mode],
            "resources": { "requests": { "storage": "1Gi" } } });
        if is_bound {
            claim["spec"]["volumeName"] = json!(volume);
            claim["metadata"]["annotations"] = json!({ BOUND: "yes" });
        }
        must(api.create(&claim));
        return;
    };
    if text(&known["spec"]["volumeName"]).is_empty() {
        let mut claim = Value::clone(&known);
        claim["spec"]["volumeName"] = json!(volume);
        claim["metadata"]["annotations"][BOUND] = json!("yes");
        must(api.update("PersistentVolumeClaim", claim, false));
        return;
    }
    remove(api, "PersistentVolumeClaim", "default", name);
}

/// Pods come and go in the other namespace, and in every other world it changes its team.
fn act_in_annex(api: &mut Api, setup: &WorldSetup, dice: &mut Dice, told: &mut dyn FnMut(&str, &str)) {
    if setup.nodes.is_multiple_of(2) && dice.per_mille(200) {
        let team = TEAMS[dice.below(TEAMS.len())];
        told("gives the other namespace to", team);
        workload::change(api, "Namespace", "", ANNEX, &|namespace| {
            namespace["metadata"]["labels"][TEAM] = json!(team);
        });
        return;
    }
    let name = format!("n{}", dice.below(3));
    if api.get("Pod", ANNEX, &name).is_some() {
        told("deletes the other pod", &name);
        let _ = api.delete("Pod", (ANNEX, &name), None, None);
        return;
    }
    told("makes the other pod", &name);
    let mut pod = named("v1", "Pod", &name);
    pod["metadata"]["namespace"] = json!(ANNEX);
    pod["metadata"]["labels"] = json!({ APP: APPS[0] });
    let is_rival = setup.arrangement == Arrangement::Rivals && dice.per_mille(500);
    pod["spec"] = json!({
        "schedulerName": SCHEDULERS[usize::from(is_rival)],
        "priorityClassName": "low",
        "terminationGracePeriodSeconds": 5,
        "containers": [{ "name": "c", "image": "i", "resources": { "requests": { "cpu": "100m" } } }],
    });
    must(api.create(&pod));
}

/// Owners of pods: kind, version and name.
pub(super) const OWNERS: [(&str, &str, &str); 3] = [
    ("ReplicaSet", "apps/v1", "rs"),
    ("StatefulSet", "apps/v1", "set"),
    ("ReplicationController", "v1", "rc"),
];

/// A service or an owner that is not there is made, and one that is there goes.
fn turn_companion(api: &mut Api, at: usize) {
    let Some((kind, api_version, name)) = OWNERS.get(at) else {
        if !remove(api, "Service", "default", "front") {
            let mut service = named("v1", "Service", "front");
            service["spec"] = json!({ "selector": { APP: APPS[0] }, "ports": [{ "port": 80 }] });
            must(api.create(&service));
        }
        return;
    };
    if remove(api, kind, "default", name) {
        return;
    }
    let labels = json!({ APP: APPS[1] });
    let mut owner = named(api_version, kind, name);
    let selector = match *kind {
        "ReplicationController" => labels.clone(),
        _ => json!({ "matchLabels": labels }),
    };
    owner["spec"] = json!({ "replicas": 0, "selector": selector,
        "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } } });
    must(api.create(&owner));
}
