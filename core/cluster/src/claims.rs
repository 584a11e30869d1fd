//! Claims as the API has them and as we have decided about them, and the ledger that follows from both.
//!
//! Invariant: the ledger holds exactly what the allocations hold: of each claim the one that the API has, and the one that
//! we decided on until it is known what became of it. A write that is not answered may still be carried out, whatever
//! the API has shown meanwhile.
//! What somebody takes or gives back besides, for a trial or for a pod that waits, has holders of its own or is undone.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::claim::{Claim, ClaimId};
use model::device::DeviceId;
use model::node::{Node, NodeSelector};

use crate::ledger::{Holding, Ledger, ShareId};

/// A claim as the API has it.
#[derive(Clone, PartialEq, Debug)]
pub struct ClaimState {
    /// Tells it from others that had or will have its name.
    pub uid: Arc<str>,
    /// Its version, for writes that must not overwrite what we have not seen.
    pub version: Arc<str>,
    /// What it asks for.
    pub wish: Arc<Claim>,
    /// What it has.
    pub allocation: Option<Arc<Allocated>>,
    /// Who uses it, by uid.
    pub reserved_for: Vec<Arc<str>>,
    /// The uid of the pod or group that it was made for.
    pub owner: Option<Arc<str>>,
    /// It was made by a scheduler for resources that its owner asks for by name.
    pub extended: bool,
    /// It is being deleted.
    pub deleting: bool,
    /// It cannot vanish while devices are allocated to it.
    pub protected: bool,
}

impl ClaimState {
    /// Whether the devices that it has can be used from a node. Without devices, it may get some.
    #[must_use]
    pub fn is_usable_on(&self, node: &Node) -> bool {
        let nodes = self.allocation.as_ref().and_then(|allocated| allocated.nodes.as_ref());
        nodes.is_none_or(|nodes| nodes.picks(node).unwrap_or(false))
    }
}

/// What is allocated to a claim.
#[derive(Clone, PartialEq, Debug)]
pub struct Allocated {
    /// The nodes that can use all of it; every node if absent.
    pub nodes: Option<NodeSelector>,
    /// The devices that it holds. Devices that it only looks after are not among them.
    pub held: Vec<Held>,
}

/// One device, or one share of it, that a claim holds.
#[derive(Clone, PartialEq, Debug)]
pub struct Held {
    /// The device.
    pub device: DeviceId,
    /// Which share.
    pub share: Option<ShareId>,
    /// As the ledger has it.
    pub holding: Holding,
}

/// What a change of a claim means for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClaimTouched {
    /// Devices became free.
    pub freed: bool,
    /// Devices were taken.
    pub taken: bool,
}

/// All claims, and the devices that they hold.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    known: BTreeMap<ClaimId, Arc<ClaimState>>,
    /// Allocations that are on their way to the API.
    decided: BTreeMap<ClaimId, Decision>,
    /// When the API was told of an allocation, as it counts its writes.
    arrived: BTreeMap<ClaimId, u64>,
    ledger: Ledger,
}

/// An allocation that is on its way to the API.
#[derive(Clone, Debug)]
struct Decision {
    /// The uid of the claim.
    uid: Arc<str>,
    allocated: Arc<Allocated>,
    /// The API has shown an allocation of the claim since.
    seen: bool,
    /// The API says that it is written, and has yet to show it.
    written: bool,
}

/// A device that two claims have although they cannot share it: two schedulers gave it out at the same moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clash {
    /// The device.
    pub device: DeviceId,
    /// The other claim that has it.
    pub rival: ClaimId,
    /// The other one had it first.
    pub rival_was_first: bool,
}

impl Claims {
    /// A claim as the API has it.
    #[must_use]
    pub fn get(&self, id: &ClaimId) -> Option<&Arc<ClaimState>> {
        self.known.get(id)
    }

    /// What a claim has, or will have once our write arrives.
    #[must_use]
    pub fn allocation(&self, id: &ClaimId) -> Option<&Arc<Allocated>> {
        let decided = || self.decided.get(id).map(|decision| &decision.allocated);
        self.known.get(id).and_then(|known| known.allocation.as_ref()).or_else(decided)
    }

    /// The devices that a claim has, and those that it may get by our write.
    #[must_use]
    pub fn held(&self, id: &ClaimId) -> Vec<Held> {
        let known = self.known.get(id).and_then(|known| known.allocation.as_ref());
        let mut held = known.map(|allocated| allocated.held.clone()).unwrap_or_default();
        let decided = self.decided.get(id).map(|decision| &decision.allocated.held);
        for one in decided.into_iter().flatten() {
            if !held.iter().any(|other| other.device == one.device && other.share == one.share) {
                held.push(one.clone());
            }
        }
        held
    }

