//! The world of these tests: objects in maps, a fabric that does what it is told, and a scheduler that takes the first device in
//! the order of Kubernetes.

use std::collections::{BTreeMap, BTreeSet};

use model::timestamp::Timestamp;
use objects::core::affinity::NodeSelectorRequirement;
use objects::core::node::Node;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceTaintRule;
use objects::resource::slice::{Device, ResourceSlice};
use objects::supercargo::device_attachment::DeviceAttachment;
use serde_json::{Value, json};

use crate::fabric::inventory::{Host, Inventory, Place, Port, Unit};
use crate::fabric::names::{ATTACH_FAILED, ATTACHED, FABRIC_LABEL, UNIT_ATTRIBUTE};
use crate::fabric::{FabricAction, FabricDecision, Options, View, decide, ledger};

pub const DRIVER: &str = "gpu.example.com";
pub const FABRIC: &str = "rack";

/// What becomes of calls to the fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It does what it is told.
    Good,
    /// It refuses.
    Refused,
    /// It does not say what came of it; and nothing came of it yet.
    Unanswered,
    /// It does what it is told, and whoever told it dies before writing that down.
    Unheard,
}

#[derive(Clone)]
pub struct World {
    pub now: Timestamp,
    /// The fabric as it is.
    pub truth: Inventory,
    /// The fabric as it was last seen.
    pub seen: Inventory,
    pub slices: BTreeMap<String, ResourceSlice>,
    pub claims: BTreeMap<String, ResourceClaim>,
    pub nodes: Vec<Node>,
    pub ledger: BTreeMap<String, DeviceAttachment>,
    pub guards: BTreeMap<String, DeviceTaintRule>,
    pub options: Options,
    pub fate: Fate,
    /// Every attachment that was made: device and host.
    pub attachments: Vec<(String, String)>,
    pub detachments: Vec<String>,
    /// Nodes publish what is attached to them.
    pub nodes_publish: bool,
    /// What nodes publish says which device of the fabric it is.
    pub nodes_identify: bool,
    /// What the server makes of slices.
    pub server: fn(&mut ResourceSlice),
    version: u64,
}

impl World {
    /// Nodes `n-0` …, each with one port for four devices, and so many devices of each model.
    pub fn new(nodes: usize, models: &[(&str, usize)]) -> Self {
        let mut truth = Inventory::default();
        let mut objects = Vec::new();
        for at in 0..nodes {
            let name = format!("n-{at}");
            let port = Port { name: format!("port-{at}"), switch: "s".to_owned(), units_max: Some(4) };
            let host = Host { name: name.clone(), units_max: None, ports: vec![port] };
            truth.hosts.insert(format!("host-{at}"), host);
            let metadata = json!({ "name": name, "labels": { FABRIC_LABEL: FABRIC } });
            objects.push(read(json!({ "metadata": metadata })));
        }
        let mut world = Self {
            now: Timestamp::from_micros(1_000_000_000_000),
            seen: truth.clone(),
            truth,
            slices: BTreeMap::new(),
            claims: BTreeMap::new(),
            nodes: objects,
            ledger: BTreeMap::new(),
            guards: BTreeMap::new(),
            options: Options::new(FABRIC, DRIVER),
            fate: Fate::Good,
            attachments: Vec::new(),
            detachments: Vec::new(),
            nodes_publish: false,
            nodes_identify: true,
            server: |_| {},
            version: 0,
        };
        for (model, count) in models {
            (0..*count).for_each(|at| world.plug(model, &format!("serial-{model}-{at}")));
        }
        world.settle();
        world
    }

    /// A device is put into the fabric.
    pub fn plug(&mut self, model: &str, name: &str) {
        let capacity = BTreeMap::from([("memory".to_owned(), "80Gi".to_owned())]);
        let attributes = BTreeMap::from([("serial".to_owned(), name.to_owned())]);
        let unit =
            Unit { model: model.to_owned(), is_healthy: true, capacity, attributes, ..Unit::default() };
        self.truth.units.insert(name.to_owned(), unit);
    }

    /// An administrator attaches a device to a host by hand.
    pub fn attach_by_hand(&mut self, unit: &str, host: usize) {
        let place = Place { host: format!("host-{host}"), port: format!("port-{host}") };
        self.truth.units.get_mut(unit).expect("it is in the fabric").attached = Some(place);
    }

    /// Time goes by.
    pub fn wait(&mut self, millis: i64) {
        self.now = self.now.plus_millis(millis);
    }

    /// Looks at the fabric anew.
    pub fn refresh(&mut self) {
        self.seen = Inventory { as_of: self.now, ..self.truth.clone() };
        if self.nodes_publish {
            self.publish_locally();
        }
    }

    /// What there is to do.
    pub fn decision(&self) -> FabricDecision {
        let slices: Vec<_> = self.slices.values().collect();
        let claims: Vec<_> = self.claims.values().collect();
        let nodes: Vec<_> = self.nodes.iter().collect();
        let entries: Vec<_> = self.ledger.values().collect();
        let guards: Vec<_> = self.guards.values().collect();
        let view = View {
            now: self.now,
            inventory: &self.seen,
            slices: &slices,
            claims: &claims,
            nodes: &nodes,
            ledger: &entries,
            guards: Some(&guards),
        };
        decide(&view, &self.options)
    }

