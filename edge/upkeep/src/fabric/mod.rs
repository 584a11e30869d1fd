//! Devices of a fabric: attached for the claims that were given them, offered, and detached when nobody uses them.
//!
//! One subject stands for the whole: looking at it looks at everything and finds out which objects need work. Each of these is then
//! a subject of its own, so that a device that takes minutes holds up no other.
//!
//! Invariant: nothing is decided by an inventory that is older than what was last done to the fabric; `sight` sees to that.

mod carry;
mod sight;

use std::sync::Arc;
use std::time::Duration;

use controllers::fabric::inventory::Inventory;
use controllers::fabric::names::FABRIC_LABEL;
use controllers::fabric::{self as decide, FabricDecision, Options, View, Warning};
use fabric::Fabric;
use model::timestamp::Timestamp;
use objects::core::node::Node;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceTaintRule;
use objects::resource::slice::ResourceSlice;
use objects::supercargo::device_attachment::DeviceAttachment;
use parking_lot::Mutex;

use sight::Sight;

use crate::controller::{Controller, Done, Look, Subject, Tools, Undone};
use crate::kinds::{Kind, kind};
use crate::world::{Change, World};

/// A fabric, and how it is used.
#[derive(Clone)]
pub struct Site {
    /// The fabric.
    pub fabric: Arc<dyn Fabric>,
    /// How it is used.
    pub options: Options,
    /// How often it is looked at, even if nothing happens.
    pub period: Duration,
    /// Hears what is done, in a line each.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Keeps the devices of a fabric in order.
pub(crate) struct Keeper {
    site: Site,
    sight: Arc<Mutex<Sight>>,
    /// Counts changes of what is followed, so that a decision is known to be old.
    changes: u64,
    decision: Mutex<Option<(u64, Timestamp, Arc<FabricDecision>)>>,
    /// Warnings that were given, and still hold.
    warned: Mutex<Vec<Warning>>,
}

/// How many actions may be under way at once.
const WORK_MAX: usize = 1000;

/// The subject that stands for the whole fabric.
fn whole() -> Subject {
    Subject { kind: "Fabric", name: (String::new(), String::new()) }
}

impl Keeper {
    pub(crate) fn of(site: Site) -> Self {
        Self { site, sight: Arc::default(), changes: 0, decision: Mutex::new(None), warned: Mutex::default() }
    }

    /// What there is to do; thought out once for as long as nothing changes.
    fn decision(&self, inventory: &Inventory, world: &World, now: Timestamp) -> Arc<FabricDecision> {
        let mut kept = self.decision.lock();
        if let Some((changes, as_of, decision)) = &*kept
            && (*changes, *as_of) == (self.changes, inventory.as_of)
            && decision.again_at.is_none_or(|time| now < time)
        {
            return decision.clone();
        }
        let slices: Vec<&ResourceSlice> = world.all::<ResourceSlice>().map(|one| &**one).collect();
        let claims: Vec<&ResourceClaim> = world.all::<ResourceClaim>().map(|one| &**one).collect();
        let nodes: Vec<&Node> = world.all::<Node>().map(|one| &**one).collect();
        let ledger: Vec<&DeviceAttachment> = world.all::<DeviceAttachment>().map(|one| &**one).collect();
        let guards: Vec<&DeviceTaintRule> = world.all::<DeviceTaintRule>().map(|one| &**one).collect();
        let view = View {
            now,
            inventory,
            slices: &slices,
            claims: &claims,
            nodes: &nodes,
            ledger: &ledger,
            guards: world.serves::<DeviceTaintRule>().then_some(&guards),
        };
        let decision = Arc::new(decide::decide(&view, &self.site.options));
        *kept = Some((self.changes, inventory.as_of, decision.clone()));
        decision
    }

    /// Gives warnings that were not given yet.
    fn warn(&self, warnings: &[Warning], tools: &Tools) {
        let mut warned = self.warned.lock();
        let new = warnings.iter().filter(|warning| !warned.contains(warning));
        new.for_each(|warning| carry::warn(&self.site, tools, warning));
        *warned = warnings.to_vec();
    }

