//! Claims of a gang that have devices where the gang cannot go, and that no pod uses: they give them back, if the gang then fits.

use std::collections::BTreeMap;

use decisions::in_the_way::{InTheWay, Remedy};
use model::claim::ClaimId;
use model::identity::{ClaimUid, ConsumerUid};

use crate::engine::Engine;

impl Engine {
    /// Lets claims that are in the way of a gang give their devices back, unless they do so already.
    pub(super) fn clear_the_way(&mut self, idle: BTreeMap<ClaimId, (ClaimUid, ConsumerUid)>) {
        for (claim, (uid, user)) in idle {
            if !self.bindings.giving_back.has(&claim) {
                self.ask_for(InTheWay { claim, uid, remedy: Remedy::Deallocate }, Some(user));
            }
        }
    }
}
