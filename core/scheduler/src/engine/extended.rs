//! Resources that pods ask for by name and that a class of devices stands for.
//!
//! Where a node has none of such a resource itself, devices take its place: a claim is made up for the pod, gets its devices
//! with the pod's other claims, and is made in the API when the pod goes there. Until the API's own claim is known, and its
//! write answered, the devices are held for the pod.
//!
//! A claim that was made for a pod and left behind is deleted before the pod is tried again; it is never used a second time.

use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::ledger::{Holder, PodRef};
use decisions::binding_part::BindingPart;
use decisions::extended::wish_on;
use decisions::filters::Filter;
use decisions::holding::held;
use decisions::in_the_way::{InTheWay, Remedy};
use decisions::underway::Underway as _;
use model::allocation::Allocation;
use model::claim::ClaimId;
use model::identity::PodUid;
use model::pod::Pod;

use crate::engine::Engine;
use crate::life_cycles::binding::OpenWrite;
use crate::write::Write;

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

    /// Takes the devices of a claim that is to be made for a pod, and says what is to be written.
    pub(crate) fn make_claim(&mut self, pod: &Pod, node: &str, allocation: Allocation) -> Write {
        let at = self.facts.nodes.find(node).and_then(|at| self.facts.nodes.get(at).node.clone());
        let spec = at.and_then(|node| wish_on(&self.facts.resources, &pod.shape, &node));
        let (spec, mappings) = spec.expect("devices were found a moment ago for what the node does not have");
        // The API's claim holds the same shares; ours stand beside them until it is known.
        let holder = Holder::Made(PodRef::from(pod));
        let (held, shares) = held(&holder, &pod.uid, &allocation);
        self.facts.claims.decide_unmade(&pod.uid, held);
        self.facts.touch_unmade(&pod.uid);
        Write::MakeClaim {
            pod: pod.id.clone(),
            uid: pod.uid.clone(),
            spec: Box::new(spec),
            allocation: Box::new(allocation),
            shares,
            mappings,
        }
    }

    /// Takes note of a claim that was made for a pod.
    pub(crate) fn note_made(&mut self, state: &ClaimState) {
        if let Some(owner) = state.owner.as_ref().filter(|_| state.extended) {
            self.facts.made.insert(PodUid::from(&**owner), state.wish.id.clone());
        }
    }

    /// Forgets a claim that is gone, and says whether it was made for a pod.
    pub(crate) fn forget_made(&mut self, claim: &ClaimId) -> bool {
        let state = self.facts.claims.get(claim).filter(|state| state.extended);
        let Some(owner) = state.and_then(|state| state.owner.clone()) else { return false };
        let known = self.facts.made.get(&*owner) == Some(claim);
        if known {
            self.facts.made.remove(&*owner);
        }
        known
    }

    /// Once the claim that was made for a pod is here and its write answered, it holds its devices itself.
    pub(crate) fn settle_unmade(&mut self, pod: &PodUid) {
        let made = self.facts.made_for(pod);
        if made.is_some_and(|claim| self.facts.claims.allocation(claim).is_some()) {
            self.forget_unmade(pod);
        }
    }

    /// Lets go of the devices of a claim that is not known yet, unless it is still on its way.
    pub(crate) fn forget_unmade(&mut self, pod: &PodUid) {
        let is_it = |open: &OpenWrite| open.part == BindingPart::MadeClaim;
        let open = self.bindings.get(pod).is_some_and(|binding| binding.open.values().any(is_it));
        let abandoned = &self.bindings.abandoned;
        if !open && !abandoned.values().any(|(open, user)| is_it(open) && user.uid == *pod) {
            self.facts.touch_unmade(pod);
            self.facts.claims.forget_unmade(pod);
        }
    }

    /// Deletes the claim that was made for a pod.
    pub(crate) fn unmake(&mut self, pod: &str) {
        let made = self.facts.made_for(pod).filter(|made| !self.bindings.is_given_up(made)).cloned();
        let Some(claim) = made else { return };
        if let Some(uid) = self.facts.claims.get(&claim).map(|known| known.uid.clone()) {
            self.ask_for(InTheWay { claim, uid, remedy: Remedy::Delete }, None);
        }
    }
}
