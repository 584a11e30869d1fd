//! One step of a negotiation: a pod would fit on nodes, but for claims that drivers' controllers have yet to give devices.

use std::sync::Arc;

use cluster::groups::Key;
use decisions::in_the_way::InTheWay;
use decisions::negotiation::{Openings, Pending, Say, awaited};
use decisions::pod::PodRefusal;
use decisions::underway::Underway as _;
use decisions::wake::{Wake, Wakes};
use model::identity::NodeName;
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::engine::{Announcement, Engine};

/// What could change which nodes fit. That others come and go there is found out with the next answer.
pub(super) const NODES: Wakes = Wakes::of(&[
    Wake::NodeAdded,
    Wake::NodeRemoved,
    Wake::NodeLabels,
    Wake::NodeTaints,
    Wake::NodeAllocatable,
    Wake::NodeFeatures,
    Wake::Class,
    Wake::OwnClaims,
    Wake::OwnLabels,
    Wake::OwnTolerations,
    Wake::OwnRequests,
    Wake::OwnSpec,
]);

impl Engine {
    /// Says what is to be said, and lets the pod sleep until there is an answer.
    pub(crate) fn negotiate(&mut self, now: Timestamp, pod: &Arc<Pod>, openings: &Openings) {
        let wanted = self.cycle().wanted(pod, openings);
        let next = wanted.selected.as_ref();
        if next.is_some_and(|node| self.plans.rounds.comes_back_to(&Key::from(&**pod), node)) {
            self.plans.rounds.fail(&Key::from(&**pod), now, self.settings.patience);
        }
        if pod.node.is_none() {
            // Room is not kept for a pod while it is open whether drivers give it anything there, and when.
            let freed = self.withdraw(pod);
            self.wake_others(freed, now);
        }
        // Drivers may give what they are asked for already while the pod rests, and then it is placed at once.
        if pod.node.is_none()
            && let Err(until) = self.plans.rounds.begin(&Key::from(&**pod), now)
        {
            return self.queue.wait_until(&Key::from(&**pod), NODES, until);
        }
        if let Some(node) = self.tell(pod, &openings.pending, wanted) {
            self.plans.rounds.choose(&Key::from(&**pod), &node);
        }
        self.queue.wait(&Key::from(&**pod), NODES, now);
    }

    /// A single pod has no node: the round of negotiation that is under way has failed, if one is. It goes on while the pod gives
    /// something back that keeps it off nodes.
    pub(crate) fn leave_node(&mut self, now: Timestamp, pod: &Arc<Pod>, refusal: &PodRefusal) {
        let is_leaving = |id| {
            let state = self.facts.claims.get(&id);
            state.is_some_and(|state| state.control.leaving) || self.bindings.is_given_up(&id)
        };
        let selected = self.plans.selections.of(&pod.uid);
        // A driver that gives devices elsewhere than on the node that was chosen would do so again.
        let is_elsewhere = |one: &InTheWay| {
            let state = self.facts.claims.get(&one.claim).filter(|state| self.facts.is_of_driver(state));
            state.is_some() && selected.is_some_and(|node| !self.facts.is_usable_at(&one.claim, node))
        };
        let is_astray = refusal.in_the_way().is_some_and(|one| is_elsewhere(&one));
        if !is_astray && (refusal.in_the_way().is_some() || pod.claim_ids().any(is_leaving)) {
            self.plans.rounds.leave(&Key::from(&**pod));
        } else {
            self.plans.rounds.fail(&Key::from(&**pod), now, self.settings.patience);
        }
    }

    /// The claims of a pod that drivers have yet to give devices.
    fn pending_of(&mut self, pod: &Arc<Pod>) -> Vec<Pending> {
        let profile = self.settings.profile_of(pod);
        self.cycle().pending_of(pod, &profile)
    }

    /// Whether drivers have yet to give devices to a claim of a pod.
    pub(crate) fn awaits_drivers(&mut self, pod: &Arc<Pod>) -> bool {
        !self.pending_of(pod).is_empty()
    }

    /// What is to be negotiated about for a pod that could preempt others on a node, if anything is.
    pub(crate) fn unasked(&mut self, pod: &Arc<Pod>, node: &NodeName) -> Option<Box<Openings>> {
        let pending = self.pending_of(pod);
        let nodes = vec![node.clone()];
        (!pending.is_empty()).then(|| Box::new(Openings { pending, nodes }))
    }

    /// Says what is to be said about a member of a gang.
    pub(super) fn ask_drivers(&mut self, pod: &Arc<Pod>, openings: &Openings) {
        let wanted = self.cycle().wanted(pod, openings);
        self.tell(pod, &openings.pending, wanted);
    }

    /// Says what is wanted about a pod, to drivers and to people. Gives the node that drivers are told, if they are told one.
    fn tell(&mut self, pod: &Arc<Pod>, pending: &[Pending], wanted: Say) -> Option<NodeName> {
        let known = self.facts.context(pod);
        // Of a pod that is on a node drivers are told by the controllers that look after such pods.
        let selected = wanted.selected.clone().or_else(|| pod.node.clone());
        let wait = awaited(known, pending, selected);
        // What is known is no more than what was said before the last write, while one is under way.
        let is_being_said =
            self.negotiations.tellings.tells(&pod.uid, wanted.selected.as_ref(), &wanted.potential);
        let is_said = is_being_said.unwrap_or_else(|| {
            known
                .is_some_and(|known| known.selected == wanted.selected && known.potential == wanted.potential)
        });
        let is_told = pod.node.is_none() && !is_said && !self.negotiations.tellings.overtakes(&pod.uid);
        let told = wanted.selected.clone().filter(|_| is_told);
        if is_told {
            self.say(pod, wanted.selected, wanted.potential);
        }
        if self.negotiations.waits.get(&pod.uid) == Some(&wait) {
            return told;
        }
        let message = wait.to_string();
        self.negotiations.waits.insert(pod.uid.clone(), wait.clone());
        if pod.node.is_none() {
            self.note_wait(pod, message);
        }
        self.outbox.announce(Announcement::Negotiating { pod: pod.clone(), wait });
        told
    }
}