    /// Whether an allocation of ours is on its way to the API.
    #[must_use]
    pub fn is_decided(&self, id: &ClaimId) -> bool {
        self.decided.contains_key(id)
    }

    /// The uid for which an allocation of ours is on its way.
    #[must_use]
    pub fn decided_for(&self, id: &ClaimId) -> Option<&Arc<str>> {
        self.decided.get(id).map(|decision| &decision.uid)
    }

    /// Who holds what.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Devices that a claim has by the API and that others have by the API as well.
    pub fn clashes(&self, id: &ClaimId) -> impl Iterator<Item = Clash> {
        let allocated = self.known.get(id).and_then(|known| known.allocation.as_ref());
        let held = allocated.into_iter().flat_map(|allocated| &allocated.held);
        held.flat_map(move |one| {
            let holdings = self.ledger.holdings(&one.device);
            let rivals = holdings.into_iter().flat_map(|all| all.rivals_of(id, one.share.is_some()));
            rivals.filter_map(move |rival| {
                // What we are about to give somebody is not out of our hands.
                let (ours, theirs) = (self.arrived.get(id)?, self.arrived.get(rival)?);
                let (device, rival) = (one.device.clone(), rival.clone());
                Some(Clash { device, rival, rival_was_first: theirs < ours })
            })
        })
    }

    /// Takes note of a claim. Facts come from a watch and from answers to writes, so one may be older than what is known. It
    /// says then no more than that an allocation had arrived.
    pub fn apply(&mut self, state: ClaimState) -> ClaimTouched {
        let id = state.wish.id.clone();
        let before = self.held(&id);
        let mut is_over = false;
        if let Some(decision) = self.decided.get_mut(&id) {
            decision.seen |= state.allocation.is_some();
            is_over = decision.uid != state.uid || (decision.seen && decision.written);
        }
        if is_over {
            self.decided.remove(&id);
        }
        if !self.known.get(&id).is_some_and(|known| is_older(&state, known)) {
            self.note_arrival(&id, &state);
            self.known.insert(id.clone(), Arc::new(state));
        }
        self.follow(&id, &before)
    }

    /// Forgets a claim that is gone.
    pub fn remove(&mut self, id: &ClaimId) -> ClaimTouched {
        let before = self.held(id);
        self.decided.remove(id);
        self.known.remove(id);
        self.arrived.remove(id);
        self.follow(id, &before)
    }

    /// Decides on an allocation for a claim that has none. Says no if the claim is another by now, or has one.
    pub fn decide(&mut self, id: &ClaimId, uid: &str, allocated: Allocated) -> bool {
        let free = self.known.get(id).is_some_and(|known| &*known.uid == uid && known.allocation.is_none());
        if !free || self.decided.contains_key(id) {
            return false;
        }
        let allocated = Arc::new(allocated);
        let decision = Decision { uid: uid.into(), allocated, seen: false, written: false };
        self.decided.insert(id.clone(), decision);
        self.follow(id, &[]);
        true
    }

    /// Decides on an allocation for a claim that has yet to be made, under a name that no claim can have.
    pub fn decide_unmade(&mut self, id: &ClaimId, uid: &str, allocated: Allocated) {
        let before = self.held(id);
        let allocated = Arc::new(allocated);
        let decision = Decision { uid: uid.into(), allocated, seen: false, written: false };
        self.decided.insert(id.clone(), decision);
        self.follow(id, &before);
    }

    /// Takes note of when a claim got its devices.
    fn note_arrival(&mut self, id: &ClaimId, state: &ClaimState) {
        let Some(allocation) = &state.allocation else {
            self.arrived.remove(id);
            return;
        };
        let known = self.known.get(id).filter(|known| known.uid == state.uid);
        if known.and_then(|known| known.allocation.as_ref()) != Some(allocation) {
            // A version that is no number is older than none.
            self.arrived.insert(id.clone(), state.version.parse().unwrap_or(u64::MAX));
        }
    }

    /// What was decided for the claim with this uid is written. It counts until the API has shown it.
    pub fn written(&mut self, id: &ClaimId, uid: &str) -> ClaimTouched {
        let before = self.held(id);
        let Some(decision) = self.decided.get_mut(id).filter(|decision| &*decision.uid == uid) else {
            return ClaimTouched::default();
        };
        decision.written = true;
        if decision.seen {
            self.decided.remove(id);
        }
        self.follow(id, &before)
    }

