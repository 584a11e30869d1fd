//! When claims got their devices, and devices that two claims have since two schedulers gave them out at the same moment.
//!
//! Invariant: an allocation was written after one version of the API and by another, both included in what is noted. What
//! a watch shows is written at its very version, since a watch leaves nothing out and keeps the order of writes. Lists and
//! answers show what was written at some time before, and answers overtake the watch.

use model::claim::ClaimId;
use model::device::DeviceId;

use super::{ClaimState, Claims, is_older, number};

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
pub(super) struct Arrival {
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

impl Claims {
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
                Some(Clash { device, rival, rival_was_first: theirs.after < ours.by })
            })
        })
    }

    /// Whether a watch or a list has told of the devices that the API has given to a claim. If a watch has, it has told of
    /// everything that was given out before.
    #[must_use]
    pub fn is_told(&self, id: &ClaimId) -> bool {
        self.arrived.get(id).is_none_or(|arrival| arrival.told)
    }

    /// Takes note of when a claim got its devices, before its state is taken in.
    pub(super) fn note_arrival(&mut self, id: &ClaimId, state: &ClaimState, shown: Shown) {
        let known = self.known.get(id).filter(|known| known.uid == state.uid);
        let is_old = known.is_some_and(|known| is_older(state, known));
        let known_at = known.and_then(|known| number(known)).unwrap_or_default();
        let is_same = known.is_some_and(|known| known.allocation == state.allocation);
        // What cannot be compared may have been at any time.
        let at = number(state).unwrap_or(u64::MAX);
        let told = shown != Shown::Answer;
        let arrival = self.arrived.get_mut(id);
        match (arrival, &state.allocation) {
            (Some(arrival), _) if is_old && at <= arrival.after => {}
            // It had none then: what it has came later.
            (Some(arrival), None) if is_old => *arrival = Arrival { after: at, by: known_at, told: false },
            (_, None) if is_old => {}
            (_, None) => drop(self.arrived.remove(id)),
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
                self.arrived.insert(id.clone(), Arrival { after, by: at, told });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use model::claim::Claim;

    use super::*;
    use crate::claims::{Allocated, Held};
    use crate::ledger::Holding;

    fn id(name: &str) -> ClaimId {
        ClaimId { namespace: "default".into(), name: name.into() }
    }

    fn allocated(name: &str) -> Allocated {
        let device =
            DeviceId { driver: "gpu.example.com".into(), pool: "pool".into(), device: "gpu-0".into() };
        let holding = Holding { holder: id(name).into(), groups: BTreeMap::new(), consumed: BTreeMap::new() };
        Allocated { nodes: None, held: vec![Held { device, share: None, holding }] }
    }

    /// A claim at a version, with the device or without.
    fn state(name: &str, version: u64, has_device: bool) -> ClaimState {
        let (requests, constraints, configs) = (Vec::new(), Vec::new(), Vec::new());
        ClaimState {
            uid: name.into(),
            version: version.to_string().into(),
            wish: Arc::new(Claim { id: id(name), requests, constraints, configs }),
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
        assert!(claims.decide(&id("a"), "a", allocated("a")));
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
