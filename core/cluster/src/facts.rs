//! Everything that was observed of a cluster, and what follows from it.
//!
//! Invariant: nothing here wants anything. A shared reference is the view that decisions have; what is changed for a moment only
//! is changed by a [`Trial`](crate::trial::Trial), which rewinds it. Whatever may change an answer about a node is noted in
//! [`Touches`], so that answers can be kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use gates::{Gate, Gates};
use model::claim::{ClaimId, Class};
use model::device::PoolId;
use model::identity::PodUid;
use model::node::Node;
use model::pod::{Pod, PodId};
use rustc_hash::FxHashMap;

use crate::budgets::Budgets;
use crate::change::{CompanionChange, StorageChange};
use crate::claims::{Claims, Held};
use crate::companions::Companions;
use crate::contexts::PodContext;
use crate::groups::Groups;
use crate::images::ImageCounts;
use crate::namespaces::Namespaces;
use crate::nodes::Nodes;
use crate::pools::{PoolReach, Slices};
use crate::published::Published;
use crate::resource_classes::ResourceClasses;
use crate::shared_map::SharedMap;
use crate::taint_rules::{TaintRule, TaintRules};
use crate::touches::Touches;
use crate::volumes::Volumes;

/// What is known of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Which features are on.
    pub gates: Gates,
    /// Nodes with the pods on them, and pods that are about to be on them.
    pub nodes: Nodes,
    /// Labels of namespaces.
    pub namespaces: Namespaces,
    /// Volumes, claims for them and their classes.
    pub volumes: Arc<Volumes>,
    /// How many nodes have which image.
    pub images: ImageCounts,
    /// Which pods belong together.
    pub companions: Arc<Companions>,
    /// What drivers publish.
    pub slices: Arc<Slices>,
    /// Rules that put taints on devices.
    pub taint_rules: TaintRules,
    /// Classes of devices.
    pub classes: BTreeMap<Arc<str>, Class>,
    /// Which class stands for which resource that pods ask for by name.
    pub resources: ResourceClasses,
    /// Claims, and the devices that they hold.
    pub claims: Claims,
    /// Claims that were made for what pods ask for by name, by the uids of these.
    pub made: FxHashMap<PodUid, ClaimId>,
    /// What is negotiated with drivers' controllers about pods, by the names of these.
    pub contexts: BTreeMap<PodId, PodContext>,
    /// Disruption budgets.
    pub budgets: Budgets,
    /// Groups of pods, and which pods are members.
    pub groups: Groups,
    /// Pods that wait for one of our profiles, by uid: for a node, or for devices on the node that they were bound to.
    pub waiting: SharedMap<PodUid, Arc<Pod>>,
    /// For which nodes something changed.
    pub touches: Touches,
}

impl Facts {
    /// Nothing is known yet; these features are on.
    #[must_use]
    pub fn new(gates: Gates) -> Facts {
        Facts { gates, groups: Groups::new(gates), ..Facts::default() }
    }

    /// Takes note of a node, and tells what was known of it before.
    pub fn apply_node(&mut self, node: Node) -> Option<Arc<Node>> {
        let known = self.nodes.find(&node.name).and_then(|at| self.nodes.get(at).node.clone());
        self.images.replace(known.as_deref(), Some(&node));
        let at = self.nodes.apply(node);
        self.touches.touch(at);
        known
    }

    /// Whether a node is there. Pods may be on others.
    #[must_use]
    pub fn has_node(&self, name: &str) -> bool {
        self.nodes.find(name).is_some_and(|at| self.nodes.get(at).node.is_some())
    }

    /// Forgets a node, and says whether it was known.
    pub fn remove_node(&mut self, name: &str) -> bool {
        let known = self.nodes.find(name).and_then(|at| self.nodes.get(at).node.clone());
        self.images.replace(known.as_deref(), None);
        let Some(at) = self.nodes.remove(name) else { return false };
        self.touches.touch(at);
        true
    }

    /// Puts a pod on its node, wherever it was.
    pub fn put_pod(&mut self, pod: Arc<Pod>) {
        self.take_pod(&pod.uid);
        self.groups.seat(&pod);
        if let Some(at) = self.nodes.apply_pod(pod) {
            self.touches.touch(at);
        }
    }

    /// Takes a pod off its node, and says whether it was on one.
    pub fn take_pod(&mut self, uid: &str) -> bool {
        self.groups.unseat(uid);
        let at = self.nodes.remove_pod(uid);
        at.into_iter().for_each(|at| self.touches.touch(at));
        at.is_some()
    }

    /// Takes note of a slice.
    pub fn apply_slice(&mut self, published: Arc<Published>) {
        let published = self.taint_rules.publish(published);
        self.put_slice(published);
    }

    /// Forgets a slice.
    pub fn remove_slice(&mut self, name: &str) {
        if let Some(pool) = self.slices.get(name).map(|known| known.slice.pool.clone()) {
            self.touch_pool(&pool);
        }
        Arc::make_mut(&mut self.slices).remove(name);
        self.taint_rules.forget(name);
    }

