//! Pods that have to be preempted so that a whole gang fits: the units whose going does the least harm, found by trying.
//!
//! First come the domains in which preemption can help, see [`hopeful`](super::hopeful), then the pods that may stay there, see
//! [`reprieve`](super::reprieve).
//!
//! Domains in which more wishes are given up are no worse if less harm is done there; of those with as much harm, the one in which
//! the fewest wishes are given up is better.
//!
//! Invariant: a pod is named here only together with seats for the gang that were found with all named pods gone.

use model::timestamp::Timestamp;

use crate::cycle::Cycle;
use crate::gang::party::Party;
use crate::gang::preempt::bounds::{STEPS_MAX, searches};
use crate::gang::preempt::candidate::{Cost, GangCandidate, Going};
use crate::gang::preempt::hopeful::Hopeful;
use crate::preempt::Unit;
use crate::values::gang_preemption::Helpless;

impl Cycle<'_> {
    /// Seats for a gang once the pods are gone that go anyway, if that is enough.
    pub(crate) fn seats_to_come(&mut self, party: Party<'_>, going: &Going) -> Option<GangCandidate> {
        let absence = self.without(party, going);
        let found = self.find_party_seats(party, party.domains(), party.at_least(), STEPS_MAX);
        let (gone, freeing) = (absence.gone(), absence.freeing());
        self.end_absence(&absence);
        let (domain, seated) = found.ok()?;
        Some(GangCandidate { domain, seated, victims: Vec::new(), gone, freeing })
    }

    /// The units whose going does the least harm and lets the gang in, with the seats that it then has.
    pub(crate) fn find_gang_victims(
        &mut self,
        now: Timestamp,
        party: Party<'_>,
        units: &[Unit],
        going: &Going,
    ) -> Result<GangCandidate, Helpless> {
        if units.is_empty() {
            return Err(Helpless::NoVictims);
        }
        let hopeful = self.hopeful_domains(now, party, units, going)?;
        let shares = hopeful.len();
        let mut best: Option<(Cost, GangCandidate)> = None;
        for Hopeful { domain, at_least, concerned, .. } in hopeful {
            let units: Vec<Unit> = concerned.into_iter().map(|at| units[at].clone()).collect();
            let Some((cost, candidate)) = self.reprieve_in(
                now,
                (party, domain, at_least),
                units,
                (going, searches(party, domain) / shares),
            ) else {
                continue;
            };
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, candidate));
            }
        }
        best.map(|(_, candidate)| candidate).ok_or(Helpless::LimitReached)
    }
}
