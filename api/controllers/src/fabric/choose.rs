//! Claims that wait for a device of which nothing is written down yet: which one they get.
//!
//! Invariant: a claim never has more than it wants. What was attached for it before, or what is attached and idle where its pod
//! goes, comes before another attachment.

use std::collections::{BTreeMap, BTreeSet};

use objects::supercargo::device_attachment::DeviceAttachment;

use super::inventory::{Place, Unit};
use super::ledger::{self, Origin, Phase, origin, phase};
use super::names::part;
use super::report::{Reason, Reports, no_identity};
use super::room::Room;
use super::scene::{Scene, Want};
use super::{FabricAction, FabricDecision, HandOver};

/// Chooses devices for claims that have none.
pub(super) fn choose(scene: &Scene<'_>, decision: &mut FabricDecision, reports: &mut Reports) {
    let mut pass = Pass {
        scene,
        room: Room::of(scene),
        taken: BTreeSet::new(),
        free: BTreeMap::new(),
        idle: idle(scene),
    };
    for want in scene.wants.iter().filter(|want| want.is_pending() && scene.entry_of(want).is_none()) {
        match pass.answer(want) {
            AttachmentChoice::Act(action) => decision.actions.push(*action),
            AttachmentChoice::Refused(reason, message) => reports.failed(scene, want, reason, message),
            AttachmentChoice::Wait => {}
        }
    }
}

enum AttachmentChoice {
    Act(Box<FabricAction>),
    Refused(Reason, String),
    Wait,
}

struct Pass<'a> {
    scene: &'a Scene<'a>,
    room: Room<'a>,
    /// Devices that others were given just now.
    taken: BTreeSet<String>,
    /// Devices by model that could be attached, those that failed least first.
    free: BTreeMap<String, Vec<(&'a str, &'a Unit)>>,
    /// Devices that are attached and idle, by node and model.
    idle: BTreeMap<(&'a str, String), Vec<&'a DeviceAttachment>>,
}