    /// Takes note of a rule that puts taints on devices, and says whether some have others now.
    pub fn apply_taint_rule(&mut self, rule: TaintRule) -> bool {
        let changed = self.taint_rules.apply(rule, &self.slices);
        self.put_slices(changed)
    }

    /// Forgets a rule that puts taints on devices, and says whether some have others now.
    pub fn remove_taint_rule(&mut self, name: &str) -> bool {
        let changed = self.taint_rules.remove(name, &self.slices);
        self.put_slices(changed)
    }

    fn put_slices(&mut self, changed: Vec<Arc<Published>>) -> bool {
        let is_changed = !changed.is_empty();
        changed.into_iter().for_each(|published| self.put_slice(published));
        is_changed
    }

    fn put_slice(&mut self, published: Arc<Published>) {
        let pool = published.slice.pool.clone();
        self.touch_pool(&pool);
        Arc::make_mut(&mut self.slices).apply(published);
        self.touch_pool(&pool);
    }

    /// Takes note of a class.
    pub fn apply_class(&mut self, class: Class) {
        self.classes.insert(class.name.clone(), class);
        self.follow_classes();
    }

    /// Forgets a class.
    pub fn remove_class(&mut self, name: &str) {
        self.classes.remove(name);
        self.follow_classes();
    }

    fn follow_classes(&mut self) {
        if self.gates.enabled(Gate::DRAExtendedResource) {
            self.resources = ResourceClasses::new(self.classes.values());
        }
        self.touches.touch_all();
    }

    /// The claim that was made for what a pod asks for by name, if there is one.
    #[must_use]
    pub fn made_for(&self, pod: &str) -> Option<&ClaimId> {
        self.made.get(pod)
    }

    /// The context of a pod, and not that of another of its name.
    #[must_use]
    pub fn context(&self, pod: &Pod) -> Option<&PodContext> {
        self.contexts.get(&pod.id).filter(|context| context.owner == pod.uid)
    }

    /// Something changed for the devices of a pool.
    pub fn touch_pool(&mut self, pool: &PoolId) {
        match self.slices.node_of(pool) {
            PoolReach::Nowhere => {}
            PoolReach::Node(node) => {
                if let Some(at) = self.nodes.find(node) {
                    self.touches.touch(at);
                }
            }
            PoolReach::Several => self.touches.touch_all(),
        }
    }

    /// Something changed for the devices that a claim holds.
    pub fn touch_claim(&mut self, id: &ClaimId) {
        for Held { device, .. } in self.claims.held(id) {
            self.touch_pool(&device.pool_id());
        }
    }

    /// Answers about the devices of a claim that is to be made for a pod may be others now.
    pub fn touch_unmade(&mut self, pod: &str) {
        let held = self.claims.unmade(pod).map(|allocated| allocated.held.clone()).unwrap_or_default();
        held.iter().for_each(|one| self.touch_pool(&one.device.pool_id()));
    }

    /// Takes note of a fact about volumes.
    pub fn apply_storage(&mut self, change: StorageChange) {
        let volumes = Arc::make_mut(&mut self.volumes);
        match change {
            StorageChange::VolumeApplied(volume) => volumes.apply_volume(*volume),
            StorageChange::VolumeAnswered(volume) => volumes.answer_volume(*volume),
            StorageChange::VolumeClaimAnswered(claim) => volumes.answer_claim(*claim),
            StorageChange::VolumeGone(name) => volumes.remove_volume(&name),
            StorageChange::VolumeClaimApplied(claim) => volumes.apply_claim(*claim),
            StorageChange::VolumeClaimGone(id) => volumes.remove_claim(&id),
            StorageChange::StorageClassApplied(class) => volumes.apply_class(class),
            StorageChange::StorageClassGone(name) => volumes.remove_class(&name),
            StorageChange::NodeApplied(node) => drop(volumes.apply_node(node)),
            StorageChange::NodeGone(name) => volumes.remove_node(&name),
            StorageChange::DriverApplied(driver) => volumes.apply_driver(driver),
            StorageChange::DriverGone(name) => volumes.remove_driver(&name),
            StorageChange::CapacityApplied(capacity) => volumes.apply_capacity(*capacity),
            StorageChange::CapacityGone(namespace, name) => volumes.remove_capacity(&namespace, &name),
            StorageChange::AttachmentApplied(attachment) => volumes.apply_attachment(attachment),
            StorageChange::AttachmentGone(name) => volumes.remove_attachment(&name),
        }
    }

    /// Takes note of a fact about which pods belong together.
    pub fn apply_companions(&mut self, change: CompanionChange) {
        let companions = Arc::make_mut(&mut self.companions);
        match change {
            CompanionChange::ServiceApplied(namespace, name, labels) => {
                companions.apply_service(namespace, name, labels);
            }
            CompanionChange::ServiceGone(namespace, name) => companions.remove_service(&namespace, &name),
            CompanionChange::OwnerApplied(namespace, owner, selector) => {
                companions.apply_owner(namespace, owner, selector);
            }
            CompanionChange::OwnerGone(namespace, owner) => companions.remove_owner(&namespace, &owner),
        }
    }
}
