//! The view, put in order once: what claims want of the fabric, what nodes publish of it, who holds what, which host is which node.

use std::collections::{BTreeMap, BTreeSet};

use model::timestamp::Timestamp;
use objects::meta::Condition;
use objects::resource::allocation::{AllocatedDeviceStatus, DeviceRequestAllocationResult};
use objects::resource::claim::ResourceClaim;
use objects::resource::slice::{Device, ResourceSlice};
use objects::supercargo::device_attachment::{AttachmentClaim, DeviceAttachment};

use super::inventory::{Host, Inventory, Place, Unit};
use super::ledger::{Origin, Phase, origin, phase};
use super::names::{ATTACH_FAILED, ATTACHED, FABRIC_LABEL, HOST_LABEL, Pool, part};
use super::{HandOver, Options, View};

/// A device of ours that a claim was allocated.
#[derive(Clone, Debug)]
pub(super) struct Want<'a> {
    pub(super) claim: &'a ResourceClaim,
    pub(super) pool: &'a str,
    pub(super) device: &'a str,
    /// The model, as pools have it.
    pub(super) model: String,
    /// The node that it is wanted on; nothing if the allocation does not say.
    pub(super) node: Option<&'a str>,
    pub(super) hand_over: HandOver,
    pub(super) reported: Reported,
    /// The device of the fabric that was reported for it.
    pub(super) unit: Option<String>,
}

/// What is reported of a device already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reported {
    Nothing,
    Attached,
    Failed,
}

/// A device as the driver of its node publishes it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Local<'a> {
    pub(super) pool: &'a str,
    pub(super) device: &'a str,
}

/// Whether the driver of a node says which devices of the fabric its devices are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Identity {
    /// Of some device at least, or that it is none of the fabric.
    Published,
    /// Of none that it publishes.
    Missing,
}

/// A model, and its devices by name.
#[derive(Clone, Debug)]
pub(super) struct Model<'a> {
    pub(super) name: &'a str,
    pub(super) units: Vec<(&'a str, &'a Unit)>,
}

/// Everything that is known, by what it is asked for.
pub(super) struct Scene<'a> {
    pub(super) options: &'a Options,
    pub(super) view: &'a View<'a>,
    pub(super) now: Timestamp,
    pub(super) inventory: &'a Inventory,
    pub(super) wants: Vec<Want<'a>>,
    /// Which want a claim has for a device of a pool.
    wanted: BTreeMap<(&'a str, &'a str, &'a str), usize>,
    /// The wants of each claim, by its uid.
    wants_of: BTreeMap<&'a str, Vec<usize>>,
    /// The wants for devices of each pool.
    wants_in: BTreeMap<&'a str, Vec<usize>>,
    /// Where slices of each pool of ours are.
    slices_of: BTreeMap<&'a str, Vec<usize>>,
    /// Devices by model, as pools have it, with one of the names of the model.
    models: BTreeMap<String, Model<'a>>,
    /// Entries by the claim that they were made for.
    pub(super) assigned: BTreeMap<&'a str, Vec<&'a DeviceAttachment>>,
    /// Entries of this fabric, by the device that they are about.
    pub(super) entries: BTreeMap<&'a str, &'a DeviceAttachment>,
    /// Devices of the fabric that a node's driver publishes.
    pub(super) local: BTreeMap<&'a str, Local<'a>>,
    /// Nodes whose driver publishes devices, and whether it says which ones they are.
    identities: BTreeMap<&'a str, Identity>,
    /// Which claims hold which devices of the driver, by pool and name.
    pub(super) holders: BTreeMap<(&'a str, &'a str), &'a str>,
    /// Uids of claims that are there, and whether they have devices.
    pub(super) claims: BTreeMap<&'a str, bool>,
    /// Which host each node of the fabric is.
    pub(super) hosts: BTreeMap<&'a str, &'a str>,
    /// Nodes of the fabric that are no host of it.
    pub(super) strangers: BTreeSet<&'a str>,
    /// Slices of ours.
    pub(super) slices: Vec<&'a ResourceSlice>,
    /// Names of rules that keep devices from being chosen.
    pub(super) guards: BTreeSet<&'a str>,
}

