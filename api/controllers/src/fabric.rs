//! Devices that live in a fabric and are attached to nodes on demand.
//!
//! Free devices are published, a pool for each model. A claim that was allocated one of them for a node has a device of that
//! model attached there, and its pod waits until that is reported. What nobody uses is offered again, and detached after a
//! while. [`decide`] looks at everything and says what to do now; it keeps nothing.
//!
//! Invariant: what is done in the fabric was written down in the API before. Every action can be repeated, and whoever carries
//! actions out may be stopped between any two of them: no device is attached twice, and none is forgotten. Only what was attached so is
//! detached; what others attached is listed, and counts for the room of its host.

mod choose;
pub mod inventory;
pub mod ledger;
pub mod names;
mod offer;
mod report;
mod room;
mod scene;
mod tend;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::timestamp::Timestamp;
use objects::Object;
use objects::core::node::Node;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceTaintRule;
use objects::resource::slice::ResourceSlice;
use objects::supercargo::device_attachment::DeviceAttachment;

use inventory::Inventory;
use scene::Scene;

/// How a device that was attached for a pod becomes the pod's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HandOver {
    /// The pod is bound with the device of the fabric that it was given.
    #[default]
    InPlace,
    /// The pod is sent round again, and takes the device that the node's own driver publishes by then.
    RePick,
}

/// How a fabric is used.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the fabric: a DNS label. Pools, slices and labels have it.
    pub fabric: String,
    /// The driver of the devices: that of their vendor, which prepares them on nodes.
    pub driver: String,
    /// How devices are handed over, unless their class or their model says otherwise.
    pub hand_over: HandOver,
    /// The same for device classes by name; these count first.
    pub hand_over_by_class: BTreeMap<String, HandOver>,
    /// The same for models.
    pub hand_over_by_model: BTreeMap<String, HandOver>,
    /// The attribute by which the node's driver says which device of the fabric a device is, without its domain if that is
    /// the driver's name.
    pub unit_attribute: String,
    /// How long a pod may wait for a device, where the API has a time for that.
    pub binding_timeout: Option<String>,
    /// How long a device that is attached may be idle.
    pub idle_after_ms: i64,
    /// How long a device is left alone after it could not be attached; doubles each time.
    pub rest_first_ms: i64,
    /// The longest of these times.
    pub rest_max_ms: i64,
    /// How long a device stays reserved for a pod that was sent round again.
    pub reserved_ms: i64,
    /// How long a device that will be detached is kept from being chosen before it is.
    pub guard_ms: i64,
    /// How many devices a node may have, if its host has no limit of its own.
    pub units_per_node_max: Option<u32>,
}

impl Options {
    /// The common times, for the devices of a driver.
    pub fn new(fabric: &str, driver: &str) -> Self {
        Self {
            fabric: fabric.to_owned(),
            driver: driver.to_owned(),
            hand_over: HandOver::InPlace,
            hand_over_by_class: BTreeMap::new(),
            hand_over_by_model: BTreeMap::new(),
            unit_attribute: names::UNIT_ATTRIBUTE.to_owned(),
            binding_timeout: None,
            idle_after_ms: 600_000,
            rest_first_ms: 30_000,
            rest_max_ms: 1_800_000,
            reserved_ms: 60_000,
            guard_ms: 5_000,
            units_per_node_max: None,
        }
    }

    /// How devices of a model are handed over to claims of no special class.
    pub(crate) fn hand_over_of(&self, model: &str) -> HandOver {
        self.hand_over_by_model.get(model).copied().unwrap_or(self.hand_over)
    }

    /// Whether devices of a model are handed over in place, whatever the class of the claim.
    pub(crate) fn is_always_in_place(&self, model: &str) -> bool {
        let by_class = || self.hand_over_by_class.values();
        self.hand_over_of(model) == HandOver::InPlace && by_class().all(|how| *how == HandOver::InPlace)
    }
}

