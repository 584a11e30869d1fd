//! The cluster without the pods that go anyway.

use crate::cycle::Cycle;
use crate::gang::party::Party;
use crate::gang::preempt::candidate::Going;
use crate::preempt::Absence;

impl Cycle<'_> {
    /// The cluster without the pods that go anyway.
    pub(crate) fn without(&mut self, party: Party<'_>, going: &Going) -> Absence {
        let claims = party.cast().members().map(|member| &member.claims);
        let own = claims.flat_map(|claims| claims.settled.iter().chain(&claims.open));
        let followed = party.cast().members().flat_map(|member| &member.follows);
        let own = own.chain(followed).map(|state| state.wish.id.clone()).collect();
        let mut absence = Absence::new(own, self.facts.mark());
        going.units.iter().for_each(|unit| self.depart(&mut absence, unit));
        self.depart_for_good(&mut absence, going.gone.iter().cloned(), going.claims.iter().cloned());
        absence
    }
}
