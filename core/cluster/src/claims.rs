//! Claims as the API has them and as we have decided about them, and the ledger that follows from both.
//!
//! Invariant: the ledger holds exactly what the allocations hold: of each claim the one that the API has, and the one that
//! we decided on until it is known what became of it. A write that is not answered may still be carried out, whatever
//! the API has shown meanwhile.
//! What is taken or given back besides, for a trial or for a pod that waits, has holders of its own or is undone.

mod arrival;
mod decision;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;

use model::claim::ClaimId;
use model::identity::{ClaimUid, PodUid};

use crate::ledger::Ledger;
use crate::shared_map::SharedMap;

use arrival::Arrivals;
pub use arrival::{Clash, Shown};
use decision::{Decision, Event};
pub use state::{Allocated, ClaimState, Held};

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
    known: SharedMap<ClaimId, Arc<ClaimState>>,
    /// Allocations that are on their way to the API.
    decided: BTreeMap<ClaimId, Decision>,
    /// Allocations of claims that have yet to be made, by the uid of the pod that they are made for.
    unmade: BTreeMap<PodUid, Arc<Allocated>>,
    /// When the claims that have devices by the API got them.
    arrived: Arrivals,
    /// Claims that were looked for and are not there, by uid, until a watch says so too.
    missing: BTreeMap<ClaimId, ClaimUid>,
    ledger: Ledger,
}

impl Claims {
    /// A claim as the API has it.
    #[must_use]
    pub fn get(&self, id: &ClaimId) -> Option<&Arc<ClaimState>> {
        self.known.get(id)
    }

