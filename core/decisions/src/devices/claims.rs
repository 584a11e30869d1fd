//! The claims of a pod: which have devices, which need some, and whether all of them can be used.

use cluster::claims::ClaimState;
use model::claim::ClaimId;
use model::identity::{ConsumerUid, NodeName};
use model::pod::{ClaimSource, Pod};

use crate::cycle::Cycle;
use crate::driven_off::off_devices;
use crate::giving_back::Why;
use crate::profile::Profile;
use crate::values::filter_set::Filter;
use crate::values::in_the_way::{InTheWay, Remedy};
use crate::values::pending::Pending;
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::PodRefusal;
use crate::values::reason::ClaimReason;

/// The most pods that may share a claim.
pub(crate) const CONSUMERS_MAX: usize = 256;

impl Cycle<'_> {
    /// The claims of a pod, if all of them can be used.
    pub(crate) fn claims_of(&self, pod: &Pod, profile: &Profile) -> Result<PodClaims, Box<PodRefusal>> {
        let refused = |reason: ClaimReason| self.refused_by_claims(reason);
        if !profile.filters.has(Filter::Devices) {
            return Ok(PodClaims::default());
        }
        let (named, footing) = (self.facts.named_needs(pod), self.footing(pod));
        let mut claims = PodClaims { named, footing, ..PodClaims::default() };
        if pod.node.is_some() {
            // Whether there is room for it was not asked either.
            (claims.named, claims.footing) = (None, None);
        }
        if let Some((reason, in_the_way)) = claims.named.as_ref().and_then(|_| self.cannot_make(pod)) {
            return Err(Box::new(PodRefusal { in_the_way, ..*refused(reason) }));
        }
        for claim in &pod.claims {
            let name = match &claim.source {
                ClaimSource::Named(name) | ClaimSource::Generated(name) => name,
                ClaimSource::NotNeeded => continue,
                ClaimSource::ToBeGenerated { .. } => {
                    return Err(refused(ClaimReason::NotCreated { entry: claim.name.clone() }));
                }
                ClaimSource::Unknown => {
                    return Err(refused(ClaimReason::SourceUnknown { entry: claim.name.clone() }));
                }
            };
            let id = ClaimId { namespace: pod.id.namespace.clone(), name: name.clone() };
            let Some(state) = self.assumed.get(&id).or_else(|| self.facts.claims.get(&id)) else {
                return Err(refused(ClaimReason::NotFound(id)));
            };
            if state.deleting {
                return Err(refused(ClaimReason::Deleting(id)));
            }
            let user = self.facts.user_of(pod, &id);
            let generated = matches!(claim.source, ClaimSource::Generated(_));
            if generated && state.owner.as_ref() != Some(&user) {
                return Err(refused(ClaimReason::NotOwn(id)));
            }
            if self.facts.claims.is_decided(&id) {
                return Err(refused(ClaimReason::BeingAllocated(id)));
            }
            if self.underway.is_given_up(&id) {
                return Err(refused(ClaimReason::BeingDeallocated(id)));
            }
            // What a pod on its node has there it keeps, as it is: the node may use it by now.
            let may_use =
                |node: &NodeName| state.reserved_for.contains(&user) && self.facts.may_use_at(&id, node);
            let is_its_own = pod.node.as_ref().is_some_and(may_use);
            if !is_its_own && let Some((reason, why)) = self.spoiled(&id, pod, profile) {
                let mut refusal = refused(reason);
                let one = InTheWay { claim: id.clone(), uid: state.uid.clone(), remedy: Remedy::Deallocate };
                refusal.in_the_way = self.gives_back(why, &id, pod).then_some(one);
                return Err(refusal);
            }
            if state.allocation.is_some() && !state.reserved_for.contains(&user) {
                let consumers = self.consumers(state);
                if consumers >= CONSUMERS_MAX {
                    return Err(refused(ClaimReason::Full { claim: id, consumers }));
                }
            }
            if self.is_for_another(state, pod) {
                return Err(refused(ClaimReason::PartOfNode(id)));
            }
            if let Some(pending) = self.pending(pod, claim, state, &refused)? {
                claims.pending.push(pending);
                continue;
            }
            if !user.is(&pod.uid) {
                claims.group_users.insert(id, user);
            }
            let is_settled = state.allocation.is_some() && !self.lifted.contains(&state.wish.id);
            if is_settled { &mut claims.settled } else { &mut claims.open }.push(state.clone());
        }
        Ok(claims)
    }

    /// What makes the devices that a claim has useless to a pod, and why it gives them back then.
    fn spoiled(&self, id: &ClaimId, pod: &Pod, profile: &Profile) -> Option<(ClaimReason, Why)> {
        if let Some(why) = self.readiness().will_not_be_ready(self.now, id, profile) {
            return Some((ClaimReason::NotReady(Box::new(why)), Why::NotReady));
        }
        // One that is on its node has the devices that are there, and is evicted.
        let is_free = pod.node.is_none();
        let tainted = is_free.then(|| off_devices(&self.facts, &self.settings.gates, id)).flatten();
        if let Some(tainted) = tainted {
            return Some((ClaimReason::Tainted(Box::new(tainted)), Why::NotReady));
        }
        let clash = self.facts.clash(id, false).filter(|_| self.gives_back(Why::LostClash, id, pod))?;
        Some((ClaimReason::clash(id, clash), Why::LostClash))
    }

    /// The claims of a pod that are to be negotiated about; none also if the pod cannot use one of its claims.
    pub fn pending_of(&self, pod: &Pod, profile: &Profile) -> Vec<Pending> {
        self.claims_of(pod, profile).map(|claims| claims.pending).unwrap_or_default()
    }

    /// How many users a claim has, with those for which it is being reserved.
    pub(crate) fn consumers(&self, state: &ClaimState) -> usize {
        let mut coming: Vec<ConsumerUid> = Vec::new();
        for pod in self.underway.reserving(&state.wish.id) {
            let user = self.facts.user_of(&pod, &state.wish.id);
            if !state.reserved_for.contains(&user) && !coming.contains(&user) {
                coming.push(user);
            }
        }
        state.reserved_for.len() + coming.len()
    }

    /// The refusal of a pod whose claims cannot be used anywhere.
    pub(crate) fn refused_by_claims(&self, reason: ClaimReason) -> Box<PodRefusal> {
        let wakes = reason.wakes_on();
        PodRefusal::of_all_nodes(self.facts.nodes.iter().count(), reason, Some(Filter::Devices), wakes)
    }
}