/// Everything that is known.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The time.
    pub now: Timestamp,
    /// The fabric as it was last seen.
    pub inventory: &'a Inventory,
    /// Slices; those of other drivers do not matter.
    pub slices: &'a [&'a ResourceSlice],
    /// Claims; those with no device of the driver do not matter, unless something is reserved for them.
    pub claims: &'a [&'a ResourceClaim],
    /// Nodes.
    pub nodes: &'a [&'a Node],
    /// What is written down.
    pub ledger: &'a [&'a DeviceAttachment],
    /// Rules that keep devices from being chosen; nothing if the API has no such rules.
    pub guards: Option<&'a [&'a DeviceTaintRule]>,
}

/// Something to do. Actions of one decision do not depend on each other.
#[derive(Clone, PartialEq, Debug)]
pub enum FabricAction {
    /// Create the slice, or replace it if it has a version.
    Publish(Box<ResourceSlice>),
    /// Delete the slice.
    Withdraw(Box<ResourceSlice>),
    /// Create the entry of the ledger, or replace it if it has a version.
    Record(Box<DeviceAttachment>),
    /// The same, for a claim that had no device before: it must not be given two at once, so the action is about the claim.
    Assign(Box<DeviceAttachment>),
    /// Delete the entry of the ledger.
    Forget(Box<DeviceAttachment>),
    /// Attach the device, then record what came of it: [`ledger::attached`] or [`ledger::failed`].
    Attach(Box<DeviceAttachment>),
    /// Detach the device, then delete the entry, or record that it failed.
    Detach(Box<DeviceAttachment>),
    /// Replace the status of the claim.
    Report(Box<ResourceClaim>),
    /// Create the rule.
    Guard(Box<DeviceTaintRule>),
    /// Delete the rule.
    Unguard(Box<DeviceTaintRule>),
}

impl FabricAction {
    /// The kind, the namespace and the name of what the action is about. Actions about one thing are taken one after the other.
    pub fn about(&self) -> (&'static str, &str, &str) {
        fn of<K: Object>(object: &K) -> (&'static str, &str, &str) {
            (K::KIND, &object.metadata().namespace, &object.metadata().name)
        }
        match self {
            Self::Publish(slice) | Self::Withdraw(slice) => of(&**slice),
            Self::Record(entry) | Self::Forget(entry) | Self::Attach(entry) | Self::Detach(entry) => {
                of(&**entry)
            }
            Self::Assign(entry) => entry
                .spec
                .claim
                .as_ref()
                .map_or(of(&**entry), |claim| (ResourceClaim::KIND, &claim.namespace, &claim.name)),
            Self::Report(claim) => of(&**claim),
            Self::Guard(rule) | Self::Unguard(rule) => of(&**rule),
        }
    }
}

/// What there is to do.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FabricDecision {
    /// What to do now.
    pub actions: Vec<FabricAction>,
    /// When there may be more to do even if nothing changes.
    pub again_at: Option<Timestamp>,
    /// What keeps nodes from having devices, and only an administrator can mend.
    pub warnings: Vec<Warning>,
}

/// Something about a node that an administrator should know.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Warning {
    /// The node.
    pub node: String,
    /// What is wrong, in a sentence.
    pub why: String,
}

impl FabricDecision {
    fn at(&mut self, time: Timestamp) {
        self.again_at = Some(self.again_at.map_or(time, |first| first.min(time)));
    }
}

/// Looks at everything and says what to do.
pub fn decide(view: &View<'_>, options: &Options) -> FabricDecision {
    let scene = Scene::of(view, options);
    let mut decision = FabricDecision::default();
    let mut reports = report::Reports::default();
    tend::tend(&scene, &mut decision, &mut reports);
    choose::choose(&scene, &mut decision, &mut reports);
    offer::offer(&scene, &mut decision);
    decision.actions.extend(reports.into_actions(&scene));
    if scene.models().any(|(_, model)| options.hand_over_of(model.name) == HandOver::InPlace) {
        let warning = |node| Warning { node: String::from(node), why: report::no_identity(&scene, node) };
        decision.warnings.extend(scene.without_identity().map(warning));
    }
    decision
}
