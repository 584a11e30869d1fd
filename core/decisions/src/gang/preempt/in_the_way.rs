//! Claims of a gang that have devices where the gang cannot go, and that no pod uses: the gang fits if they give them back.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::claims::{ClaimState, Held};
use model::claim::ClaimId;
use model::identity::{ClaimUid, ConsumerUid};
use model::pod::Pod;

use crate::cycle::Cycle;
use crate::gang::party::Party;
use crate::gang::seats::seek::STEPS_MAX;
use crate::giving_back::Why;

/// Claims that no pod uses: the claim's uid, and that of the pod or group that may.
type Idle = BTreeMap<ClaimId, (ClaimUid, ConsumerUid)>;

impl Cycle<'_> {
    /// The claims that are in the way of a gang: without their devices it has seats.
    pub fn claims_in_the_way(&mut self, party: Party<'_>, pods: &[Arc<Pod>]) -> Option<Idle> {
        let idle: Idle = pods.iter().flat_map(|pod| self.idle_claims(pod)).collect();
        if idle.is_empty() {
            return None;
        }
        let held: Vec<Held> = idle.keys().flat_map(|claim| self.facts.claims.held(claim)).collect();
        let mark = self.facts.mark();
        self.facts.give_back(&held);
        self.lifted = idle.keys().cloned().collect();
        let fits = match party {
            // What it needs is another thing now.
            Party::Gang(sought) => self.seat_gang_in(&sought.group, pods, &sought.domains, STEPS_MAX).is_ok(),
            Party::Tree(_) => {
                self.find_party_seats(party, party.domains(), party.at_least(), STEPS_MAX).is_ok()
            }
        };
        self.lifted.clear();
        self.facts.rewind(mark);
        fits.then_some(idle)
    }

    fn idle_claims(&self, pod: &Pod) -> Idle {
        let profile = self.settings.profile_of(pod);
        let settled = self.claims_of(pod, &profile).map(|claims| claims.settled).unwrap_or_default();
        let gives_back = |state: &Arc<ClaimState>| self.gives_back(Why::BlocksOwnGang, &state.wish.id, pod);
        let idle = settled.into_iter().filter(gives_back);
        idle.map(|state| {
            let claim = state.wish.id.clone();
            let user = self.facts.user_of(pod, &claim);
            (claim, (state.uid.clone(), user))
        })
        .collect()
    }
}
