//! What is published: for each model a pool of free devices, and a pool for each node where some are attached and idle.
//!
//! Invariant: there are as many devices in a pool as can be had. Their names are numbers; one that a claim holds is not given to
//! another device, because schedulers would take it for the claim's.

use std::collections::{BTreeMap, BTreeSet};

use objects::Quantity;
use objects::core::affinity::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
use objects::resource::slice::{Device, DeviceAttribute, DeviceCapacity, DeviceTaint, ResourceSlice};
use objects::supercargo::device_attachment::DeviceAttachment;

use super::choose::is_free;
use super::inventory::Unit;
use super::ledger::{Phase, phase};
use super::names::{ATTACH_FAILED, ATTACHED, FABRIC_LABEL, Pool, RESTING, WITHHELD, part, slot};
use super::room::Room;
use super::scene::{Model, Scene};
use super::{FabricAction, FabricDecision, HandOver};

/// The API takes so many devices in a slice if they may have taints.
const DEVICES_PER_SLICE: usize = 64;

/// The devices of a pool.
struct Offer {
    pool: Pool,
    /// Devices that can be had.
    ready: usize,
    /// Names of devices that rest, as far as they have one.
    resting: Vec<Option<String>>,
    nodes: NodeSelector,
    like: Device,
}

/// Publishes what can be had, and withdraws what cannot.
pub(super) fn offer(scene: &Scene<'_>, decision: &mut FabricDecision) {
    if scene.slices.iter().any(|slice| is_unsafe(slice)) {
        return withhold(scene, decision);
    }
    let room = Room::of(scene);
    let mut wanted: BTreeMap<String, ResourceSlice> = BTreeMap::new();
    let mut idle = idle_by_model(scene);
    for (key, model) in scene.models() {
        let like = like(scene, model);
        let idle = idle.remove(key).unwrap_or_default();
        let attached = attached_offers(scene, key, model, &idle, &like);
        let free = free_offer(scene, &room, key, model, like);
        for offer in std::iter::once(free).chain(attached) {
            wanted
                .extend(slices(scene, &offer).into_iter().map(|slice| (slice.metadata.name.clone(), slice)));
        }
    }
    for slice in &scene.slices {
        match wanted.remove(&slice.metadata.name) {
            None => decision.actions.push(FabricAction::Withdraw(Box::new((*slice).clone()))),
            Some(new) if says_the_same(&new, slice) => {}
            Some(mut new) => {
                new.metadata = slice.metadata.clone();
                decision.actions.push(FabricAction::Publish(Box::new(new)));
            }
        }
    }
    decision.actions.extend(wanted.into_values().map(|slice| FabricAction::Publish(Box::new(slice))));
}

/// A server whose binding conditions are off leaves them out: pods would be bound with devices that are nowhere near them.
fn is_unsafe(slice: &ResourceSlice) -> bool {
    let mut devices = slice.spec.devices.iter().flatten();
    slice.metadata.annotations.contains_key(WITHHELD)
        || devices.any(|device| device.binding_conditions.is_empty() || device.binds_to_node != Some(true))
}

/// Offers nothing, and says why. Once the server is mended, whoever deletes the empty slices has devices offered again.
fn withhold(scene: &Scene<'_>, decision: &mut FabricDecision) {
    let why = "the API server drops binding conditions; hint: enable feature gate DRADeviceBindingConditions, then \
        delete this slice";
    for slice in &scene.slices {
        if slice.metadata.annotations.contains_key(WITHHELD) {
            continue;
        }
        let mut empty = (*slice).clone();
        empty.metadata.annotations.insert(WITHHELD.to_owned(), why.to_owned());
        empty.spec.devices = Some(Vec::new());
        empty.spec.pool.generation += 1;
        decision.actions.push(FabricAction::Publish(Box::new(empty)));
    }
}

/// Whether a slice is published as it should be. The time that pods wait is ours alone, and other servers leave it out.
fn says_the_same(new: &ResourceSlice, old: &ResourceSlice) -> bool {
    let kept = |device: &Device| device.binding_timeout.is_some();
    if old.spec.devices.iter().flatten().any(kept) {
        return new.spec == old.spec;
    }
    let mut new = new.spec.clone();
    new.devices.iter_mut().flatten().for_each(|device| device.binding_timeout = None);
    new == old.spec
}

