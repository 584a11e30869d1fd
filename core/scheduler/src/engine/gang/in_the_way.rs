//! Claims of a gang that have devices where the gang cannot go, and that nobody uses: they give them back, if the gang then fits.

use std::sync::Arc;

use decisions::gang::Party;
use decisions::in_the_way::{InTheWay, Remedy};
use model::pod::Pod;

use crate::engine::Engine;

impl Engine {
    /// Lets claims that are in the way of a gang give their devices back, and says how many those are.
    pub(super) fn clear_the_way(&mut self, party: Party<'_>, pods: &[Arc<Pod>]) -> Option<usize> {
        let idle = self.gang_cycle(party.importance(pods)).claims_in_the_way(party, pods)?;
        let count = idle.len();
        for (claim, (uid, user)) in idle {
            self.ask_for(InTheWay { claim, uid, remedy: Remedy::Deallocate }, Some(user));
        }
        Some(count)
    }
}
