//! What storage drivers say, in some of the worlds that have volumes: which drivers are on a node and how many volumes each attaches
//! there, how much storage there is for a node, and what is attached. All of it arrives late, changes and vanishes.
//!
//! Invariant: a scheduler that has just decided on a node for a pod keeps what it was told by drivers. Pods that it has on their way
//! besides only make it stricter.

use std::collections::BTreeSet;
use std::sync::Arc;

use objects::Object;
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use objects::core::pod::Pod;
use objects::storage::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use scheduler::write::Write;
use serde_json::{Value, json};
use store::Key;

use super::World;
use super::api::{Api, named};
use super::dice::Dice;
use super::extras::{self, Extra, HOSTNAME, VOLUMES};
use super::provisioner::{MADE, PROVISIONER};
use super::replica::Replica;
use super::rules::{disks, known, told_of};
use super::setup::WorldSetup;
use super::workload::{change, must};

/// What the dice for all this are for.
const PURPOSE: u64 = 13;

/// The driver of volumes that are there, and the one of volumes that are made.
const DRIVERS: [&str; 2] = ["disks.example.com", PROVISIONER];

/// Whether a world that has volumes has this: one in two. Of numbers of its own, so that the other worlds stay what they were.
pub(super) fn is_in(seed: u64, extras: &[Extra]) -> bool {
    let has_volumes = extras.contains(&Extra::Volumes) || extras.contains(&Extra::Provisioned);
    has_volumes && Dice::new(seed, PURPOSE).below(2) == 0
}

/// What there is from the beginning.
pub(super) fn furnish(api: &mut Api, setup: &WorldSetup, aside: &Dice) {
    let mut dice = aside.aside(PURPOSE);
    for at in 0..setup.nodes {
        turn_node(api, &node_name(at), &mut dice);
        turn_capacity(api, &node_name(at), &mut dice);
    }
    DRIVERS.iter().for_each(|driver| turn_driver(api, driver, &mut dice));
}

/// A driver says something else, now and then: `aside` are dice that are left where they are.
pub(super) fn act_beside(api: &mut Api, setup: &WorldSetup, aside: &Dice, told: &mut dyn FnMut(&str, &str)) {
    let mut dice = aside.aside(PURPOSE);
    if !dice.per_mille(300) {
        return;
    }
    let node = node_name(dice.below(setup.nodes));
    match dice.below(10) {
        0..=3 => {
            told("changes what drivers say of", &node);
            turn_node(api, &node, &mut dice);
        }
        4..=6 => {
            told("changes how much storage there is for", &node);
            turn_capacity(api, &node, &mut dice);
        }
        7 | 8 => {
            let name = format!("attachment-{}", dice.below(3));
            told("attaches or detaches", &name);
            turn_attachment(api, &name, &node, &mut dice);
        }
        _ => {
            let driver = DRIVERS[dice.below(DRIVERS.len())];
            told("changes storage driver", driver);
            turn_driver(api, driver, &mut dice);
        }
    }
}

fn node_name(at: usize) -> String {
    format!("node-{at}")
}

/// Where a volume that is there comes from.
pub(super) fn source(setup: &WorldSetup, name: &str) -> (&'static str, Value) {
    if setup.has(Extra::StorageDrivers) {
        ("csi", json!({ "driver": DRIVERS[0], "volumeHandle": name }))
    } else {
        ("local", json!({ "path": "/disk" }))
    }
}

/// What drivers say of a node is said, or something else, or nothing any more.
fn turn_node(api: &mut Api, node: &str, dice: &mut Dice) {
    let driver = |name: &&str| {
        let count = [json!(1), json!(2), json!(3), Value::Null][dice.below(4)].clone();
        let allocatable = if count.is_null() { json!({}) } else { json!({ "count": count }) };
        let driver = json!({ "name": name, "nodeID": node, "allocatable": allocatable });
        (!dice.per_mille(100)).then_some(driver)
    };
    let drivers: Vec<Value> = DRIVERS.iter().filter_map(driver).collect();
    if api.get(CSINode::KIND, "", node).is_none() {
        let spec = json!({ "drivers": drivers });
        must(api.create(&cluster_wide(CSINode::KIND, node, &spec)));
    } else if dice.per_mille(300) {
        extras::remove(api, CSINode::KIND, "", node);
    } else {
        change(api, CSINode::KIND, "", node, &|object| object["spec"]["drivers"] = json!(drivers));
    }
}

