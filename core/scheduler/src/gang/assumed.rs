//! Members that are thought to have their seats while those of others are looked for.
//!
//! Invariant: taking an assumption back leaves the engine as it was before.

use std::sync::Arc;

use cluster::claims::Held;
use cluster::ledger::{Holder, PodRef};
use model::pod::Pod;

use crate::cycle::{Choice, Wanted};
use crate::engine::{Engine, held};

/// A member that has a seat for the moment.
pub(super) struct Assumed {
    uid: Arc<str>,
    held: Vec<Held>,
}

impl Engine {
    /// Goes on as if a member were on its node, with its devices.
    pub(super) fn assume_choice(&mut self, member: &Arc<Pod>, choice: &Choice) -> Assumed {
        let mut pod = Pod::clone(member);
        pod.node = Some(choice.node.clone());
        let mut taken = Vec::new();
        for wanted in &choice.claims {
            let (holder, uid, allocation) = match wanted {
                Wanted::Allocation { state, allocation } => {
                    (Holder::Assumed(state.wish.id.clone()), &state.uid, allocation)
                }
                Wanted::Claim { allocation } => {
                    (Holder::Made(PodRef::from(&**member)), &member.uid, allocation)
                }
                Wanted::Reserved | Wanted::Reservation { .. } => continue,
            };
            taken.extend(held(&holder, uid, allocation).0.held);
        }
        self.facts.claims.take(&taken);
        let uid = pod.uid.clone();
        self.facts.put_pod(Arc::new(pod));
        Assumed { uid, held: taken }
    }

    pub(super) fn revert_seat(&mut self, assumed: &Assumed) {
        self.facts.take_pod(&assumed.uid);
        self.facts.claims.give_back(&assumed.held);
    }
}
