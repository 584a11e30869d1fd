//! Gangs of which some members have claims that drivers' controllers give devices: these are negotiated about member by
//! member, for the seats that the gang would have. It is sent on its way when all of them have devices.

use std::sync::Arc;

use cluster::claims::ClaimState;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::step::NODES;
use crate::change::{WaitReason, Write};
use crate::cycle::Choice;
use crate::deallocate::{InTheWay, Remedy};
use crate::engine::Engine;
use crate::engine::fold::named_claims;

impl Engine {
    /// Whether a gang that has seats waits for drivers' controllers first. They are asked then.
    pub(crate) fn negotiates_for_gang<'a>(
        &mut self,
        now: Timestamp,
        key: &Arc<str>,
        seated: impl IntoIterator<Item = &'a (Arc<Pod>, Choice)>,
    ) -> bool {
        let mut asked = None;
        let mut others = Vec::new();
        for (pod, choice) in seated {
            match &choice.negotiation {
                Some(openings) => {
                    self.ask_drivers(pod, openings);
                    asked.get_or_insert(pod);
                }
                None => others.push(pod),
            }
        }
        let Some(asked) = asked else { return false };
        others.into_iter().for_each(|pod| self.waits_with(pod, asked));
        self.queue.wait(key, NODES, now);
        true
    }

    /// Says of a member that has everything why it waits all the same.
    fn waits_with(&mut self, pod: &Pod, other: &Pod) {
        let Some(wait) = self.negotiations.waits.get(&other.uid).cloned() else { return };
        if pod.node.is_some() || self.negotiations.waits.get(&pod.uid) == Some(&wait) {
            return;
        }
        let message = format!("pod {} of its group is {wait}", other.id.name);
        self.negotiations.waits.insert(pod.uid.clone(), wait);
        let (id, uid, reason) = (pod.id.clone(), pod.uid.clone(), WaitReason::Negotiating);
        self.submit_and_forget(Write::Note { pod: id, uid, reason, message });
    }

    /// A gang has no seats: what drivers' controllers gave to its members alone is asked back.
    pub(crate) fn give_up_gang(&mut self, members: &[Arc<Pod>]) {
        for pod in members {
            for id in named_claims(pod) {
                let Some(state) = self.claims.get(&id).cloned() else { continue };
                if self.is_given_to(&state, pod) && !self.is_being_reserved(&id) && !self.is_given_up(&id) {
                    let one = InTheWay { claim: id, uid: state.uid.clone(), remedy: Remedy::Deallocate };
                    self.ask_for(one, &pod.uid);
                }
            }
        }
    }

    /// Whether a driver's controller gave a claim devices for this pod alone, and not for good.
    fn is_given_to(&self, state: &ClaimState, pod: &Pod) -> bool {
        let control = &state.control;
        control.controller.is_some()
            && !control.immediate
            && !control.leaving
            && state.allocation.is_some()
            && state.reserved_for.iter().all(|user| *user == pod.uid)
    }
}
