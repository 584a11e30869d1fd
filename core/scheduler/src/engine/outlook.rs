//! What stands between a pod whose claims are written and its node. Nothing is changed here.

use decisions::binding_part::BindingPart;
use decisions::driven_off;
use decisions::filters::Filter;
use decisions::not_bound::{DrivenOff, NotBound};
use decisions::not_ready::{Awaited, ClaimLost, Unready};
use decisions::readiness::{Broken, Standing};
use decisions::reason::ClaimReason;
use model::claim::ClaimId;
use model::identity::PodUid;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::Engine;
use crate::life_cycles::binding::{Binding, BindingStage};

/// How long a list of claims may take from one claim to the next.
const LISTED_WITHIN_MS: i64 = 2_000;

/// How long news of a claim that is written are waited for. A watch that is interrupted may never show a claim that was made
/// and deleted meanwhile.
const HEARS_WITHIN_MS: i64 = 30_000;

/// What stands between a pod and its node.
pub(super) enum Outlook {
    /// It cannot go there.
    Lost(NotBound),
    /// Another claim has a device of this one.
    Clash(ClaimId, ClaimReason),
    /// The API has yet to tell of what is written, or of what was written before.
    Unheard { claims: Vec<ClaimId>, until: Timestamp },
    /// Other schedulers may have decided on its devices before they could know of it.
    Contested { until: Timestamp },
    /// It was on its node before, and nothing holds it back there.
    Served,
    /// Its volumes are not bound yet.
    Unmounted { until: Timestamp },
    /// Devices of these claims are not ready.
    Unready { until: Timestamp, claims: Vec<ClaimId>, what: Awaited },
    /// Devices of these claims will not become ready.
    Broken { claims: Vec<ClaimId>, broken: Vec<Broken> },
    /// It may not go to its node any more, or not with its devices.
    DrivenOff(DrivenOff),
    /// One of these claims has lost the devices that were to become ready.
    LostDevices { claims: Vec<ClaimId>, why: ClaimLost },
    /// It has all that it needs. The devices of these claims were made ready.
    Ready { claims: Vec<ClaimId> },
}

impl Engine {
    /// What stands between a pod on its way and its node. All of its writes are answered.
    pub(super) fn outlook(&self, now: Timestamp, binding: &Binding) -> Outlook {
        if let Some(why) = self.driven_off(binding) {
            return Outlook::DrivenOff(why);
        }
        if let Some(why) = self.misplaced(binding) {
            return Outlook::Lost(why);
        }
        let is_of_devices = |part: &BindingPart| !matches!(part, BindingPart::Volume(_));
        if binding.written.iter().any(is_of_devices)
            && let Some(outlook) = self.unsettled(now, binding)
        {
            return outlook;
        }
        // A pod that is on its node already cannot be held back until its devices are ready.
        if binding.pod.node.is_some() {
            return Outlook::Served;
        }
        self.lacks_volumes(now, binding).unwrap_or_else(|| self.unready(now, binding))
    }

    /// Whether a pod has yet to be certain that it has the devices of its claims alone.
    fn unsettled(&self, now: Timestamp, binding: &Binding) -> Option<Outlook> {
        let claims = self.written_claims(binding);
        let lacks_made = binding.written.contains(&BindingPart::MadeClaim)
            && self.facts.made_for(&binding.pod.uid).is_none();
        if self.bindings.rivals.are_met()
            && let Some(outlook) = self.unheard(now, binding, &claims, lacks_made)
        {
            return Some(outlook);
        }
        let lost = claims.iter().find(|claim| self.facts.claims.allocation(claim).is_none());
        if let Some(lost) = lost {
            return Some(Outlook::Lost(NotBound::Lost(ClaimLost::Deallocated(lost.clone()))));
        }
        if lacks_made && self.facts.claims.unmade(&binding.pod.uid).is_none() {
            return Some(Outlook::Lost(NotBound::LostMade));
        }
        // One of ours that came second has given its own back by the end of the wait. A scheduler that has not will never do so.
        let gives_way = binding.settles_at.is_some_and(|time| now >= time);
        let clash = claims.iter().find_map(|claim| Some((claim, self.facts.clash(claim, gives_way)?)));
        if let Some((claim, clash)) = clash {
            return Some(Outlook::Clash(claim.clone(), ClaimReason::clash(claim, clash)));
        }
        let settles_at = binding.settles_at.or_else(|| self.bindings.rivals.quiet_at(now));
        settles_at.filter(|until| now < *until).map(|until| Outlook::Contested { until })
    }

    /// Whether nothing was told yet of the devices of one of the claims, and that is worth waiting for.
    fn unheard(
        &self,
        now: Timestamp,
        binding: &Binding,
        claims: &[ClaimId],
        lacks_made: bool,
    ) -> Option<Outlook> {
        let is_unheard =
            |claim: &&ClaimId| self.facts.claims.is_decided(claim) || !self.facts.claims.is_told(claim);
        let claim = claims.iter().find(is_unheard).cloned();
        if claim.is_none() && !lacks_made {
            // A list tells of claims in any order: what was given out before may come yet.
            let until = self.bindings.claims_listed.map(|time| time.plus_millis(LISTED_WITHIN_MS));
            let until = until.filter(|until| now < *until && !claims.is_empty());
            return until.map(|until| Outlook::Unheard { claims: Vec::new(), until });
        }
        let known =
            if let BindingStage::Settling { hears_by, .. } = binding.stage() { *hears_by } else { None };
        let until = known.unwrap_or_else(|| now.plus_millis(HEARS_WITHIN_MS));
        if until <= now {
            return Some(Outlook::Lost(NotBound::Unheard(claim)));
        }
        Some(Outlook::Unheard { claims: claim.into_iter().collect(), until })
    }

