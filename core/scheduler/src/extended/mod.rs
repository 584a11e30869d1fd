//! Resources that pods ask for by name and that a class of devices stands for.
//!
//! Where a node has none of such a resource itself, devices take its place: a claim is made up for the pod, gets its devices
//! with the pod's other claims, and is made in the API when the pod goes there. Until the API's own claim is known, and its
//! write answered, the devices are held under a name that no claim can have.
//!
//! A claim that was made for a pod and left behind is deleted before the pod is tried again; it is never used a second time.

mod wish;

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::ledger::{Holder, PodRef};
use cluster::resource_classes::ResourceClasses;
use model::allocation::Allocation;
use model::claim::{Claim, ClaimId};
use model::node::Node;
use model::pod::{Pod, Shape};
use rustc_hash::FxHashMap;

use crate::deallocate::{InTheWay, Remedy};
use crate::engine::Engine;
use crate::filters::Filter;
use crate::write::{RequestMapping, Write};

/// The name of a claim that is not made yet. No claim can have it.
const UNMADE: &str = "<extended-resources>";

/// Resources that classes stand for, and the claims for them.
#[derive(Debug, Default)]
pub(crate) struct Extended {
    /// Claims that were made for pods, by the pod's uid.
    made: FxHashMap<Arc<str>, ClaimId>,
    /// Claims that are on their way or not known yet, by the pod's uid: the names under which their devices are held.
    unmade: FxHashMap<Arc<str>, ClaimId>,
}

/// The claim for what a pod asks for and a node does not have itself, and which container gets what of it.
pub(crate) fn wish_on(
    resources: &ResourceClasses,
    shape: &Shape,
    node: &Node,
) -> Option<(Claim, Vec<RequestMapping>)> {
    let names = shape.device_containers.iter().flat_map(|container| container.amounts.keys());
    let left_to_devices = |name: &&Arc<str>| node.allocatable.get(name) <= 0;
    let resources: BTreeMap<&Arc<str>, &Arc<str>> =
        names.filter(left_to_devices).filter_map(|name| resources.get(name)).collect();
    if resources.is_empty() {
        return None;
    }
    let (requests, mappings) = wish::requests(&shape.device_containers, &resources);
    let id = ClaimId { namespace: shape.namespace.clone(), name: UNMADE.into() };
    Some((Claim { id, requests, constraints: Vec::new(), configs: Vec::new() }, mappings))
}

/// The pod whose claim is not made yet, by the name under which its devices are held.
fn pod_of(claim: &ClaimId) -> Option<&str> {
    claim.name.strip_prefix(UNMADE)?.strip_prefix(' ')
}

impl Engine {
    /// Follows the classes that there are.
    pub(crate) fn follow_classes(&mut self) {
        let resources = &self.facts.resources;
        for profile in &mut self.settings.profiles {
            // A profile that does not look at devices must not leave anything to them.
            let filters = &profile.filters;
            let is_known = filters.device_resources.iter().eq(resources.names());
            if filters.has(Filter::Devices) && !is_known {
                let filters = &mut Arc::make_mut(profile).filters;
                filters.device_resources = resources.names().cloned().collect();
            }
        }
    }

    /// What keeps a claim from being made for a pod, and what can be done about it.
    pub(crate) fn cannot_make(&self, pod: &Pod) -> Option<(String, Option<InTheWay>)> {
        if let Some(claim) = self.extended.made.get(&pod.uid) {
            let known = self.facts.claims.get(claim)?;
            let delete = InTheWay { claim: claim.clone(), uid: known.uid.clone(), remedy: Remedy::Delete };
            let is_leaving = known.deleting || self.is_given_up(claim);
            return Some((
                "cannot schedule extended resource claim".to_owned(),
                (!is_leaving).then_some(delete),
            ));
        }
        let is_coming = self.extended.unmade.contains_key(&pod.uid);
        is_coming
            .then(|| ("the pod's extended resource claim is in the process of being made".to_owned(), None))
    }

