//! Pods on their way to nodes, and what is being written for them.
//!
//! Invariant: when a pod goes on at the latest and which claims it waits for follow from its stage, and are found by time and by claim
//! for as long as it is in that stage. Pods on their way are found by the claims that they name.

use std::collections::BTreeSet;
use std::sync::Arc;

use decisions::underway::{Frozen, Tie, Underway};
use model::claim::ClaimId;
use model::identity::PodUid;
use model::pod::Pod;
use model::timestamp::Timestamp;
use model::volume::VolumeClaimId;
use rustc_hash::FxHashMap;

use crate::claim_waits::ClaimWaits;
use crate::engine::Forlorn;
use crate::life_cycles::binding::{Binding, BindingStage, Event, OpenWrite};
use crate::life_cycles::giving_back::GivingBack;
use crate::rivals::Rivals;
use crate::write::{Consumer, WriteId};

/// What is being written for pods.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    /// Pods on their way, by uid.
    by_pod: FxHashMap<PodUid, Binding>,
    /// The uids of those that name a claim; nothing else of a claim is written for a pod.
    by_claim: FxHashMap<ClaimId, BTreeSet<PodUid>>,
    /// When each of those that wait goes on at the latest.
    deadlines: BTreeSet<(Timestamp, PodUid)>,
    /// Writes for pods that are gone, with their users; devices stay taken until the answer.
    pub abandoned: FxHashMap<WriteId, (OpenWrite, Consumer)>,
    /// Pods that wait for something of a claim.
    pub waits: ClaimWaits,
    /// Pods that wait until volume claims are bound.
    volume_waits: BTreeSet<(VolumeClaimId, PodUid)>,
    /// Claims with devices that no pod uses.
    pub forlorn: Forlorn,
    /// Schedulers besides us that give out devices.
    pub rivals: Rivals,
    /// When a list told of a claim the last time.
    pub claims_listed: Option<Timestamp>,
    /// Claims that are to give their devices back, or to go.
    pub giving_back: GivingBack,
    /// How often pods that were on their nodes before got devices there. One that loses them again backs off.
    pub served: FxHashMap<PodUid, u32>,
}

impl Bindings {
    /// A pod sets off.
    pub fn begin(&mut self, binding: Binding) {
        for claim in binding.pod.claim_ids() {
            self.by_claim.entry(claim).or_default().insert(binding.pod.uid.clone());
        }
        let before = self.by_pod.insert(binding.pod.uid.clone(), binding);
        debug_assert!(before.is_none(), "a pod is on its way once");
    }

    /// A pod on its way goes on by an event. It is given back when it is on its way no more.
    pub fn step(&mut self, uid: &PodUid, event: Event) -> Option<Binding> {
        let binding = self.by_pod.get_mut(uid)?;
        if let Some(time) = binding.deadline() {
            self.deadlines.remove(&(time, uid.clone()));
        }
        if let Some((what, claims)) = binding.awaited() {
            claims.iter().for_each(|claim| self.waits.remove(claim, what, uid));
        }
        for claim in binding.awaited_volumes() {
            self.volume_waits.remove(&(claim.clone(), uid.clone()));
        }
        binding.step(event);
        for claim in binding.awaited_volumes() {
            self.volume_waits.insert((claim.clone(), uid.clone()));
        }
        if let Some(time) = binding.deadline() {
            self.deadlines.insert((time, uid.clone()));
        }
        if let Some((what, claims)) = binding.awaited() {
            claims.iter().for_each(|claim| self.waits.add(claim.clone(), what, uid));
        }
        if matches!(binding.stage(), BindingStage::Over) { self.end(uid) } else { None }
    }

    fn end(&mut self, uid: &PodUid) -> Option<Binding> {
        let binding = self.by_pod.remove(uid)?;
        for claim in binding.pod.claim_ids() {
            if let Some(pods) = self.by_claim.get_mut(&claim) {
                pods.remove(uid);
                if pods.is_empty() {
                    self.by_claim.remove(&claim);
                }
            }
        }
        Some(binding)
    }