    /// Whether a pod whose devices are its own waits until they are ready.
    fn unready(&self, now: Timestamp, binding: &Binding) -> Outlook {
        let claims = self.claims_to_ready(binding);
        if claims.is_empty() {
            return Outlook::Ready { claims };
        }
        let began = binding.waited().map_or(now, |waited| waited.since);
        let profile = self.settings.profile_of(&binding.pod);
        match self.readiness().standing(now, began, &claims, &profile) {
            Standing::Ready => Outlook::Ready { claims },
            Standing::Pending(until, what) => Outlook::Unready { until, claims, what },
            Standing::Lost(why) => Outlook::LostDevices { claims, why },
            Standing::Broken(broken) => Outlook::Broken { claims, broken },
        }
    }

    /// The claims of a pod on its way with devices that have to be made ready, and those that it waits for already.
    fn claims_to_ready(&self, binding: &Binding) -> Vec<ClaimId> {
        if !self.readiness().counts() {
            return Vec::new();
        }
        if let Some(waited) = binding.waited() {
            return waited.claims;
        }
        let has_conditions =
            |id: &ClaimId| self.facts.claims.get(id).is_some_and(|state| state.preparation.is_some());
        let mut claims: Vec<ClaimId> = binding.pod.claim_ids().chain(self.written_claims(binding)).collect();
        claims.sort_unstable();
        claims.dedup();
        claims.retain(has_conditions);
        claims
    }

    /// The claims that are written for a pod on its way and known by their names.
    fn written_claims(&self, binding: &Binding) -> Vec<ClaimId> {
        let claims = binding.written.iter().filter_map(|part| match part {
            BindingPart::Claim(claim) => Some(claim),
            BindingPart::MadeClaim => self.facts.made_for(&binding.pod.uid),
            BindingPart::Note(_) | BindingPart::Volume(_) => None,
        });
        claims.cloned().collect()
    }

    /// What claims of a pod lack, if one of them lacks something.
    pub(super) fn what_is_unready(&self, now: Timestamp, pod: &Pod, claims: &[ClaimId]) -> Option<Unready> {
        if !self.readiness().counts() {
            return None;
        }
        match self.readiness().standing(now, now, claims, &self.settings.profile_of(pod)) {
            Standing::Ready | Standing::Lost(_) => None,
            Standing::Pending(_, what) => Some(Unready::Awaited(what)),
            Standing::Broken(broken) => broken.into_iter().next().map(|one| Unready::Broken(one.why)),
        }
    }

    /// What happened to the node or the devices of a pod on its way since these were decided, so that it may not go there. One that
    /// was on its node before stays: others evict it.
    fn driven_off(&self, binding: &Binding) -> Option<DrivenOff> {
        if binding.pod.node.is_some() {
            return None;
        }
        let filters = &self.settings.profile_of(&binding.pod).filters;
        let pod = self.facts.waiting.get(&binding.pod.uid).unwrap_or(&binding.pod);
        let off_node = driven_off::off_node(&self.facts, filters, &pod.shape, &binding.node);
        // Its claims are tied to the node while their volumes are being bound: elsewhere it would get none.
        let stays = |why: &DrivenOff| binding.awaits_volumes() && matches!(why, DrivenOff::Cordoned(_));
        let off_node = off_node.filter(|why| !stays(why));
        let claims = || binding.pod.claim_ids().chain(self.written_claims(binding));
        let off_devices =
            || claims().find_map(|id| driven_off::off_devices(&self.facts, &self.settings.gates, &id));
        let off_devices = || off_devices().filter(|_| filters.has(Filter::Devices));
        off_node.or_else(|| off_devices().map(DrivenOff::DeviceTainted))
    }

    /// Why a pod on its way cannot use a claim where it is to go: since that was decided, the claim lost its devices and got
    /// others elsewhere. A reservation does not tell, for drivers and other schedulers reserve what they give at once.
    fn misplaced(&self, binding: &Binding) -> Option<NotBound> {
        if binding.pod.claims.is_empty() {
            return None;
        }
        let is_there =
            || self.facts.nodes.find(&binding.node).is_some_and(|at| self.facts.nodes.get(at).node.is_some());
        // A pod that is on its node may use what it has, whatever became of the node.
        let is_on_lost_node = binding.pod.node.is_some() && !is_there();
        if is_on_lost_node || !self.settings.profile_of(&binding.pod).filters.has(Filter::Devices) {
            return None;
        }
        let mut claims =
            binding.pod.claim_ids().filter(|claim| self.facts.claims.allocation(claim).is_some());
        let claim = claims.find(|claim| !self.facts.is_usable_at(claim, &binding.node))?;
        Some(NotBound::Elsewhere { claim, node: binding.node.clone() })
    }

    /// Whether a pod on its way could be bound at once, but for its gang.
    pub(super) fn could_be_bound(&self, now: Timestamp, uid: &PodUid) -> bool {
        let is_here = self.facts.waiting.contains_key(uid);
        let binding = self.bindings.get(uid).filter(|binding| is_here && !binding.awaits_answers());
        binding.is_some_and(|binding| matches!(self.outlook(now, binding), Outlook::Ready { .. }))
    }
}
