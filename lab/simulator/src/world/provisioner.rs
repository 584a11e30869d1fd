//! Volumes that are found or made only once it is known where their pod goes, in worlds that have such; and who makes them, slowly
//! and not at the first try.
//!
//! Invariant: of these classes a volume is for one claim for as long as it exists, and a claim has one volume.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use controllers::volumes::{SELECTED_NODE, Storage, VolumeStep};
use objects::Object;
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use serde_json::{Value, json};
use store::Key;

use super::api::{Api, Made, named, text};
use super::dice::Dice;
use super::extras::{self, HOSTNAME};
use super::shown::Shown;
use super::workload::must;
use super::{Happening, World};

/// The class whose volumes are made, for some nodes; and the one whose volumes are there, by name.
pub(super) const MADE: &str = "made";
const FOUND: &str = "found";
pub(super) const PROVISIONER: &str = "late.example.com";
/// Claims with their classes; the last is for one pod at a time.
const CLAIMS: [(&str, &str); 5] =
    [("late-0", MADE), ("late-1", FOUND), ("late-2", FOUND), ("late-3", MADE), ("late-4", MADE)];
/// The volumes that are there, and their nodes.
const VOLUMES: [(&str, &str); 3] = [("found-0", "node-0"), ("found-1", "node-1"), ("found-2", "node-2")];

/// One of these volumes.
pub(super) const ANY: &str = VOLUMES[0].0;

/// What there is from the beginning.
pub(super) fn furnish(api: &mut Api, dice: &mut Dice) {
    let class = |name: &str, provisioner: &str| {
        json!({ "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": { "name": name },
            "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer" })
    };
    let mut made = class(MADE, PROVISIONER);
    let nodes = ["node-0", "node-1", "node-2", "node-3"];
    let values = &nodes[dice.below(2)..2 + dice.below(3)];
    made["allowedTopologies"] = json!([{ "matchLabelExpressions": [{ "key": HOSTNAME, "values": values }] }]);
    must(api.create(&made));
    must(api.create(&class(FOUND, "kubernetes.io/no-provisioner")));
    VOLUMES.iter().for_each(|(name, node)| turn_volume(api, name, node));
    CLAIMS.iter().for_each(|(name, class)| turn_claim(api, name, class));
}

/// Somebody makes or takes such a claim or volume.
pub(super) fn act(api: &mut Api, dice: &mut Dice, told: &mut dyn FnMut(&str, &str)) {
    if dice.per_mille(300) {
        let (name, node) = VOLUMES[dice.below(VOLUMES.len())];
        told("makes or takes volume", name);
        return turn_volume(api, name, node);
    }
    let (name, class) = CLAIMS[dice.below(CLAIMS.len())];
    let is_there = api.get("PersistentVolumeClaim", "default", name).is_some();
    if !is_there || dice.per_mille(300) {
        told("makes or takes volume claim", name);
        turn_claim(api, name, class);
    }
}

/// Gives a pod such a volume, now and then two.
pub(super) fn dress(pod: &mut Value, dice: &mut Dice) {
    let first = dice.below(CLAIMS.len());
    let count = [0, 1, 1, 1, 2][dice.below(5)];
    for at in 0..count {
        let (claim, _) = CLAIMS[(first + at) % CLAIMS.len()];
        let volume = json!({ "name": claim, "persistentVolumeClaim": { "claimName": claim } });
        let spec = &mut pod["spec"];
        if !spec["volumes"].is_array() {
            spec["volumes"] = json!([]);
        }
        spec["volumes"].as_array_mut().into_iter().for_each(|all| all.push(volume.clone()));
    }
}

fn turn_volume(api: &mut Api, name: &str, node: &str) {
    if extras::remove(api, "PersistentVolume", "", name) {
        return;
    }
    let expression = json!({ "key": HOSTNAME, "operator": "In", "values": [node] });
    let volume = json!({ "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": name },
        "spec": { "capacity": { "storage": "2Gi" }, "accessModes": ["ReadWriteOnce"],
            "storageClassName": FOUND, "local": { "path": "/disk" },
            "nodeAffinity": { "required": { "nodeSelectorTerms": [{ "matchExpressions": [expression] }] } } } });
    must(api.create(&volume));
}

fn turn_claim(api: &mut Api, name: &str, class: &str) {
    if extras::remove(api, "PersistentVolumeClaim", "default", name) {
        return;
    }
    let mode = if name == CLAIMS[4].0 { "ReadWriteOncePod" } else { "ReadWriteOnce" };
    let mut claim = named("v1", "PersistentVolumeClaim", name);
    claim["spec"] = json!({ "storageClassName": class, "accessModes": [mode],
        "resources": { "requests": { "storage": "1Gi" } } });
    must(api.create(&claim));
}