impl<'a> Scene<'a> {
    pub(super) fn of(view: &'a View<'a>, options: &'a Options) -> Self {
        let mut scene = Self {
            options,
            view,
            now: view.now,
            inventory: view.inventory,
            wants: Vec::new(),
            wanted: BTreeMap::new(),
            wants_of: BTreeMap::new(),
            wants_in: BTreeMap::new(),
            slices_of: BTreeMap::new(),
            models: models(view.inventory),
            assigned: BTreeMap::new(),
            entries: BTreeMap::new(),
            local: BTreeMap::new(),
            identities: BTreeMap::new(),
            holders: BTreeMap::new(),
            claims: BTreeMap::new(),
            hosts: BTreeMap::new(),
            strangers: BTreeSet::new(),
            slices: Vec::new(),
            guards: view.guards.into_iter().flatten().map(|rule| rule.metadata.name.as_str()).collect(),
        };
        scene.see_nodes();
        scene.see_slices();
        let ours = view.ledger.iter().filter(|entry| {
            entry.metadata.labels.get(FABRIC_LABEL) == Some(&options.fabric)
                && entry.spec.driver == options.driver
        });
        scene.entries = ours.map(|entry| (entry.spec.unit.as_str(), *entry)).collect();
        for entry in scene.entries.values() {
            if let Some(claim) = &entry.spec.claim {
                scene.assigned.entry(&claim.uid).or_default().push(entry);
            }
        }
        for claim in view.claims {
            scene.see_claim(claim);
        }
        scene
    }

    fn see_nodes(&mut self) {
        let hosts: BTreeMap<&str, &'a str> =
            self.inventory.hosts.iter().map(|(id, host)| (host.name.as_str(), id.as_str())).rev().collect();
        for node in self.view.nodes {
            let labels = &node.metadata.labels;
            if labels.get(FABRIC_LABEL) != Some(&self.options.fabric) {
                continue;
            }
            let name = node.metadata.name.as_str();
            let host = match labels.get(HOST_LABEL) {
                Some(host) => self.inventory.hosts.get_key_value(host).map(|(id, _)| id.as_str()),
                None => hosts.get(name).copied(),
            };
            match host {
                Some(host) => drop(self.hosts.insert(name, host)),
                None => drop(self.strangers.insert(name)),
            }
        }
    }

    fn see_slices(&mut self) {
        for slice in self.view.slices.iter().filter(|slice| slice.spec.driver == self.options.driver) {
            if slice.metadata.labels.get(FABRIC_LABEL) == Some(&self.options.fabric) {
                self.slices_of.entry(&slice.spec.pool.name).or_default().push(self.slices.len());
                self.slices.push(slice);
                continue;
            }
            for device in slice.spec.devices.iter().flatten() {
                let unit = self.unit_of(device);
                if let Some(node) = slice.spec.node_name.as_ref().or(device.node_name.as_ref()) {
                    let known = self.identities.entry(node).or_insert(Identity::Missing);
                    if unit.is_some() {
                        *known = Identity::Published;
                    }
                }
                if let Some(unit) = unit.filter(|unit| !unit.is_empty()) {
                    self.local.insert(unit, Local { pool: &slice.spec.pool.name, device: &device.name });
                }
            }
        }
    }

    /// The device of the fabric that a node's device says that it is; an empty name says that it is none of them.
    fn unit_of(&self, device: &'a Device) -> Option<&'a str> {
        device.attributes.get(&self.options.unit_attribute)?.string.as_deref()
    }

    fn see_claim(&mut self, claim: &'a ResourceClaim) {
        let allocation = claim.status.allocation.as_ref();
        self.claims.insert(&claim.metadata.uid, allocation.is_some());
        let Some(allocation) = allocation else { return };
        let node = allocation.node_selector.as_ref().and_then(|selector| {
            let fields = selector.node_selector_terms.iter().flat_map(|term| &term.match_fields);
            let named = fields.filter(|field| field.key == "metadata.name" && field.operator == "In");
            named.flat_map(|field| &field.values).next().map(String::as_str)
        });
        for result in &allocation.devices.results {
            if result.driver != self.options.driver || result.admin_access == Some(true) {
                continue;
            }
            self.holders.insert((&result.pool, &result.device), &claim.metadata.uid);
            let Some(pool) = Pool::parse(&result.pool, &self.options.fabric) else { continue };
            let (reported, unit) = reported(claim, result);
            let hand_over = self.hand_over(claim, result, pool.model());
            self.wanted.insert((&claim.metadata.uid, &result.pool, &result.device), self.wants.len());
            self.wants_of.entry(&claim.metadata.uid).or_default().push(self.wants.len());
            self.wants_in.entry(&result.pool).or_default().push(self.wants.len());
            self.wants.push(Want {
                claim,
                pool: &result.pool,
                device: &result.device,
                model: pool.model().to_owned(),
                node,
                hand_over,
                reported,
                unit,
            });
        }
    }

    fn hand_over(
        &self,
        claim: &ResourceClaim,
        result: &DeviceRequestAllocationResult,
        model: &str,
    ) -> HandOver {
        let (main, sub) = result.request.split_once('/').unwrap_or((&result.request, ""));
        let request = claim.spec.devices.requests.iter().find(|request| request.name == main);
        let class = request.and_then(|request| match &request.exactly {
            Some(exactly) => Some(&exactly.device_class_name),
            None => {
                request.first_available.iter().find(|one| one.name == sub).map(|one| &one.device_class_name)
            }
        });
        let by_class = class.and_then(|class| self.options.hand_over_by_class.get(class));
        by_class.copied().unwrap_or_else(|| {
            let model = self.models.get(model);
            model.map_or(self.options.hand_over, |model| self.options.hand_over_of(model.name))
        })
    }

    /// The models that there are, as pools have them.
    pub(super) fn models(&self) -> impl Iterator<Item = (&String, &Model<'a>)> {
        self.models.iter()
    }

    /// The devices of a model, as pools have it, by name.
    pub(super) fn units_of(&self, model: &str) -> &[(&'a str, &'a Unit)] {
        self.models.get(model).map_or(&[], |model| &model.units)
    }

    /// Slices of a pool of ours.
    pub(super) fn slices_of(&self, pool: &str) -> impl Iterator<Item = &'a ResourceSlice> {
        self.slices_of.get(pool).into_iter().flatten().map(|at| self.slices[*at])
    }