    /// Takes the devices of a claim that is to be made for a pod, and says what is to be written.
    pub(crate) fn make_claim(&mut self, pod: &Pod, node: &str, allocation: Allocation) -> (ClaimId, Write) {
        let at = self.facts.nodes.find(node).and_then(|at| self.facts.nodes.get(at).node.clone());
        let wish = at.and_then(|node| wish_on(&self.facts.resources, &pod.shape, &node));
        let (wish, mappings) = wish.expect("devices were found a moment ago for what the node does not have");
        let name = format!("{UNMADE} {}", pod.uid).into();
        let id = ClaimId { namespace: pod.id.namespace.clone(), name };
        // The API's claim holds the same shares; ours stand beside them until it is known.
        let holder = Holder::Made(PodRef::from(pod));
        let (held, shares) = crate::engine::held(&holder, &pod.uid, &allocation);
        self.facts.claims.decide_unmade(&id, &pod.uid, held);
        self.extended.unmade.insert(pod.uid.clone(), id.clone());
        self.facts.touch_claim(&id);
        let write = Write::MakeClaim {
            pod: pod.id.clone(),
            uid: pod.uid.clone(),
            wish: Box::new(wish),
            allocation: Box::new(allocation),
            shares,
            mappings,
        };
        (id, write)
    }

    /// The claim that was made for what a pod asks for by name, if there is one.
    pub(crate) fn made_for(&self, pod: &str) -> Option<&ClaimId> {
        self.extended.made.get(pod)
    }

    /// The claim that was made, if this is the name under which its devices were held.
    pub(crate) fn made_under(&self, claim: &ClaimId) -> Option<&ClaimId> {
        pod_of(claim).and_then(|pod| self.made_for(pod))
    }

    /// Takes note of a claim that was made for a pod.
    pub(crate) fn note_made(&mut self, state: &ClaimState) {
        if let Some(owner) = state.owner.as_ref().filter(|_| state.extended) {
            self.extended.made.insert(owner.clone(), state.wish.id.clone());
        }
    }

    /// Forgets a claim that is gone, and says whether it was made for a pod.
    pub(crate) fn forget_made(&mut self, claim: &ClaimId) -> bool {
        let state = self.facts.claims.get(claim).filter(|state| state.extended);
        let Some(owner) = state.and_then(|state| state.owner.clone()) else { return false };
        let known = self.extended.made.get(&owner) == Some(claim);
        if known {
            self.extended.made.remove(&owner);
        }
        known
    }

    /// Once the write for a pod's claim is answered and the claim is here, it holds its devices itself; if it could not be
    /// made, nobody does.
    pub(crate) fn settle_unmade(&mut self, pod: &Arc<str>) {
        let made = self.extended.made.get(pod);
        let is_here = made.is_some_and(|claim| self.facts.claims.allocation(claim).is_some());
        let unmade = self.extended.unmade.get(pod);
        if unmade.is_some_and(|claim| is_here || !self.facts.claims.is_decided(claim)) {
            self.forget_unmade(pod);
        }
    }

    /// Lets go of the devices of a claim that is not known yet, unless it is still on its way.
    pub(crate) fn forget_unmade(&mut self, pod: &Arc<str>) {
        let Some(claim) = self.extended.unmade.get(pod).cloned() else { return };
        if !self.is_being_written(pod, &claim) {
            self.extended.unmade.remove(pod);
            self.undecide(&claim);
        }
    }

    /// Deletes the claim that was made for a pod, if this is the name under which its devices were held.
    pub(crate) fn unmake(&mut self, claim: &ClaimId) {
        let Some(made) = self.made_under(claim).cloned() else { return };
        if self.is_given_up(&made) {
            return;
        }
        if let Some(uid) = self.facts.claims.get(&made).map(|known| known.uid.clone()) {
            self.ask_for(InTheWay { claim: made, uid, remedy: Remedy::Delete }, &"".into());
        }
    }
}