fn free_offer(scene: &Scene<'_>, room: &Room<'_>, key: &str, model: &Model<'_>, like: Device) -> Offer {
    let pool = Pool::Free { model: key.to_owned() };
    let of_model = || model.units.iter().copied();
    let free: Vec<&Unit> =
        of_model().filter(|(name, unit)| is_free(scene, name, unit)).map(|(_, unit)| unit).collect();
    let rests = |(name, unit): &(&str, &Unit)| {
        let entry = scene.entries.get(name);
        let is_resting = entry.is_some_and(|entry| phase(entry) == Phase::Resting);
        is_resting && unit.is_healthy && unit.attached.is_none() && !is_free(scene, name, unit)
    };
    let pool_name = pool.name(&scene.options.fabric);
    let mut seen = BTreeSet::new();
    let resting = of_model().filter(rests).map(|(name, _)| {
        let claim = scene.entries.get(name)?.spec.claim.as_ref()?;
        (claim.pool == pool_name && seen.insert(claim.device.clone())).then(|| claim.device.clone())
    });
    let resting = resting.collect();
    // A node that is full, is no host, or has a driver that names no device would only be refused later.
    let mut switches: Vec<&Unit> = free.clone();
    switches.sort_by_key(|unit| unit.switch.as_deref());
    switches.dedup_by_key(|unit| unit.switch.as_deref());
    let is_full = |host: &str| switches.iter().all(|unit| room.for_unit(host, unit).is_none());
    let full =
        scene.hosts.iter().filter(|(_, host)| !free.is_empty() && is_full(host)).map(|(node, _)| *node);
    let nameless = scene.without_identity().filter(|_| scene.options.is_always_in_place(model.name));
    let excluded: BTreeSet<&str> = full.chain(scene.strangers.iter().copied()).chain(nameless).collect();
    let term = NodeSelectorTerm {
        match_expressions: vec![NodeSelectorRequirement {
            key: FABRIC_LABEL.to_owned(),
            operator: "In".to_owned(),
            values: vec![scene.options.fabric.clone()],
            ..NodeSelectorRequirement::default()
        }],
        match_fields: excluded.into_iter().map(is_not).collect(),
        ..NodeSelectorTerm::default()
    };
    let nodes = NodeSelector { node_selector_terms: vec![term], ..NodeSelector::default() };
    Offer { pool, ready: free.len(), resting, nodes, like }
}

/// Devices that are attached and idle, and that no driver of a node publishes, by model.
fn idle_by_model<'a>(scene: &Scene<'a>) -> BTreeMap<String, Vec<&'a DeviceAttachment>> {
    let mut idle: BTreeMap<String, Vec<&DeviceAttachment>> = BTreeMap::new();
    for entry in scene.entries.values().copied() {
        let is_ours = !scene.local.contains_key(entry.spec.unit.as_str());
        if scene.is_spare(entry) && is_ours && scene.hosts.contains_key(entry.spec.node.as_str()) {
            idle.entry(part(&entry.spec.model)).or_default().push(entry);
        }
    }
    idle
}