    /// Works until there is nothing left to do.
    pub fn settle(&mut self) {
        for _ in 0..200 {
            self.refresh();
            let decision = self.decision();
            if decision.actions.is_empty() {
                return;
            }
            decision.actions.into_iter().for_each(|action| self.take(action));
        }
        panic!("there is no end to it: {:#?}", self.decision().actions);
    }

    /// Takes an action, as whoever carries actions out does.
    pub fn take(&mut self, action: FabricAction) {
        self.wait(1);
        match action {
            FabricAction::Publish(mut slice) => {
                (self.server)(&mut slice);
                self.put(*slice, |world| &mut world.slices);
            }
            FabricAction::Withdraw(slice) => drop(self.slices.remove(&slice.metadata.name)),
            FabricAction::Record(entry) | FabricAction::Assign(entry) => {
                self.put(*entry, |world| &mut world.ledger)
            }
            FabricAction::Forget(entry) => drop(self.ledger.remove(&entry.metadata.name)),
            FabricAction::Report(claim) => {
                let stored = self.claims.get_mut(&claim.metadata.name).expect("reports are about claims");
                stored.status = claim.status;
            }
            FabricAction::Guard(rule) => self.put(*rule, |world| &mut world.guards),
            FabricAction::Unguard(rule) => drop(self.guards.remove(&rule.metadata.name)),
            FabricAction::Attach(entry) => {
                let done = self.attach(&entry);
                let next = match done {
                    Ok(()) => ledger::attached(*entry, self.now),
                    Err(why) if self.fate == Fate::Unanswered => {
                        ledger::failed(*entry, &why, self.now, &self.options)
                    }
                    Err(why) => ledger::refused(*entry, &why, self.now, &self.options),
                };
                if self.fate != Fate::Unheard {
                    self.put(next, |world| &mut world.ledger);
                }
            }
            FabricAction::Detach(entry) => {
                let unit = self.truth.units.get_mut(&entry.spec.unit).expect("it is in the fabric");
                unit.attached = None;
                self.detachments.push(entry.spec.unit.clone());
                if self.fate != Fate::Unheard {
                    self.ledger.remove(&entry.metadata.name);
                }
            }
        }
    }

    fn attach(&mut self, entry: &DeviceAttachment) -> Result<(), String> {
        assert!(self.ledger.contains_key(&entry.metadata.name), "it was not written down before");
        let unit = self.truth.units.get_mut(&entry.spec.unit).ok_or("there is no such device")?;
        let place = Place { host: entry.spec.host.clone(), port: entry.spec.port.clone() };
        match &unit.attached {
            Some(old) if *old == place => return Ok(()),
            Some(old) => return Err(format!("it is attached to {}", old.host)),
            None if self.fate == Fate::Refused => return Err("the fabric is in a bad mood".to_owned()),
            None if self.fate == Fate::Unanswered => return Err("the fabric does not answer".to_owned()),
            None => unit.attached = Some(place),
        }
        self.attachments.push((entry.spec.unit.clone(), entry.spec.host.clone()));
        Ok(())
    }

    fn put<T: objects::Object>(&mut self, mut object: T, table: fn(&mut Self) -> &mut BTreeMap<String, T>) {
        self.version += 1;
        let version = self.version.to_string();
        let name = object.metadata().name.clone();
        let known = table(self).get(&name).map(|old| old.metadata().resource_version.clone());
        // A write that is behind fails, as it does on a server.
        if known.unwrap_or_default() == object.metadata().resource_version {
            object.metadata_mut().resource_version = version;
            table(self).insert(name, object);
        }
    }

    /// The drivers of nodes find what is attached to them.
    fn publish_locally(&mut self) {
        for (host, at) in
            self.truth.hosts.iter().map(|(id, host)| (id.clone(), host.name.clone())).collect::<Vec<_>>()
        {
            let mine = self
                .truth
                .units
                .iter()
                .filter(|(_, unit)| unit.attached.as_ref().is_some_and(|place| place.host == host));
            let identifies = self.nodes_identify;
            let device = |(name, unit): (&String, &Unit)| {
                let mut attributes = json!({ "model": { "string": unit.model } });
                if identifies {
                    attributes[UNIT_ATTRIBUTE] = json!({ "string": name });
                }
                json!({ "name": name.to_lowercase(), "attributes": attributes })
            };
            let devices: Vec<Value> = mine.map(device).collect();
            let pool = json!({ "name": at, "generation": 1, "resourceSliceCount": 1 });
            let spec = json!({ "driver": DRIVER, "nodeName": at, "pool": pool, "devices": devices });
            let slice: ResourceSlice =
                read(json!({ "metadata": { "name": format!("{at}-local") }, "spec": spec }));
            self.slices.insert(slice.metadata.name.clone(), slice);
        }
    }