    /// All claims that the API has.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<ClaimState>> {
        self.known.values()
    }

    /// The same claims as if no device were held, to try what would be then.
    #[must_use]
    pub fn with_all_devices_free(&self) -> Claims {
        Claims { ledger: Ledger::default(), ..self.clone() }
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

    /// What holds which device.
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
                // What is on its way to another claim is not written yet.
                let rival_was_first = self.arrived.was_first(rival, id)?;
                Some(Clash { device: one.device.clone(), rival: rival.clone(), rival_was_first })
            })
        })
    }

    /// Whether a watch or a list has told of the devices that the API has given to a claim. If a watch has, it has told of
    /// everything that was given out before.
    #[must_use]
    pub fn is_told(&self, id: &ClaimId) -> bool {
        self.arrived.is_told(id)
    }

    /// Takes note of a claim that a watch shows.
    pub fn apply(&mut self, state: ClaimState) -> ClaimTouched {
        self.show(state, Shown::Watch)
    }

    /// Takes note of a claim. Facts come from a watch and from answers to writes, so one may be older than what is known. It
    /// says then no more than that an allocation had arrived.
    pub fn show(&mut self, state: ClaimState, shown: Shown) -> ClaimTouched {
        let id = state.wish.id.clone();
        if self.is_missing(&id, &state.uid) {
            return ClaimTouched::default();
        }
        self.missing.remove(&id);
        let before = self.held(&id);
        let mut is_over = false;
        if let Some(decision) = self.decided.get_mut(&id) {
            let is_shown = state.allocation.is_some() && decision.step(Event::Shown);
            is_over = decision.uid != state.uid || is_shown;
        }
        if is_over {
            self.decided.remove(&id);
        }
        let known = self.known.get(&id);
        self.arrived.note(known.map(|known| &**known), &state, shown);
        if !known.is_some_and(|known| state.is_older_than(known)) {
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
        self.missing.remove(id);
        self.follow(id, &before)
    }

    /// Forgets a claim that was looked for and is not there. A watch that is late may tell of it yet, which means nothing.
    pub fn miss(&mut self, id: &ClaimId, uid: &ClaimUid) -> ClaimTouched {
        let touched = self.remove(id);
        self.missing.insert(id.clone(), uid.clone());
        touched
    }

    /// Whether a claim was looked for and is not there, of which a watch may yet tell.
    #[must_use]
    pub fn is_missing(&self, id: &ClaimId, uid: &ClaimUid) -> bool {
        self.missing.get(id).is_some_and(|missing| missing == uid)
    }

    /// Decides on an allocation for a claim that has none. Says no if the claim is another by now, or has one.
    pub fn decide(&mut self, id: &ClaimId, uid: &ClaimUid, allocated: Allocated) -> bool {
        let free = self.known.get(id).is_some_and(|known| known.uid == *uid && known.allocation.is_none());
        if !free || self.decided.contains_key(id) {
            return false;
        }
        self.decided.insert(id.clone(), Decision::new(uid, allocated));
        self.follow(id, &[]);
        true
    }

    /// Decides on an allocation for the claim that is to be made for a pod, which has none yet.
    pub fn decide_unmade(&mut self, pod: &PodUid, allocated: Allocated) {
        self.forget_unmade(pod);
        self.take(&allocated.held);
        self.unmade.insert(pod.clone(), Arc::new(allocated));
    }

    /// What was decided for the claim that is to be made for a pod.
    #[must_use]
    pub fn unmade(&self, pod: &str) -> Option<&Arc<Allocated>> {
        self.unmade.get(pod)
    }

    /// The claim that was to be made for a pod is known and holds its devices itself, or could not be made.
    pub fn forget_unmade(&mut self, pod: &str) {
        if let Some(allocated) = self.unmade.remove(pod) {
            self.give_back(&allocated.held);
        }
    }

    /// What was decided for the claim with this uid is written. It counts until the API has shown it.
    pub fn written(&mut self, id: &ClaimId, uid: &ClaimUid) -> ClaimTouched {
        let before = self.held(id);
        let Some(decision) = self.decided.get_mut(id).filter(|decision| decision.uid == *uid) else {
            return ClaimTouched::default();
        };
        if decision.step(Event::Answered) {
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
    pub fn undecide(&mut self, id: &ClaimId, uid: &ClaimUid) -> ClaimTouched {
        let before = self.held(id);
        if self.decided.get(id).is_none_or(|decision| decision.uid != *uid) {
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

#[cfg(test)]
mod tests {
    use model::claim::{Claim, ClaimSpec};
    use model::device::DeviceId;

    use super::*;
    use crate::ledger::Holding;

    fn id() -> ClaimId {
        ClaimId { namespace: "default".into(), name: "claim".into() }
    }

    fn device(name: &str) -> DeviceId {
        DeviceId { driver: "gpu.example.com".into(), pool: "pool".into(), device: name.into() }
    }

    fn allocated(name: &str) -> Allocated {
        let holding = Holding { holder: id().into(), groups: BTreeMap::new(), consumed: BTreeMap::new() };
        Allocated {
            nodes: None,
            held: vec![Held { device: device(name), share: None, holding, tolerations: Vec::new() }],
        }
    }

    fn state(uid: &str, allocation: Option<Allocated>) -> ClaimState {
        let wish = Claim { id: id(), spec: ClaimSpec::default() };
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
            preparation: None,
            control: Default::default(),
        }
    }

    fn holds(claims: &Claims, name: &str) -> bool {
        claims.ledger().holdings(&device(name)).is_some()
    }

    #[test]
    fn what_was_decided_counts_until_the_api_has_it() {
        let mut claims = Claims::default();
        claims.apply(state("a", None));
        assert!(claims.decide(&id(), &"a".into(), allocated("gpu-0")));
        assert!(holds(&claims, "gpu-0") && claims.is_decided(&id()));
        assert_eq!(claims.apply(state("a", None)), ClaimTouched::default(), "an echo of another write");
        assert_eq!(claims.written(&id(), &"a".into()), ClaimTouched::default());
        assert!(holds(&claims, "gpu-0") && claims.is_decided(&id()), "it has not been shown yet");
        assert_eq!(claims.apply(state("a", Some(allocated("gpu-0")))), ClaimTouched::default());
        assert!(holds(&claims, "gpu-0") && !claims.is_decided(&id()));
    }

    #[test]
    fn a_write_that_is_not_answered_keeps_its_devices_whatever_was_shown_meanwhile() {
        let mut claims = Claims::default();
        claims.apply(state("a", None));
        claims.decide(&id(), &"a".into(), allocated("gpu-0"));
        claims.apply(state("a", Some(allocated("gpu-0"))));
        claims.apply(state("a", None));
        assert!(holds(&claims, "gpu-0"), "whoever carries it out may write it again");
        assert!(claims.written(&id(), &"a".into()).freed, "the API had it, and has it no more");
        assert!(claims.ledger().is_empty() && !claims.is_decided(&id()));
    }

    #[test]
    fn an_allocation_by_somebody_else_stands_beside_ours_until_our_write_is_refused() {
        let mut claims = Claims::default();
        claims.apply(state("a", None));
        claims.decide(&id(), &"a".into(), allocated("gpu-0"));
        let touched = claims.apply(state("a", Some(allocated("gpu-1"))));
        assert_eq!(touched, ClaimTouched { freed: false, taken: true });
        assert!(holds(&claims, "gpu-0") && holds(&claims, "gpu-1"));
        assert!(claims.undecide(&id(), &"a".into()).freed);
        assert!(!holds(&claims, "gpu-0") && holds(&claims, "gpu-1"));
    }

    #[test]
    fn what_is_older_than_what_is_known_says_only_that_an_allocation_had_arrived() {
        let at = |version: &str, allocation| ClaimState { version: version.into(), ..state("a", allocation) };
        let mut claims = Claims::default();
        claims.apply(at("7", None));
        claims.decide(&id(), &"a".into(), allocated("gpu-0"));
        claims.apply(at("9", Some(allocated("gpu-0"))));
        claims.written(&id(), &"a".into());
        claims.apply(at("8", None));
        assert!(holds(&claims, "gpu-0"), "the answer to our write overtook the event before it");
        let mut claims = Claims::default();
        claims.apply(at("7", None));
        claims.decide(&id(), &"a".into(), allocated("gpu-0"));
        claims.apply(at("12", None));
        claims.apply(at("9", Some(allocated("gpu-0"))));
        assert!(claims.written(&id(), &"a".into()).freed, "it was there, and is gone again");
        assert!(claims.ledger().is_empty() && !claims.is_decided(&id()));
    }

    #[test]
    fn a_decision_that_could_not_be_written_is_undone() {
        let mut claims = Claims::default();
        claims.apply(state("a", None));
        claims.decide(&id(), &"a".into(), allocated("gpu-0"));
        assert!(!claims.decide(&id(), &"a".into(), allocated("gpu-1")), "one decision at a time");
        assert!(!claims.undecide(&id(), &"b".into()).freed, "that was about another claim of this name");
        assert!(claims.undecide(&id(), &"a".into()).freed);
        assert!(claims.ledger().is_empty());
    }

    #[test]
    fn a_claim_that_goes_gives_its_devices_back() {
        let mut claims = Claims::default();
        claims.apply(state("a", Some(allocated("gpu-0"))));
        assert!(claims.remove(&id()).freed);
        assert!(claims.ledger().is_empty());
        assert!(!claims.decide(&id(), &"a".into(), allocated("gpu-0")), "it is gone");
    }

    #[test]
    fn what_a_late_watch_tells_of_a_claim_that_is_missing_means_nothing() {
        let mut claims = Claims::default();
        claims.apply(state("a", Some(allocated("gpu-0"))));
        assert!(claims.miss(&id(), &"a".into()).freed);
        assert_eq!(claims.apply(state("a", Some(allocated("gpu-0")))), ClaimTouched::default());
        assert!(claims.get(&id()).is_none() && claims.ledger().is_empty());
        claims.remove(&id());
        assert!(!claims.is_missing(&id(), &"a".into()), "the watch has caught up");
        claims.apply(state("b", Some(allocated("gpu-0"))));
        assert!(holds(&claims, "gpu-0"), "another of its name is there");
    }

    #[test]
    fn another_claim_of_the_same_name_has_nothing_of_the_first() {
        let mut claims = Claims::default();
        claims.apply(state("a", None));
        claims.decide(&id(), &"a".into(), allocated("gpu-0"));
        assert!(claims.apply(state("b", None)).freed);
        assert!(claims.ledger().is_empty());
        assert!(!claims.decide(&id(), &"a".into(), allocated("gpu-0")));
    }
}