    /// Takes devices for a holder that is no claim, or takes again what was given back for a trial.
    pub fn take(&mut self, held: &[Held]) {
        for one in held {
            self.ledger.take(&one.device, one.share.clone(), one.holding.clone());
        }
    }

    /// Gives devices back that were taken for a holder that is no claim, or those of a claim for a trial.
    pub fn give_back(&mut self, held: &[Held]) {
        for one in held {
            self.ledger.give_back(&one.device, one.share.as_ref(), &one.holding.holder);
        }
    }

    /// Takes back what was decided for the claim with this uid, since it could not be written.
    pub fn undecide(&mut self, id: &ClaimId, uid: &str) -> ClaimTouched {
        let before = self.held(id);
        if self.decided.get(id).is_none_or(|decision| &*decision.uid != uid) {
            return ClaimTouched::default();
        }
        self.decided.remove(id);
        self.follow(id, &before)
    }

    /// Makes the ledger follow what became of the devices of a claim.
    fn follow(&mut self, id: &ClaimId, before: &[Held]) -> ClaimTouched {
        let after = self.held(id);
        let mut touched = ClaimTouched::default();
        for held in before.iter().filter(|held| !after.contains(held)) {
            self.ledger.give_back(&held.device, held.share.as_ref(), &held.holding.holder);
            touched.freed = true;
        }
        for held in after.iter().filter(|held| !before.contains(held)) {
            self.ledger.take(&held.device, held.share.clone(), held.holding.clone());
            touched.taken = true;
        }
        touched
    }
}