/// Devices of a model that are attached and idle, by node.
fn attached_offers(
    scene: &Scene<'_>,
    key: &str,
    model: &Model<'_>,
    idle: &[&DeviceAttachment],
    like: &Device,
) -> Vec<Offer> {
    if scene.options.hand_over_of(model.name) == HandOver::RePick {
        return Vec::new();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in idle {
        *counts.entry(&entry.spec.node).or_default() += 1;
    }
    let offer = |(node, ready): (&str, usize)| {
        let pool = Pool::Attached { model: key.to_owned(), node: node.to_owned() };
        let nodes = NodeSelector::only(node);
        Offer { pool, ready, resting: Vec::new(), nodes, like: like.clone() }
    };
    counts.into_iter().map(offer).collect()
}

fn is_not(node: &str) -> NodeSelectorRequirement {
    NodeSelectorRequirement {
        key: "metadata.name".to_owned(),
        operator: "NotIn".to_owned(),
        values: vec![node.to_owned()],
        ..NodeSelectorRequirement::default()
    }
}

/// A device of a model, with what all devices of the model have in common.
fn like(scene: &Scene<'_>, model: &Model<'_>) -> Device {
    let units = &model.units;
    let first = units.first().map(|(_, unit)| Unit::clone(unit)).unwrap_or_default();
    let text = |text: &str| DeviceAttribute { string: Some(text.to_owned()), ..DeviceAttribute::default() };
    let is_common = |of: fn(&Unit) -> &BTreeMap<String, String>, name: &str, value: &str| {
        units.iter().all(|(_, unit)| of(unit).get(name).is_some_and(|other| other == value))
    };
    let mut attributes: BTreeMap<String, DeviceAttribute> = first
        .attributes
        .iter()
        .filter(|(name, value)| is_common(|unit| &unit.attributes, name, value))
        .map(|(name, value)| (name.clone(), text(value)))
        .collect();
    attributes.insert("model".to_owned(), text(model.name));
    let common = first.capacity.iter().filter(|(name, value)| is_common(|unit| &unit.capacity, name, value));
    let capacity = common.filter_map(|(name, value)| {
        let value = Quantity(value.parse().ok()?);
        Some((name.clone(), DeviceCapacity { value, ..DeviceCapacity::default() }))
    });
    Device {
        capacity: capacity.collect(),
        attributes,
        binding_conditions: vec![ATTACHED.to_owned()],
        binding_failure_conditions: vec![ATTACH_FAILED.to_owned()],
        binding_timeout: scene.options.binding_timeout.clone(),
        binds_to_node: Some(true),
        ..Device::default()
    }
}

fn slices(scene: &Scene<'_>, offer: &Offer) -> Vec<ResourceSlice> {
    let pool = offer.pool.name(&scene.options.fabric);
    let devices = devices(scene, offer, &pool);
    let count = devices.len().div_ceil(DEVICES_PER_SLICE);
    let published: Vec<&ResourceSlice> = scene.slices_of(&pool).collect();
    let newest = published.iter().map(|slice| slice.spec.pool.generation).max().unwrap_or(0);
    let build = |generation: i64| -> Vec<ResourceSlice> {
        let parts = devices.chunks(DEVICES_PER_SLICE).enumerate();
        parts.map(|(at, devices)| slice(scene, offer, &pool, (at, count), generation, devices)).collect()
    };
    // What is published stays as it is if it says the same; otherwise all of it is written anew, under the next number.
    let same = build(newest);
    let is_published = |new: &ResourceSlice| {
        published.iter().any(|old| old.metadata.name == new.metadata.name && says_the_same(new, old))
    };
    if published.len() == same.len() && same.iter().all(is_published) { same } else { build(newest + 1) }
}

fn slice(
    scene: &Scene<'_>,
    offer: &Offer,
    pool: &str,
    (at, count): (usize, usize),
    generation: i64,
    devices: &[Device],
) -> ResourceSlice {
    let mut slice = ResourceSlice::default();
    slice.metadata.name = format!("{pool}.{at}");
    slice.metadata.labels.insert(FABRIC_LABEL.to_owned(), scene.options.fabric.clone());
    slice.spec.driver.clone_from(&scene.options.driver);
    slice.spec.node_selector = Some(offer.nodes.clone());
    slice.spec.devices = Some(devices.to_vec());
    slice.spec.pool.name = pool.to_owned();
    slice.spec.pool.generation = generation;
    slice.spec.pool.resource_slice_count = i64::try_from(count).unwrap_or(i64::MAX);
    slice
}

/// Names for the devices of a pool: those that claims wait for, then those that are published, then new ones.
fn devices(scene: &Scene<'_>, offer: &Offer, pool: &str) -> Vec<Device> {
    let held = scene.held_of(pool);
    let awaited = scene.wants_in(pool).filter(|want| want.is_pending() && scene.entry_of(want).is_none());
    let resting: BTreeSet<&String> = offer.resting.iter().flatten().collect();
    let awaited = awaited.map(|want| want.device.to_owned()).filter(|name| !resting.contains(name));
    let awaited: Vec<String> = awaited.collect();
    let published = scene.slices_of(pool);
    let published =
        published.flat_map(|slice| slice.spec.devices.iter().flatten()).map(|device| device.name.clone());
    let is_open = |name: &String| !held.contains(name.as_str()) && !resting.contains(name);
    let fresh = (0..).map(slot).filter(is_open);
    let mut seen = BTreeSet::new();
    let names = awaited.into_iter().chain(published.filter(is_open)).chain(fresh);
    let mut names = names.filter(|name| seen.insert(name.clone()));
    let mut ready: Vec<String> = names.by_ref().take(offer.ready).collect();
    ready.sort_by_key(|name| (name.len(), name.clone()));
    let (effect, key) = ("NoSchedule".to_owned(), RESTING.to_owned());
    let taint = DeviceTaint { effect, key, ..DeviceTaint::default() };
    let named = |name: String| Device { name, ..offer.like.clone() };
    let tired = |name: String| Device { taints: vec![taint.clone()], ..named(name) };
    let resting: Vec<String> = offer
        .resting
        .iter()
        .map(|name| name.clone().or_else(|| names.next()).expect("there is always another number"))
        .collect();
    ready.into_iter().map(named).chain(resting.into_iter().map(tired)).collect()
}
