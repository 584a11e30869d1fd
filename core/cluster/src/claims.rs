//! Claims as the API has them and as we have decided about them, and the ledger that follows from both.
//!
//! Invariant: the ledger holds exactly what the allocations hold: of each claim the one that the API has, or else the one
//! that we decided on and that is on its way there. When the API's own arrives it takes the place of ours, whoever wrote it.

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
    /// Allocations that are on their way to the API, with the uid of their claims.
    decided: BTreeMap<ClaimId, (Arc<str>, Arc<Allocated>)>,
    /// The order in which the API told of allocations, which is that in which they were written.
    arrived: BTreeMap<ClaimId, u64>,
    arrivals: u64,
    ledger: Ledger,
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
        let decided = || self.decided.get(id).map(|(_, allocated)| allocated);
        self.known.get(id).and_then(|known| known.allocation.as_ref()).or_else(decided)
    }

    /// Whether an allocation of ours is on its way to the API.
    #[must_use]
    pub fn is_decided(&self, id: &ClaimId) -> bool {
        self.decided.contains_key(id)
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

    /// Takes note of a claim.
    pub fn apply(&mut self, state: ClaimState) -> ClaimTouched {
        let id = state.wish.id.clone();
        let before = self.allocation(&id).cloned();
        // Another claim of the same name, or an allocation that arrived, ends what we had decided.
        let decided = self.decided.get(&id);
        if decided.is_some_and(|(uid, _)| *uid != state.uid || state.allocation.is_some()) {
            self.decided.remove(&id);
        }
        self.note_arrival(&id, &state);
        self.known.insert(id.clone(), Arc::new(state));
        self.follow(&id, before.as_ref())
    }

    /// Forgets a claim that is gone.
    pub fn remove(&mut self, id: &ClaimId) -> ClaimTouched {
        let before = self.allocation(id).cloned();
        self.decided.remove(id);
        self.known.remove(id);
        self.arrived.remove(id);
        self.follow(id, before.as_ref())
    }

    /// Decides on an allocation for a claim that has none. Says no if the claim is another by now, or has one.
    pub fn decide(&mut self, id: &ClaimId, uid: &str, allocated: Allocated) -> bool {
        let free = self.known.get(id).is_some_and(|known| &*known.uid == uid && known.allocation.is_none());
        if !free || self.decided.contains_key(id) {
            return false;
        }
        self.decided.insert(id.clone(), (uid.into(), Arc::new(allocated)));
        self.follow(id, None);
        true
    }

    /// Takes a decision back, since it could not be written.
    pub fn undecide(&mut self, id: &ClaimId) -> ClaimTouched {
        let before = self.allocation(id).cloned();
        if self.decided.remove(id).is_none() {
            return ClaimTouched::default();
        }
        self.follow(id, before.as_ref())
    }

    /// Takes note of when a claim got its devices.
    fn note_arrival(&mut self, id: &ClaimId, state: &ClaimState) {
        let Some(allocation) = &state.allocation else {
            self.arrived.remove(id);
            return;
        };
        let known = self.known.get(id).filter(|known| known.uid == state.uid);
        if known.and_then(|known| known.allocation.as_ref()) != Some(allocation) {
            self.arrivals += 1;
            self.arrived.insert(id.clone(), self.arrivals);
        }
    }

    /// Makes the ledger follow what became of an allocation.
    fn follow(&mut self, id: &ClaimId, before: Option<&Arc<Allocated>>) -> ClaimTouched {
        let after = self.allocation(id).cloned();
        if before == after.as_ref() {
            return ClaimTouched::default();
        }
        let holds = |allocated: Option<&Arc<Allocated>>| allocated.is_some_and(|one| !one.held.is_empty());
        let touched = ClaimTouched { freed: holds(before), taken: holds(after.as_ref()) };
        for held in before.into_iter().flat_map(|allocated| &allocated.held) {
            self.ledger.give_back(&held.device, held.share.as_ref(), &held.holding.holder);
        }
        for held in after.iter().flat_map(|allocated| &allocated.held) {
            self.ledger.take(&held.device, held.share.clone(), held.holding.clone());
        }
        touched
    }
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
        assert!(holds(&claims, "gpu-0"));
        assert_eq!(claims.apply(state("a", Some(allocated("gpu-0")))), ClaimTouched::default());
        assert!(holds(&claims, "gpu-0") && !claims.is_decided(&id()));
    }

    #[test]
    fn an_allocation_by_somebody_else_takes_the_place_of_ours() {
        let mut claims = Claims::default();
        claims.apply(state("a", None));
        claims.decide(&id(), "a", allocated("gpu-0"));
        let touched = claims.apply(state("a", Some(allocated("gpu-1"))));
        assert_eq!(touched, ClaimTouched { freed: true, taken: true });
        assert!(!holds(&claims, "gpu-0") && holds(&claims, "gpu-1"));
        assert!(!claims.undecide(&id()).freed, "there is nothing of ours left to take back");
    }

    #[test]
    fn a_decision_that_could_not_be_written_is_undone() {
        let mut claims = Claims::default();
        claims.apply(state("a", None));
        claims.decide(&id(), "a", allocated("gpu-0"));
        assert!(!claims.decide(&id(), "a", allocated("gpu-1")), "one decision at a time");
        assert!(claims.undecide(&id()).freed);
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

    fn named(name: &str, allocation: Option<Allocated>) -> ClaimState {
        let id = ClaimId { namespace: "default".into(), name: name.into() };
        let mut state = state(name, allocation);
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
        claims.apply(named("z", Some(allocated("gpu-0"))));
        assert!(clashes(&claims, "z").is_empty());
        claims.apply(named("a", None));
        let id = ClaimId { namespace: "default".into(), name: "a".into() };
        let mut ours = allocated("gpu-0");
        ours.held[0].holding.holder = id.clone();
        assert!(claims.decide(&id, "a", ours));
        assert!(clashes(&claims, "z").is_empty(), "it is not written yet");
        claims.apply(named("a", Some(allocated("gpu-0"))));
        claims.apply(named("z", Some(allocated("gpu-0"))));
        assert_eq!(clashes(&claims, "a"), [("z".into(), true)], "an echo changes nothing");
        assert_eq!(clashes(&claims, "z"), [("a".into(), false)]);
        claims.apply(named("z", None));
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
