//! When claims got their devices, and devices that two claims have since two schedulers gave them out at the same moment.
//!
//! Invariant: an allocation was written after one version of the API and by another, both included in what is noted. What
//! a watch shows is written at its very version, since a watch leaves nothing out and keeps the order of writes. Lists and
//! answers show what was written at some time before, and answers overtake the watch.

use std::collections::BTreeMap;

use model::claim::ClaimId;
use model::device::DeviceId;

use super::state::ClaimState;

/// Where a state of a claim is known from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    /// From a watch, in the order of writes.
    Watch,
    /// From a list of all claims.
    List,
    /// From the answer to a write, or from reading the claim.
    Answer,
}

/// When a claim got its devices.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    /// It had none at this version.
    after: u64,
    /// It had them at this one.
    by: u64,
    /// A watch or a list has told of them, and not an answer alone.
    told: bool,
}

/// A device that two claims have although they cannot share it: two schedulers gave it out at the same moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clash {
    /// The device.
    pub device: DeviceId,
    /// The other claim that has it.
    pub rival: ClaimId,
    /// The other one had it first, or may have.
    pub rival_was_first: bool,
}

/// When the claims that have devices by the API got them.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals(BTreeMap<ClaimId, Arrival>);

impl Arrivals {
    /// Whether a claim had its devices before another, or may have; nothing if one of them has none by the API.
    pub(super) fn was_first(&self, one: &ClaimId, other: &ClaimId) -> Option<bool> {
        Some(self.0.get(one)?.after < self.0.get(other)?.by)
    }

    /// Whether a watch or a list has told of the devices that the API has given to a claim.
    pub(super) fn is_told(&self, id: &ClaimId) -> bool {
        self.0.get(id).is_none_or(|arrival| arrival.told)
    }

    /// Forgets a claim that is gone.
    pub(super) fn remove(&mut self, id: &ClaimId) {
        self.0.remove(id);
    }