    /// Devices of a pool that claims hold.
    pub(super) fn held_of<'s>(&'s self, pool: &'s str) -> BTreeSet<&'s str> {
        let holders: &BTreeMap<(&'s str, &'s str), &'s str> = &self.holders;
        let from = holders.range((pool, "")..).map(|(key, _)| key);
        from.take_while(|(in_pool, _)| *in_pool == pool).map(|(_, device)| *device).collect()
    }

    /// Wants for devices of a pool.
    pub(super) fn wants_in(&self, pool: &str) -> impl Iterator<Item = &Want<'a>> {
        self.wants_in.get(pool).into_iter().flatten().map(|at| &self.wants[*at])
    }

    /// What a claim wants, by its uid.
    pub(super) fn wants_of(&self, claim: &str) -> impl Iterator<Item = &Want<'a>> {
        self.wants_of.get(claim).into_iter().flatten().map(|at| &self.wants[*at])
    }

    /// The want that an entry was made for, if it still is one.
    pub(super) fn want_of(&self, entry: &DeviceAttachment) -> Option<&Want<'a>> {
        let claim = entry.spec.claim.as_ref()?;
        let want = self.wanted.get(&(&claim.uid, &claim.pool, &claim.device))?;
        Some(&self.wants[*want]).filter(|want| self.is_for(entry, want))
    }

    /// The entry that was made for a want.
    pub(super) fn entry_of(&self, want: &Want<'_>) -> Option<&'a DeviceAttachment> {
        let entries = self.assigned.get(want.claim.metadata.uid.as_str()).into_iter().flatten();
        entries.copied().find(|entry| self.is_for(entry, want))
    }

    /// Whether an entry was made for a want. A claim may get a device of the same name again, on another node; and what has
    /// rested long enough is anybody's.
    fn is_for(&self, entry: &DeviceAttachment, want: &Want<'_>) -> bool {
        let is_rested =
            phase(entry) == Phase::Resting && entry.status.retry_at.is_none_or(|until| until.0 <= self.now);
        let is_its = entry.spec.claim.as_ref().is_some_and(|claim| want.is(claim));
        is_its && want.node == Some(&entry.spec.node) && !is_rested
    }

    /// Whether the API has rules that keep devices from being chosen.
    pub(super) fn serves_guards(&self) -> bool {
        self.view.guards.is_some()
    }

    /// Nodes whose driver does not say which devices of the fabric its devices are.
    pub(super) fn without_identity(&self) -> impl Iterator<Item = &'a str> {
        self.hosts.keys().copied().filter(|node| self.lacks_identity(node))
    }

    /// Whether the driver of a node publishes devices and does not say which devices of the fabric they are. Then others may have a
    /// device that is attached there, and nobody could tell.
    pub(super) fn lacks_identity(&self, node: &str) -> bool {
        self.identities.get(node) == Some(&Identity::Missing)
    }

    /// What is wrong with the driver of a node that does not say which devices it publishes.
    pub(super) fn namelessness(&self, node: &str) -> String {
        let Options { driver, unit_attribute, .. } = self.options;
        format!("driver {driver} publishes devices of node {node} without attribute {unit_attribute}")
    }

    /// Whether the device of an entry can be given to a claim: we attached it, it is there, and nobody has or may have it.
    pub(super) fn is_spare(&self, entry: &'a DeviceAttachment) -> bool {
        phase(entry) == Phase::Attached
            && origin(entry) == Origin::Attached
            && entry.spec.claim.is_none()
            && matches!(self.place_of(entry), Seen::There | Seen::NotYet)
            && !self.lacks_identity(&entry.spec.node)
    }

    /// The claim that uses a device as its node publishes it.
    pub(super) fn user_of_local(&self, unit: &str) -> Option<&'a str> {
        let local = self.local.get(unit)?;
        self.holders.get(&(local.pool, local.device)).copied()
    }

    /// Where a device is, unless what was seen of it is older than what is written down.
    pub(super) fn place_of(&self, entry: &'a DeviceAttachment) -> Seen<'a> {
        let is_newer = entry.status.since.is_some_and(|since| since.0 > self.inventory.as_of);
        let Some(unit) = self.inventory.units.get(&entry.spec.unit) else {
            return if is_newer { Seen::NotYet } else { Seen::Gone };
        };
        match &unit.attached {
            Some(place) if place.host == entry.spec.host => Seen::There,
            _ if is_newer && phase(entry) != Phase::Attaching => Seen::NotYet,
            Some(place) => Seen::Elsewhere(place),
            None if !unit.is_healthy => Seen::Broken,
            None => Seen::Free,
        }
    }

    pub(super) fn host(&self, name: &str) -> Option<&'a Host> {
        self.inventory.hosts.get(name)
    }
}