impl World {
    /// Whoever makes volumes and joins them with claims takes a step, or none.
    pub(super) fn provide(&mut self) {
        self.agenda.after(self.chances.millis(20, 400), Happening::Provide);
        let storage = storage(&mut self.api);
        let provisions = |provisioner: &str| provisioner == PROVISIONER;
        let claims = storage.claims.values().filter_map(|claim| storage.step_for_claim(claim, provisions));
        let volumes =
            storage.volumes.values().filter_map(|volume| storage.step_for_volume(volume, provisions));
        let steps: Vec<VolumeStep> = claims.chain(volumes).collect();
        let Some(step) = self.chances.pick(&steps).cloned() else { return };
        let is_calm = self.setup.calm;
        if !is_calm && self.chances.per_mille(500) {
            return;
        }
        let VolumeStep::Make(volume) = &step else { return self.take_volume_step(step) };
        let owner = volume.spec.claim_ref.as_ref().map(|owner| owner.name.clone()).unwrap_or_default();
        let fails = !is_calm && self.chances.per_mille(300);
        let what = if fails { "cannot make" } else { "makes" };
        self.trace.note(self.agenda.now(), format_args!("the provisioner {what} a volume for {owner}"));
        if !fails {
            return self.take_volume_step(step);
        }
        let left = self.api.adjust("PersistentVolumeClaim", "default", &owner, |claim| {
            claim["metadata"]["annotations"].as_object_mut().map(|all| all.remove(SELECTED_NODE));
            Ok(())
        });
        must(left);
    }

    fn take_volume_step(&mut self, step: VolumeStep) {
        let api = &mut self.api;
        // Who was overtaken looks again.
        let _ = match step {
            VolumeStep::Make(volume) => api.create(&written(&*volume)),
            VolumeStep::Volume(volume) => api.update("PersistentVolume", written(&*volume), false),
            VolumeStep::VolumeStatus(volume) => api.update("PersistentVolume", written(&*volume), true),
            VolumeStep::Claim(claim) => api.update("PersistentVolumeClaim", written(&*claim), false),
            VolumeStep::ClaimStatus(claim) => api.update("PersistentVolumeClaim", written(&*claim), true),
            VolumeStep::Delete(name) => {
                extras::remove(api, "PersistentVolume", "", &name);
                return;
            }
        };
    }
}

fn written<K: Object>(object: &K) -> Value {
    let mut value = object.write_value();
    (value["apiVersion"], value["kind"]) = (json!(K::API_VERSION), json!(K::KIND));
    value
}

/// What there is of these classes.
fn storage(api: &mut Api) -> Storage {
    let is_late = |object: &Shown| [MADE, FOUND].contains(&text(&object["spec"]["storageClassName"]));
    let claims = api.list("PersistentVolumeClaim");
    let claims = claims.iter().filter(|(_, claim)| is_late(claim));
    let place = |key: &Key| (key.namespace.to_string(), key.name.to_string());
    let claims = claims.map(|(key, claim)| (place(key), Arc::clone(claim.read()))).collect();
    let volumes = api.list("PersistentVolume");
    let volumes = volumes.iter().filter(|(_, volume)| is_late(volume));
    let volumes = volumes.map(|(key, volume)| (key.name.to_string(), Arc::clone(volume.read()))).collect();
    Storage {
        claims,
        volumes,
        classes: by_name(api, "StorageClass"),
        nodes: by_name(api, "Node"),
        storage_nodes: BTreeMap::new(),
        used: BTreeSet::new(),
    }
}

fn by_name<K: Object + Send + Sync + 'static>(api: &mut Api, kind: &str) -> BTreeMap<String, Arc<K>> {
    let all = api.list(kind);
    all.iter().map(|(key, object)| (key.name.to_string(), Arc::clone(object.read()))).collect()
}

/// Volumes of these classes, as they ever were.
#[derive(Debug, Default)]
pub(super) struct VolumeRecord {
    /// Nodes that reach a volume, as any volume of the name had them.
    reach: BTreeMap<String, BTreeSet<String>>,
    /// The claim that has a volume, by the uids of both.
    owners: BTreeMap<String, String>,
    /// The volume of a claim, by the uid of the claim.
    given: BTreeMap<String, String>,
}

impl VolumeRecord {
    /// Takes in what became of a volume or a claim, and says what is wrong since.
    pub fn see(&mut self, made: &Made, object: &Shown) -> Option<String> {
        let (name, uid) = (&*made.event.key.name, text(&object["metadata"]["uid"]));
        let is_late = [MADE, FOUND].contains(&text(&object["spec"]["storageClassName"]));
        if !is_late || made.event.change == store::Change::Deleted {
            return None;
        }
        match made.site.kind.kind.as_str() {
            PersistentVolume::KIND => {
                let volume = object.read::<PersistentVolume>();
                let affinity = volume.spec.node_affinity.as_ref().and_then(|one| one.required.as_ref());
                let terms = affinity.into_iter().flat_map(|one| &one.node_selector_terms);
                let nodes = terms.flat_map(|term| &term.match_expressions).flat_map(|one| one.values.clone());
                self.reach.entry(name.to_owned()).or_default().extend(nodes);
                let owner = volume.spec.claim_ref.as_ref().filter(|owner| !owner.uid.is_empty())?;
                let before = self.owners.insert(uid.to_owned(), owner.uid.clone())?;
                (before != owner.uid).then(|| format!("volume {name} goes from one claim to another"))
            }
            PersistentVolumeClaim::KIND => {
                let volume = text(&object["spec"]["volumeName"]);
                if volume.is_empty() {
                    return None;
                }
                let before = self.given.insert(uid.to_owned(), volume.to_owned())?;
                (before != volume).then(|| format!("claim {name} had volume {before} and has {volume}"))
            }
            _ => None,
        }
    }

    /// Whether a node reached a volume of this name.
    pub fn reaches(&self, volume: &str, node: &str) -> bool {
        self.reach.get(volume).is_some_and(|nodes| nodes.contains(node))
    }
}