    /// A pod on its way.
    pub fn get(&self, uid: &str) -> Option<&Binding> {
        self.by_pod.get(uid)
    }

    /// What is known about a pod on its way besides its stage.
    pub fn get_mut(&mut self, uid: &str) -> Option<&mut Binding> {
        self.by_pod.get_mut(uid)
    }

    /// All pods on their way.
    pub fn iter(&self) -> impl Iterator<Item = &Binding> {
        self.by_pod.values()
    }

    /// How many pods are on their way.
    pub fn len(&self) -> usize {
        self.by_pod.len()
    }

    /// Whether a pod is on its way, or is being taken back from there.
    pub fn has(&self, uid: &str) -> bool {
        self.by_pod.contains_key(uid)
    }

    /// When the next of those that wait goes on.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first().map(|(time, _)| *time)
    }

    /// The pods that wait until a volume claim is bound.
    pub fn waits_for_volume(&self, claim: &VolumeClaimId) -> Vec<PodUid> {
        let from = (claim.clone(), PodUid::default());
        let of_claim = self.volume_waits.range(from..).take_while(|(known, _)| known == claim);
        of_claim.map(|(_, uid)| uid.clone()).collect()
    }

    /// The pods that have waited long enough, each once.
    pub fn take_due(&mut self, now: Timestamp) -> Vec<PodUid> {
        let mut due = Vec::new();
        while self.next_deadline().is_some_and(|time| time <= now) {
            due.extend(self.deadlines.pop_first().map(|(_, uid)| uid));
        }
        due
    }
}

impl Bindings {
    /// What is being written at this moment, as far as it counts in a decision.
    pub fn freeze(&self) -> Frozen {
        let mut frozen =
            Frozen { given_up: self.giving_back.claims().cloned().collect(), ..Frozen::default() };
        let reserved = &mut frozen.reserved;
        let mut reserve = |claim: &ClaimId, user: &str| {
            reserved.entry(claim.clone()).or_default().push(user.into());
        };
        for binding in self.iter() {
            binding.claims().for_each(|claim| reserve(claim, &binding.pod.uid));
            for claim in binding.claims() {
                frozen.reserving.entry(claim.clone()).or_default().push(binding.pod.clone());
            }
        }
        for (open, user) in self.abandoned.values() {
            open.part.claim().into_iter().for_each(|claim| reserve(claim, &user.uid));
        }
        frozen.ties = self.by_pod.keys().map(|uid| (uid.clone(), self.tie(uid))).collect();
        frozen
    }
}

impl Underway for Bindings {
    fn is_on_its_way(&self, pod: &str) -> bool {
        self.has(pod)
    }

    fn is_being_reserved(&self, claim: &ClaimId, besides: Option<&str>) -> bool {
        let is_other = |pod: &str| besides != Some(pod);
        let uses = |uid: &PodUid| is_other(uid) && self.get(uid).is_some_and(|one| one.has_part(claim));
        let is_written =
            |(open, user): &(OpenWrite, Consumer)| is_other(&user.uid) && open.part.claim() == Some(claim);
        self.by_claim.get(claim).into_iter().flatten().any(uses) || self.abandoned.values().any(is_written)
    }

    fn reserving(&self, claim: &ClaimId) -> Vec<Arc<Pod>> {
        let named = self.by_claim.get(claim).into_iter().flatten().filter_map(|uid| self.get(uid));
        named.filter(|binding| binding.has_part(claim)).map(|binding| binding.pod.clone()).collect()
    }

    fn is_given_up(&self, claim: &ClaimId) -> bool {
        self.giving_back.has(claim)
    }

    fn tie(&self, pod: &str) -> Tie {
        match self.get(pod) {
            Some(binding) if binding.pod.node.is_some() => Tie::Bound,
            Some(binding) if binding.keeps_node => Tie::Readied,
            _ => Tie::None,
        }
    }
}
