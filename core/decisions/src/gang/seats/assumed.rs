//! Members that count as seated while seats of others are looked for.

use std::sync::Arc;

use cluster::ledger::{Holder, PodRef};
use model::pod::Pod;

use crate::cycle::Cycle;
use crate::devices::holding::held;
use crate::values::choice::{Choice, Wanted};

impl Cycle<'_> {
    /// Goes on as if a member were on its node, with its devices.
    pub(crate) fn assume_choice(&mut self, member: &Arc<Pod>, choice: &Choice) {
        let mut pod = Pod::clone(member);
        pod.node = Some(choice.node.clone());
        let mut taken = Vec::new();
        for wanted in &choice.claims {
            let (holder, uid, allocation) = match wanted {
                Wanted::Allocation { state, allocation } => {
                    (Holder::Assumed(state.wish.id.clone()), &*state.uid, allocation)
                }
                Wanted::Claim { allocation } => {
                    (Holder::Made(PodRef::from(&**member)), &*member.uid, allocation)
                }
                Wanted::Reserved | Wanted::Reservation { .. } => continue,
            };
            taken.extend(held(&holder, uid, allocation).0.held);
        }
        self.facts.take(&taken);
        choice.volumes.iter().for_each(|plan| self.facts.plan(&member.uid, plan));
        self.facts.seat(Arc::new(pod));
    }
}