/// Whether a state of a claim came before another. Versions that are no numbers cannot be compared.
fn is_older(state: &ClaimState, known: &ClaimState) -> bool {
    let number = |state: &ClaimState| state.version.parse::<u64>().ok();
    state.uid == known.uid && number(state).zip(number(known)).is_some_and(|(this, that)| this < that)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> ClaimId {
        ClaimId { namespace: "default".into(), name: "claim".into() }
    }

    fn device(name: &str) -> DeviceId {
        DeviceId { driver: "gpu.example.com".into(), pool: "pool".into(), device: name.into() }
    }

    fn allocated(name: &str) -> Allocated {
        let holding = Holding { holder: id(), groups: BTreeMap::new(), consumed: BTreeMap::new() };
        Allocated { nodes: None, held: vec![Held { device: device(name), share: None, holding }] }
    }

    fn state(uid: &str, allocation: Option<Allocated>) -> ClaimState {
        let wish = Claim { id: id(), requests: Vec::new(), constraints: Vec::new(), configs: Vec::new() };
        ClaimState {
            uid: uid.into(),
            version: "1".into(),
            wish: Arc::new(wish),
            allocation: allocation.map(Arc::new),
            reserved_for: Vec::new(),
            owner: None,
            extended: false,
            deleting: false,
            protected: false,
        }
    }

    fn holds(claims: &Claims, name: &str) -> bool {
        claims.ledger().holdings(&device(name)).is_some()
    }

    #[test]
    fn what_was_decided_counts_until_the_api_has_it() {
        let mut claims = Claims::default();
        claims.apply(state("a", None));
        assert!(claims.decide(&id(), "a", allocated("gpu-0")));
        assert!(holds(&claims, "gpu-0") && claims.is_decided(&id()));
        assert_eq!(claims.apply(state("a", None)), ClaimTouched::default(), "an echo of another write");
        assert_eq!(claims.written(&id(), "a"), ClaimTouched::default());
        assert!(holds(&claims, "gpu-0") && claims.is_decided(&id()), "it has not been shown yet");
        assert_eq!(claims.apply(state("a", Some(allocated("gpu-0")))), ClaimTouched::default());
        assert!(holds(&claims, "gpu-0") && !claims.is_decided(&id()));
    }

    #[test]
    fn a_write_that_is_not_answered_keeps_its_devices_whatever_was_shown_meanwhile() {
        let mut claims = Claims::default();
        claims.apply(state("a", None));
        claims.decide(&id(), "a", allocated("gpu-0"));
        claims.apply(state("a", Some(allocated("gpu-0"))));
        claims.apply(state("a", None));
        assert!(holds(&claims, "gpu-0"), "whoever carries it out may write it again");
        assert!(claims.written(&id(), "a").freed, "the API had it, and has it no more");
        assert!(claims.ledger().is_empty() && !claims.is_decided(&id()));
    }

    #[test]
    fn an_allocation_by_somebody_else_stands_beside_ours_until_our_write_is_refused() {
        let mut claims = Claims::default();
        claims.apply(state("a", None));
        claims.decide(&id(), "a", allocated("gpu-0"));
        let touched = claims.apply(state("a", Some(allocated("gpu-1"))));
        assert_eq!(touched, ClaimTouched { freed: false, taken: true });
        assert!(holds(&claims, "gpu-0") && holds(&claims, "gpu-1"));
        assert!(claims.undecide(&id(), "a").freed);
        assert!(!holds(&claims, "gpu-0") && holds(&claims, "gpu-1"));
    }

    #[test]
    fn what_is_older_than_what_is_known_says_only_that_an_allocation_had_arrived() {
        let at = |version: &str, allocation| ClaimState { version: version.into(), ..state("a", allocation) };
        let mut claims = Claims::default();
        claims.apply(at("7", None));
        claims.decide(&id(), "a", allocated("gpu-0"));
        claims.apply(at("9", Some(allocated("gpu-0"))));
        claims.written(&id(), "a");
        claims.apply(at("8", None));
        assert!(holds(&claims, "gpu-0"), "the answer to our write overtook the event before it");
        let mut claims = Claims::default();
        claims.apply(at("7", None));
        claims.decide(&id(), "a", allocated("gpu-0"));
        claims.apply(at("12", None));
        claims.apply(at("9", Some(allocated("gpu-0"))));
        assert!(claims.written(&id(), "a").freed, "it was there, and is gone again");
        assert!(claims.ledger().is_empty() && !claims.is_decided(&id()));
    }

    #[test]
    fn a_decision_that_could_not_be_written_is_undone() {
        let mut claims = Claims::default();
        claims.apply(state("a", None));
        claims.decide(&id(), "a", allocated("gpu-0"));
        assert!(!claims.decide(&id(), "a", allocated("gpu-1")), "one decision at a time");
        assert!(!claims.undecide(&id(), "b").freed, "that was about another claim of this name");
        assert!(claims.undecide(&id(), "a").freed);
        assert!(claims.ledger().is_empty());
    }

    #[test]
    fn a_claim_that_goes_gives_its_devices_back() {
        let mut claims = Claims::default();
        claims.apply(state("a", Some(allocated("gpu-0"))));
        assert!(claims.remove(&id()).freed);
        assert!(claims.ledger().is_empty());
        assert!(!claims.decide(&id(), "a", allocated("gpu-0")), "it is gone");
    }

    fn named(name: &str, version: &str, allocation: Option<Allocated>) -> ClaimState {
        let id = ClaimId { namespace: "default".into(), name: name.into() };
        let mut state = ClaimState { version: version.into(), ..state(name, allocation) };
        if let Some(allocated) = &mut state.allocation {
            Arc::make_mut(allocated).held[0].holding.holder = id.clone();
        }
        state.wish = Arc::new(Claim { id, ..Claim::clone(&state.wish) });
        state
    }

    #[test]
    fn of_two_claims_with_one_device_the_one_that_had_it_first_is_known() {
        let mut claims = Claims::default();
        let clashes = |claims: &Claims, name: &str| -> Vec<(Arc<str>, bool)> {
            let id = ClaimId { namespace: "default".into(), name: name.into() };
            claims.clashes(&id).map(|clash| (clash.rival.name, clash.rival_was_first)).collect()
        };
        claims.apply(named("z", "5", Some(allocated("gpu-0"))));
        assert!(clashes(&claims, "z").is_empty());
        claims.apply(named("a", "6", None));
        let id = ClaimId { namespace: "default".into(), name: "a".into() };
        let mut ours = allocated("gpu-0");
        ours.held[0].holding.holder = id.clone();
        assert!(claims.decide(&id, "a", ours));
        assert!(clashes(&claims, "z").is_empty(), "it is not written yet");
        claims.apply(named("a", "7", Some(allocated("gpu-0"))));
        claims.apply(named("z", "8", Some(allocated("gpu-0"))));
        assert_eq!(clashes(&claims, "a"), [("z".into(), true)], "other news of it changes nothing");
        assert_eq!(clashes(&claims, "z"), [("a".into(), false)]);
        claims.apply(named("z", "9", None));
        assert!(clashes(&claims, "a").is_empty());
    }

    #[test]
    fn another_claim_of_the_same_name_has_nothing_of_the_first() {
        let mut claims = Claims::default();
        claims.apply(state("a", None));
        claims.decide(&id(), "a", allocated("gpu-0"));
        assert!(claims.apply(state("b", None)).freed);
        assert!(claims.ledger().is_empty());
        assert!(!claims.decide(&id(), "a", allocated("gpu-0")));
    }
}
