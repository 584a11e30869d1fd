//! Seats for a gang or a tree, if possible without devices that failed for its members before.

use std::sync::Arc;

use model::pod::Pod;
use placement::{Domain, DomainName};

use crate::cycle::Cycle;
use crate::gang::answer::seats::Seated;
use crate::gang::party::Party;
use crate::values::gang_reason::GangReason;
use crate::values::miss::Miss;

impl Cycle<'_> {
    /// Seats for at least so many members in one of these domains, and its name, or why there are none.
    pub(crate) fn find_party_seats(
        &mut self,
        party: Party<'_>,
        domains: &[Domain],
        at_least: u32,
        steps_max: u64,
    ) -> Result<(DomainName, Seated), Miss> {
        if self.caches.work.is_spent() {
            return Err(Miss::open(GangReason::NotTried));
        }
        match party {
            Party::Gang(sought) => self.find_seats(sought.seats(), domains, at_least, steps_max),
            Party::Tree(tree) => self.find_tree_seats(tree, domains, at_least, steps_max),
        }
    }

    /// Seats without devices that failed for members before, if there are such, or else with them.
    pub fn find_seats_anew(
        &mut self,
        party: Party<'_>,
        pods: &[Arc<Pod>],
        steps_max: u64,
    ) -> Result<(DomainName, Seated), Miss> {
        let kept = self.caches.work.keep_for_later();
        self.unanswered = false;
        let found = self.find_seats_now(party, pods, steps_max);
        self.caches.work.restore(kept);
        found.map_err(|miss| Miss { unanswered: self.unanswered, ..miss })
    }

    fn find_seats_now(
        &mut self,
        party: Party<'_>,
        pods: &[Arc<Pod>],
        steps_max: u64,
    ) -> Result<(DomainName, Seated), Miss> {
        let (domains, at_least) = (party.domains(), party.at_least());
        let mark = self.facts.mark();
        if self.hold_shunned(pods.iter().map(|pod| &**pod)) {
            let seated = self.find_party_seats(party, domains, at_least, steps_max);
            self.facts.rewind(mark);
            if seated.is_ok() {
                return seated;
            }
        }
        self.find_party_seats(party, domains, at_least, steps_max)
    }
}