/// There is storage for a node, or more or less, or nothing is said of it any more.
fn turn_capacity(api: &mut Api, node: &str, dice: &mut Dice) {
    let capacity = ["0", "1Gi", "1Gi", "5Gi"][dice.below(4)];
    if api.get(CSIStorageCapacity::KIND, "default", node).is_none() {
        let mut object = named(CSIStorageCapacity::API_VERSION, CSIStorageCapacity::KIND, node);
        object["storageClassName"] = json!(MADE);
        object["nodeTopology"] = json!({ "matchLabels": { HOSTNAME: node } });
        object["capacity"] = json!(capacity);
        must(api.create(&object));
    } else if dice.per_mille(200) {
        extras::remove(api, CSIStorageCapacity::KIND, "default", node);
    } else {
        change(api, CSIStorageCapacity::KIND, "default", node, &|object| {
            object["capacity"] = json!(capacity)
        });
    }
}

/// A driver is there, with other wishes than before, or goes.
fn turn_driver(api: &mut Api, name: &str, dice: &mut Dice) {
    if extras::remove(api, CSIDriver::KIND, "", name) && dice.per_mille(400) {
        return;
    }
    let (tells_capacity, must_be_there) = (dice.per_mille(600), dice.per_mille(250));
    let spec = json!({ "storageCapacity": tells_capacity, "preventPodSchedulingIfMissing": must_be_there });
    must(api.create(&cluster_wide(CSIDriver::KIND, name, &spec)));
}

/// A volume is attached to a node without regard to pods, or no longer.
fn turn_attachment(api: &mut Api, name: &str, node: &str, dice: &mut Dice) {
    if extras::remove(api, VolumeAttachment::KIND, "", name) {
        return;
    }
    let (volume, _) = VOLUMES[dice.below(VOLUMES.len())];
    let source = json!({ "persistentVolumeName": volume });
    let spec = json!({ "attacher": DRIVERS[0], "nodeName": node, "source": source });
    must(api.create(&cluster_wide(VolumeAttachment::KIND, name, &spec)));
}

fn cluster_wide(kind: &str, name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": CSINode::API_VERSION, "kind": kind, "metadata": { "name": name }, "spec": spec })
}

/// What is attached to a node once: the driver, and its name of the volume, or the claim that has none yet.
type Unit = (String, String);

/// What a scheduler was told of storage.
struct Told<'r>(&'r Replica);