/// Devices that are attached and idle, by node and model.
fn idle<'a>(scene: &Scene<'a>) -> BTreeMap<(&'a str, String), Vec<&'a DeviceAttachment>> {
    let mut idle: BTreeMap<_, Vec<&DeviceAttachment>> = BTreeMap::new();
    for entry in scene.entries.values().copied() {
        if scene.is_spare(entry) && scene.user_of_local(&entry.spec.unit).is_none() {
            idle.entry((entry.spec.node.as_str(), part(&entry.spec.model))).or_default().push(entry);
        }
    }
    idle
}

impl<'a> Pass<'a> {
    fn answer(&mut self, want: &Want<'_>) -> AttachmentChoice {
        let Some(node) = want.node else {
            let why = "the allocation names no node; hint: check that feature gate DRADeviceBindingConditions is on in the scheduler and the API server".to_owned();
            return AttachmentChoice::Refused(Reason::NotInFabric, why);
        };
        let Some(host) = self.scene.hosts.get(node).copied() else {
            return AttachmentChoice::Refused(
                Reason::NotInFabric,
                format!("node {node} is not a host of the fabric"),
            );
        };
        if want.hand_over == HandOver::InPlace && self.scene.lacks_identity(node) {
            return AttachmentChoice::Refused(Reason::NoIdentity, no_identity(self.scene, node));
        }
        if let Some(answer) = self.waiting_for_it(want, node) {
            return answer;
        }
        if let Some(answer) = self.idle_there(want, node) {
            return answer;
        }
        self.attach(want, node, host)
    }

    /// What was attached for the claim before, and still waits for it.
    fn waiting_for_it(&mut self, want: &Want<'_>, node: &str) -> Option<AttachmentChoice> {
        if want.hand_over != HandOver::RePick {
            return None;
        }
        let (scene, taken) = (self.scene, &self.taken);
        let mut its = scene.assigned.get(want.claim.metadata.uid.as_str())?.iter();
        let entry = its.find(|entry| {
            let is_on_its_way = matches!(phase(entry), Phase::Attaching | Phase::Attached);
            is_on_its_way
                && origin(entry) == Origin::Attached
                && part(&entry.spec.model) == want.model
                && scene.want_of(entry).is_none()
                && scene.user_of_local(&entry.spec.unit).is_none()
                && !taken.contains(&entry.spec.unit)
        })?;
        self.taken.insert(entry.spec.unit.clone());
        let is_published = scene.local.contains_key(entry.spec.unit.as_str());
        if entry.spec.node == node && !is_published {
            let given = ledger::given((*entry).clone(), want.noted());
            return Some(AttachmentChoice::Act(Box::new(FabricAction::Assign(Box::new(given)))));
        }
        let message = format!("a device is already attached for it on node {}", entry.spec.node);
        Some(AttachmentChoice::Refused(Reason::AttachedAlready, message))
    }

    /// What is attached to the node, and idle.
    fn idle_there(&mut self, want: &Want<'_>, node: &str) -> Option<AttachmentChoice> {
        let node = self.scene.hosts.get_key_value(node)?.0;
        let there = self.idle.get(&(*node, want.model.clone()))?;
        let entry = there.iter().find(|entry| !self.taken.contains(&entry.spec.unit))?;
        self.taken.insert(entry.spec.unit.clone());
        let given = ledger::given((*entry).clone(), want.noted());
        Some(AttachmentChoice::Act(Box::new(FabricAction::Assign(Box::new(given)))))
    }

    /// A free one is to be attached.
    fn attach(&mut self, want: &Want<'_>, node: &str, host: &str) -> AttachmentChoice {
        let scene = self.scene;
        // What is given to others is taken out of it, and what is attached already was never in it.
        let free = self.free.entry(want.model.clone()).or_insert_with(|| free(scene, &want.model));
        // Devices at one switch are reached alike.
        let mut refused: BTreeSet<Option<&str>> = BTreeSet::new();
        let found = free.iter().enumerate().find_map(|(at, (_, unit))| {
            let switch = unit.switch.as_deref();
            if refused.contains(&switch) {
                return None;
            }
            let place = self.room.for_unit(host, unit);
            if place.is_none() {
                refused.insert(switch);
            }
            Some((at, place?))
        });
        if let Some((at, place)) = found {
            let (name, unit) = free.remove(at);
            return self.enter(want, node, name, unit, place);
        }
        if !free.is_empty() {
            let why = format!("node {node} has reached its limit of devices of this model");
            return AttachmentChoice::Refused(Reason::NodeFull, why);
        }
        let is_leaving = |(name, _): &(&str, &Unit)| {
            scene.entries.get(name).is_some_and(|entry| phase(entry) == Phase::Detaching)
        };
        // What is being detached is free in a moment.
        if scene.units_of(&want.model).iter().any(is_leaving) {
            return AttachmentChoice::Wait;
        }
        AttachmentChoice::Refused(Reason::NoFreeDevice, "no free device of this model is left".to_owned())
    }

    fn enter(
        &mut self,
        want: &Want<'_>,
        node: &str,
        name: &str,
        unit: &Unit,
        place: Place,
    ) -> AttachmentChoice {
        self.room.take(&place);
        self.taken.insert(name.to_owned());
        let options = self.scene.options;
        let mut entry = ledger::entered(options, name, &unit.model, node, place, Some(want.noted()));
        if let Some(old) = self.scene.entries.get(name) {
            entry.metadata = old.metadata.clone();
            entry.status = old.status.clone();
        }
        AttachmentChoice::Act(Box::new(FabricAction::Assign(Box::new(ledger::attaching(
            entry,
            self.scene.now,
        )))))
    }
}

/// Devices of a model that could be attached, those that failed least first.
fn free<'a>(scene: &Scene<'a>, model: &str) -> Vec<(&'a str, &'a Unit)> {
    let mut free = scene.units_of(model).to_vec();
    free.retain(|(name, unit)| is_free(scene, name, unit));
    free.sort_by_key(|(name, _)| scene.entries.get(name).map_or(0, |entry| entry.status.failures));
    free
}

/// Whether a device could be attached now: it works, it is nowhere, and it does not rest.
pub(super) fn is_free(scene: &Scene<'_>, name: &str, unit: &Unit) -> bool {
    let is_open = match scene.entries.get(name) {
        None => true,
        Some(entry) => {
            let rests = entry.status.retry_at.is_some_and(|until| scene.now < until.0);
            phase(entry) == Phase::Resting && !rests
        }
    };
    unit.is_healthy && unit.attached.is_none() && is_open
}