    /// A claim of so many devices of a model.
    pub fn claim(&mut self, name: &str, model: &str, count: usize) {
        let metadata = json!({ "name": name, "namespace": "default", "uid": format!("uid-{name}"), "labels": {
            "model": model, "count": count.to_string(),
        } });
        let request = json!({ "name": "r", "exactly": { "deviceClassName": "gpu", "count": count } });
        let spec = json!({ "devices": { "requests": [request] } });
        self.claims.insert(name.to_owned(), read(json!({ "metadata": metadata, "spec": spec })));
    }

    /// A scheduler gives a claim devices on a node; says whether it could.
    pub fn schedule(&mut self, name: &str, node: &str) -> bool {
        let claim = self.claims[name].clone();
        let (model, count) =
            (&claim.metadata.labels["model"], claim.metadata.labels["count"].parse::<usize>());
        let held: BTreeSet<(String, String)> = self.claims.values().flat_map(devices_of).collect();
        let mut found: Vec<(bool, String, usize, Device)> = Vec::new();
        for slice in self.slices.values().filter(|slice| reaches(slice, node)) {
            for (at, device) in slice.spec.devices.iter().flatten().enumerate() {
                let is_model = device.attributes["model"].string.as_ref() == Some(model);
                let is_held = held.contains(&(slice.spec.pool.name.clone(), device.name.clone()));
                let is_guarded = self.guards.values().any(|rule| {
                    let selector = rule.spec.device_selector.clone().unwrap_or_default();
                    selector.pool.as_ref() == Some(&slice.spec.pool.name)
                        && selector.device.as_ref() == Some(&device.name)
                });
                if is_model && !is_held && !is_guarded && device.taints.is_empty() {
                    let has_conditions = !device.binding_conditions.is_empty();
                    found.push((has_conditions, slice.spec.pool.name.clone(), at, device.clone()));
                }
            }
        }
        found.sort_by_key(|(conditions, pool, at, _)| (*conditions, pool.clone(), *at));
        let count = count.expect("a number");
        if found.len() < count {
            return false;
        }
        let results: Vec<Value> = found[..count].iter().map(|(_, pool, _, device)| json!({
            "request": "r", "driver": DRIVER, "pool": pool, "device": device.name,
            "bindingConditions": device.binding_conditions, "bindingFailureConditions": device.binding_failure_conditions,
        })).collect();
        let fields = json!([{ "key": "metadata.name", "operator": "In", "values": [node] }]);
        let selector = json!({ "nodeSelectorTerms": [{ "matchFields": fields }] });
        let status = json!({ "allocation": { "devices": { "results": results }, "nodeSelector": selector } });
        self.claims.get_mut(name).expect("it is there").status =
            serde_json::from_value(status).expect("a status");
        true
    }

    /// The claim gives its devices back.
    pub fn clear(&mut self, name: &str) {
        self.claims.get_mut(name).expect("it is there").status = Default::default();
    }

    /// The devices of a claim: pool and name.
    pub fn devices(&self, name: &str) -> Vec<(String, String)> {
        devices_of(&self.claims[name])
    }

    /// How a claim stands: ready, failed for a reason, or neither.
    pub fn standing(&self, name: &str) -> Result<bool, String> {
        let claim = &self.claims[name];
        let conditions = || claim.status.devices.iter().flat_map(|device| &device.conditions);
        let failed = conditions().find(|one| one.type_ == ATTACH_FAILED && one.status == "True");
        if let Some(failed) = failed {
            return Err(failed.reason.clone());
        }
        let results = claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results);
        let wanting = results.filter(|result| !result.binding_conditions.is_empty()).count();
        let ready = conditions().filter(|one| one.type_ == ATTACHED && one.status == "True").count();
        Ok(claim.status.allocation.is_some() && ready == wanting)
    }

    /// Devices that are attached to a host.
    pub fn attached(&self) -> Vec<String> {
        let attached = self.truth.units.iter().filter(|(_, unit)| unit.attached.is_some());
        attached.map(|(name, _)| name.clone()).collect()
    }

    /// The names of the devices that a pool offers, without those that have a taint.
    pub fn offered(&self, pool: &str) -> Vec<String> {
        let slices = self.slices.values().filter(|slice| slice.spec.pool.name == pool);
        let devices = slices.flat_map(|slice| slice.spec.devices.iter().flatten());
        devices.filter(|device| device.taints.is_empty()).map(|device| device.name.clone()).collect()
    }
}

fn devices_of(claim: &ResourceClaim) -> Vec<(String, String)> {
    let results = claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results);
    results.map(|result| (result.pool.clone(), result.device.clone())).collect()
}

fn reaches(slice: &ResourceSlice, node: &str) -> bool {
    if let Some(name) = &slice.spec.node_name {
        return name == node;
    }
    let terms = slice.spec.node_selector.iter().flat_map(|selector| &selector.node_selector_terms);
    let holds = |field: &NodeSelectorRequirement| {
        (field.operator == "In") == field.values.iter().any(|value| value == node)
    };
    // All nodes of the world have the label.
    terms.flat_map(|term| &term.match_fields).all(holds)
}

pub fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a good object")
}