impl Told<'_> {
    fn volume(&self, name: &str) -> Option<&Arc<PersistentVolume>> {
        told_of(self.0, &Key::new("", name))
    }

    /// What a pod attaches, as far as it is counted.
    fn units<'t>(&'t self, pod: &'t Pod) -> impl Iterator<Item = Unit> + 't {
        disks(pod).filter_map(|disk| {
            let namespace = &pod.metadata.namespace;
            let claim: &Arc<PersistentVolumeClaim> = told_of(self.0, &Key::new(namespace, disk))?;
            match self.volume(&claim.spec.volume_name) {
                Some(volume) => unit_of(volume),
                None => {
                    let class = claim.spec.storage_class_name.as_deref()?;
                    let class: &Arc<StorageClass> = told_of(self.0, &Key::new("", class))?;
                    Some((class.provisioner.clone(), format!("claim {namespace}/{disk}")))
                }
            }
        })
    }

    /// What is attached to a node by pods that are there, or without any.
    fn attached(&self, node: &str) -> BTreeSet<Unit> {
        let pods: Vec<Pod> = known(self.0);
        let here = pods.iter().filter(|pod| pod.spec.node_name == node);
        let used: BTreeSet<Unit> = here.flat_map(|pod| self.units(pod).collect::<Vec<_>>()).collect();
        let attachments: Vec<VolumeAttachment> = known(self.0);
        let here = attachments.iter().filter(|one| one.spec.node_name == node);
        let unused = here.filter_map(|one| {
            let volume = self.volume(one.spec.source.persistent_volume_name.as_deref()?)?;
            unit_of(volume).map(|(_, volume)| (one.spec.attacher.clone(), volume))
        });
        used.into_iter().chain(unused).collect()
    }

    /// What is wrong with a pod on a node.
    fn wrong(&self, pod: &Pod, node: &str) -> Option<String> {
        let attached = self.attached(node);
        let all: BTreeSet<Unit> = attached.iter().cloned().chain(self.units(pod)).collect();
        let said: Option<&Arc<CSINode>> = told_of(self.0, &Key::new("", node));
        let mut drivers = self.units(pod).filter(|unit| !attached.contains(unit)).map(|(driver, _)| driver);
        drivers.find_map(|driver| {
            let there = said.and_then(|said| said.spec.drivers.iter().find(|one| one.name == driver));
            let most = there.and_then(|there| there.allocatable.as_ref()).and_then(|one| one.count);
            let count = all.iter().filter(|unit| unit.0 == driver).count();
            if most.and_then(|most| usize::try_from(most).ok()).is_some_and(|most| count > most) {
                let most = most.unwrap_or_default();
                return Some(format!(
                    "{driver} attaches at most {most} volumes there, and these are {count}"
                ));
            }
            let known: Option<&Arc<CSIDriver>> = told_of(self.0, &Key::new("", &driver));
            let must_be_there = known?.spec.prevent_pod_scheduling_if_missing == Some(true);
            (must_be_there && there.is_none()).then(|| format!("{driver} has to be there, and is not"))
        })
    }

    /// What is wrong with a volume that is to be provisioned for a node.
    fn lacks_storage(&self, claim: &Key, node: &str) -> Option<String> {
        let claim: &Arc<PersistentVolumeClaim> = told_of(self.0, claim)?;
        let class = claim.spec.storage_class_name.as_deref()?;
        let provisioner = &told_of::<StorageClass>(self.0, &Key::new("", class))?.provisioner;
        let driver: &Arc<CSIDriver> = told_of(self.0, &Key::new("", provisioner))?;
        let capacities: Vec<CSIStorageCapacity> = known(self.0);
        let asked = claim.spec.resources.requests.get("storage")?;
        let suffices = |one: &CSIStorageCapacity| {
            let is_here = one.node_topology.as_ref().and_then(|nodes| nodes.match_labels.get(HOSTNAME));
            is_here.is_some_and(|here| here == node)
                && one.storage_class_name == class
                && one.capacity.as_ref().is_some_and(|capacity| capacity.0 >= asked.0)
        };
        let is_counted = driver.spec.storage_capacity == Some(true);
        let name = &claim.metadata.name;
        (is_counted && !capacities.iter().any(suffices)).then(|| format!("no storage is there for {name}"))
    }
}

/// What a volume is to its driver, if it has one.
fn unit_of(volume: &Arc<PersistentVolume>) -> Option<Unit> {
    let csi = volume.spec.csi.as_ref()?;
    Some((csi.driver.clone(), format!("volume {}", csi.volume_handle)))
}

impl World {
    /// A scheduler has just decided on a node for a pod with volumes: drivers, as it was told, attach so many there, and have storage.
    pub(super) fn check_storage(&mut self, replica: usize, write: &Write, is_deciding: bool) {
        if !self.setup.has(Extra::StorageDrivers) {
            return;
        }
        let told = Told(&self.replicas[replica]);
        let mut wrong = Vec::new();
        for (pod, node, _) in self.wishes(write, is_deciding).into_iter().filter(|(.., is_new)| *is_new) {
            let lack = match write {
                Write::SelectNode { claim, .. } => {
                    told.lacks_storage(&Key::new(&claim.namespace, &claim.name), node)
                }
                _ => None,
            };
            let name = &pod.metadata.name;
            let told = told.wrong(&pod, node).into_iter().chain(lack);
            wrong.extend(told.map(|what| format!("scheduler {replica} wants pod {name} on {node}: {what}")));
        }
        self.note_violations(wrong);
    }
}