    /// Takes note of when a claim got its devices, given the state that is known of it and the one that is shown.
    pub(super) fn note(&mut self, known: Option<&ClaimState>, state: &ClaimState, shown: Shown) {
        let id = &state.wish.id;
        let known = known.filter(|known| known.uid == state.uid);
        let is_old = known.is_some_and(|known| state.is_older_than(known));
        let known_at = known.and_then(ClaimState::version_number).unwrap_or_default();
        let is_same = known.is_some_and(|known| known.allocation == state.allocation);
        // What cannot be compared may have been at any time.
        let at = state.version_number().unwrap_or(u64::MAX);
        let told = shown != Shown::Answer;
        let arrival = self.0.get_mut(id);
        match (arrival, &state.allocation) {
            (Some(arrival), _) if is_old && at <= arrival.after => {}
            // It had none then: what it has came later.
            (Some(arrival), None) if is_old => *arrival = Arrival { after: at, by: known_at, told: false },
            (_, None) if is_old => {}
            (_, None) => drop(self.0.remove(id)),
            (Some(arrival), Some(_)) if is_same => {
                arrival.told |= told;
                if at <= arrival.by {
                    arrival.by = at;
                    arrival.after = if shown == Shown::Watch { at.saturating_sub(1) } else { arrival.after };
                }
            }
            _ if is_old => {}
            (_, Some(_)) => {
                let after = if shown == Shown::Watch { at.saturating_sub(1) } else { known_at };
                self.0.insert(id.clone(), Arrival { after, by: at, told });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::claim::{Claim, ClaimSpec};

    use super::*;
    use crate::claims::{Allocated, Claims, Held};
    use crate::ledger::Holding;

    fn id(name: &str) -> ClaimId {
        ClaimId { namespace: "default".into(), name: name.into() }
    }

    fn allocated(name: &str) -> Allocated {
        let device =
            DeviceId { driver: "gpu.example.com".into(), pool: "pool".into(), device: "gpu-0".into() };
        let holding = Holding { holder: id(name).into(), groups: BTreeMap::new(), consumed: BTreeMap::new() };
        Allocated { nodes: None, held: vec![Held { device, share: None, holding, tolerations: Vec::new() }] }
    }

    /// A claim at a version, with the device or without.
    fn state(name: &str, version: u64, has_device: bool) -> ClaimState {
        let (requests, constraints, configs) = (Vec::new(), Vec::new(), Vec::new());
        ClaimState {
            uid: name.into(),
            version: version.to_string().into(),
            wish: Arc::new(Claim { id: id(name), spec: ClaimSpec { requests, constraints, configs } }),
            allocation: has_device.then(|| Arc::new(allocated(name))),
            reserved_for: Vec::new(),
            owner: None,
            extended: false,
            deleting: false,
            protected: false,
            preparation: None,
            control: Default::default(),
        }
    }

    /// The claims that have what a claim has, and whether they may have had it first.
    fn clashes(claims: &Claims, name: &str) -> Vec<(String, bool)> {
        let told = |clash: Clash| (clash.rival.name.to_string(), clash.rival_was_first);
        claims.clashes(&id(name)).map(told).collect()
    }

    #[test]
    fn of_two_claims_with_one_device_the_one_that_had_it_first_is_known() {
        let mut claims = Claims::default();
        claims.apply(state("z", 3, true));
        assert!(clashes(&claims, "z").is_empty());
        claims.apply(state("a", 4, false));
        assert!(claims.decide(&id("a"), &"a".into(), allocated("a")));
        assert!(clashes(&claims, "z").is_empty(), "it is not written yet");
        claims.apply(state("a", 5, true));
        claims.apply(state("z", 9, true));
        assert_eq!(clashes(&claims, "a"), [("z".into(), true)], "an echo changes nothing");
        assert_eq!(clashes(&claims, "z"), [("a".into(), false)]);
        claims.apply(state("z", 10, false));
        assert!(clashes(&claims, "a").is_empty());
    }

    #[test]
    fn an_answer_that_overtakes_the_watch_does_not_make_a_claim_the_first() {
        let mut claims = Claims::default();
        claims.apply(state("a", 1, false));
        claims.apply(state("z", 2, false));
        claims.show(state("a", 8, true), Shown::Answer);
        assert!(!claims.is_told(&id("a")));
        claims.apply(state("z", 5, true));
        assert_eq!(clashes(&claims, "a"), [("z".into(), true)]);
        claims.apply(state("a", 8, true));
        assert!(claims.is_told(&id("a")));
        assert_eq!(clashes(&claims, "a"), [("z".into(), true)]);
        assert_eq!(clashes(&claims, "z"), [("a".into(), false)]);
    }

    #[test]
    fn what_a_list_shows_may_have_been_first() {
        let mut claims = Claims::default();
        claims.apply(state("a", 1, false));
        claims.show(state("a", 8, true), Shown::Answer);
        claims.show(state("z", 15, true), Shown::List);
        claims.show(state("a", 8, true), Shown::List);
        assert!(claims.is_told(&id("a")));
        assert_eq!(clashes(&claims, "a"), [("z".into(), true)], "it was given out at any time up to 15");
        claims.apply(state("y", 20, true));
        let later = clashes(&claims, "a").into_iter().find(|(rival, _)| rival == "y");
        assert_eq!(later, Some(("y".into(), false)), "the watch is exact again");
    }

    #[test]
    fn old_news_of_a_claim_that_had_the_same_device_before_are_not_news_of_what_it_has() {
        let mut claims = Claims::default();
        claims.apply(state("a", 5, true));
        claims.show(state("a", 7, false), Shown::Answer);
        claims.show(state("a", 9, true), Shown::Answer);
        claims.apply(state("a", 6, true));
        claims.apply(state("a", 7, false));
        assert!(!claims.is_told(&id("a")));
        claims.apply(state("a", 9, true));
        assert!(claims.is_told(&id("a")));
    }
}