/// Devices by model.
fn models(inventory: &Inventory) -> BTreeMap<String, Model<'_>> {
    let mut models: BTreeMap<String, Model<'_>> = BTreeMap::new();
    // Most devices have the model of the one before.
    let mut last: (&str, String) = ("", String::new());
    for (name, unit) in &inventory.units {
        if last.0 != unit.model {
            last = (&unit.model, part(&unit.model));
        }
        let model = match models.get_mut(&last.1) {
            Some(model) => model,
            None => models.entry(last.1.clone()).or_insert(Model { name: &unit.model, units: Vec::new() }),
        };
        model.name = &unit.model;
        model.units.push((name, unit));
    }
    models
}

/// Where the device of an entry is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Seen<'a> {
    /// Where the entry says.
    There,
    /// Nowhere: it is free.
    Free,
    /// At another host.
    Elsewhere(&'a Place),
    /// Nowhere, and it does not work.
    Broken,
    /// The fabric has it no more.
    Gone,
    /// Nobody has looked since the entry was written.
    NotYet,
}

impl Want<'_> {
    pub(super) fn is(&self, claim: &AttachmentClaim) -> bool {
        claim.uid == self.claim.metadata.uid && claim.pool == self.pool && claim.device == self.device
    }

    pub(super) fn is_pending(&self) -> bool {
        self.reported == Reported::Nothing
    }

    /// The want, as entries have it.
    pub(super) fn noted(&self) -> AttachmentClaim {
        let metadata = &self.claim.metadata;
        AttachmentClaim {
            device: self.device.to_owned(),
            name: metadata.name.clone(),
            namespace: metadata.namespace.clone(),
            pool: self.pool.to_owned(),
            uid: metadata.uid.clone(),
            ..AttachmentClaim::default()
        }
    }
}

fn reported(claim: &ResourceClaim, result: &DeviceRequestAllocationResult) -> (Reported, Option<String>) {
    let is_about = |status: &&AllocatedDeviceStatus| {
        status.driver == result.driver && status.pool == result.pool && status.device == result.device
    };
    let Some(status) = claim.status.devices.iter().find(is_about) else { return (Reported::Nothing, None) };
    let holds = |name: &str| {
        status
            .conditions
            .iter()
            .any(|condition: &Condition| condition.type_ == name && condition.status == "True")
    };
    let reported = match (holds(ATTACH_FAILED), holds(ATTACHED)) {
        (true, _) => Reported::Failed,
        (false, true) => Reported::Attached,
        (false, false) => Reported::Nothing,
    };
    let unit = status.data.as_ref().and_then(|data| {
        let data: serde_json::Value = serde_json::from_str(data.text()).ok()?;
        Some(data.get("unit")?.as_str()?.to_owned())
    });
    (reported, unit)
}