    /// Looks at everything, and at the fabric first if that is due.
    fn survey(&self, world: &World, tools: &Tools) -> Look {
        let now = tools.clock.now();
        let fresh = self.sight.lock().fresh(now, self.site.period);
        let Some((inventory, due)) = fresh else {
            return Look::work(refresh(self.site.fabric.clone(), self.sight.clone(), now));
        };
        let decision = self.decision(&inventory, world, now);
        self.warn(&decision.warnings, tools);
        let again_at = Some(decision.again_at.map_or(due, |time| time.min(due)));
        let besides = decision.actions.iter().map(subject).collect();
        Look { work: None, again_at, besides }
    }
}

/// The subject that an action is about.
fn subject(action: &decide::FabricAction) -> Subject {
    let (kind, namespace, name) = action.about();
    Subject { kind, name: (namespace.to_owned(), name.to_owned()) }
}

async fn refresh(fabric: Arc<dyn Fabric>, sight: Arc<Mutex<Sight>>, now: Timestamp) -> Result<Done, Undone> {
    let glance = sight.lock().begin();
    let inventory = fabric.inventory(now).await.map_err(|trouble| Undone::Failed(trouble.to_string()))?;
    sight.lock().see(glance, inventory);
    Ok(Done { besides: vec![whole()], ..Done::default() })
}

impl Controller for Keeper {
    fn name(&self) -> &'static str {
        "fabric-controller"
    }

    fn follows(&self) -> Vec<Kind> {
        vec![
            kind::<DeviceAttachment>(),
            kind::<DeviceTaintRule>(),
            kind::<Node>(),
            kind::<ResourceClaim>(),
            kind::<ResourceSlice>(),
        ]
    }

    /// A device may take minutes; reports and slices must not wait for that.
    fn work_max(&self) -> usize {
        WORK_MAX
    }

    fn begins_with(&self) -> Vec<Subject> {
        vec![whole()]
    }

    fn note(&mut self, _: &Change, _: &World, _: Timestamp) {
        self.changes += 1;
    }

    fn touched(&self, change: &Change, _: &World) -> Vec<Subject> {
        if self.matters(change) { vec![whole()] } else { Vec::new() }
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        // Without a ledger nothing may be done.
        if !world.serves::<DeviceAttachment>() {
            let why = "the API server does not serve DeviceAttachments; hint: run `supercargo crds | kubectl apply -f -`";
            return Look::work(std::future::ready(Err(Undone::Failed(why.to_owned()))));
        }
        if *subject == whole() {
            return self.survey(world, tools);
        }
        let Some(inventory) = self.sight.lock().current() else {
            return Look { besides: vec![whole()], ..Look::NOTHING };
        };
        let decision = self.decision(&inventory, world, tools.clock.now());
        let action = decision.actions.iter().find(|action| self::subject(action) == *subject);
        action.map_or(Look::NOTHING, |action| {
            Look::work(carry::carry(self.site.clone(), self.sight.clone(), tools.clone(), action.clone()))
        })
    }
}

impl Keeper {
    /// Whether a change may be one for the fabric.
    fn matters(&self, change: &Change) -> bool {
        let options = &self.site.options;
        if let Some(claim) = change.of::<ResourceClaim>() {
            let has_device = |claim: &ResourceClaim| {
                let results =
                    claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results);
                results.into_iter().any(|result| result.driver == options.driver)
            };
            return claim.before.is_some_and(has_device) || claim.after.is_some_and(has_device);
        }
        if let Some(slice) = change.of::<ResourceSlice>() {
            return slice.object().spec.driver == options.driver;
        }
        if let Some(node) = change.of::<Node>() {
            let label = |node: &Node| node.metadata.labels.get(FABRIC_LABEL).cloned();
            // Nodes say every few seconds that they are well.
            let same =
                node.before.map(|node| &node.metadata.labels) == node.after.map(|node| &node.metadata.labels);
            return !same && (node.before.and_then(label).is_some() || node.after.and_then(label).is_some());
        }
        true
    }
}
