//! Claims whose devices are given by drivers' own controllers: what is wanted and what is there means nothing to us, so that
//! nodes are found by asking.
//!
//! We write down, for one pod, which nodes would do otherwise and which one is chosen; controllers write down which nodes
//! will not do for which claim, and give devices where the chosen one will. All of it is in objects of the API.
//!
//! Invariant: a pod that is negotiated about sleeps and holds nothing. An answer of a driver is a change of its claim or of
//! its context, and wakes the pods that it is about and no others. Nothing is known here that the API's objects do
//! not say, but for writes that are under way, and how often pods and gangs failed.

mod gang;
mod held_back;
mod noted;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::change::NegotiationChange;
use cluster::claims::ClaimState;
use decisions::in_the_way::InTheWay;
use decisions::wake::{Wake, Wakes};
use gates::Gate;
use model::claim::ClaimId;
use model::identity::{ConsumerUid, NodeName, PodUid};
use model::pod::{Pod, PodId};
use model::timestamp::Timestamp;
use rustc_hash::FxHashMap;

use self::noted::Unnoted;
use crate::claim_waits::For;
use crate::engine::Engine;
use crate::life_cycles::telling::{TellingStage, Tellings};
use crate::news::{Await, Wait};
use crate::outbox::Owner;
use crate::write::{Write, WriteId, WriteOutcome};

/// What is under way.
#[derive(Debug, Default)]
pub(crate) struct Negotiations {
    /// Pods that had a turn and wait, by their names, which another may have had before.
    named: BTreeMap<PodId, BTreeSet<PodUid>>,
    /// What drivers are being told.
    tellings: Tellings,
    /// Pods that we have written a context for, by uid.
    begun: BTreeSet<PodUid>,
    /// What each pod waits for, by uid.
    waits: FxHashMap<PodUid, Wait>,
    /// What conditions of pods have yet to say.
    unnoted: Unnoted,
    /// Pods that may be held back, and have something all the same. By uid.
    suspects: BTreeSet<PodUid>,
}

impl Engine {
    /// Takes note of the node that is chosen for a pod: by what is being written, or else by its context.
    fn note_selection(&mut self, pod: &PodId, uid: &PodUid) {
        let known = self.facts.contexts.get(pod).filter(|context| context.owner == *uid);
        let selected = match self.negotiations.tellings.selects(uid) {
            Some(selected) => selected,
            None => known.and_then(|known| known.selected.as_ref()),
        };
        self.plans.selections.set(uid, selected);
    }

    /// How many pods wait for which driver, and for what of it.
    #[must_use]
    pub fn negotiating(&self) -> BTreeMap<(Await, Arc<str>), usize> {
        let mut counts = BTreeMap::new();
        for wait in self.negotiations.waits.values() {
            for driver in wait.drivers() {
                *counts.entry((wait.what, driver)).or_default() += 1;
            }
        }
        counts
    }

    /// Takes note of a pod that has its turn, so that what becomes of its claims wakes it.
    pub(crate) fn watch_claims(&mut self, pod: &Pod) {
        if pod.claims.is_empty() || !self.settings.gates.enabled(Gate::DRAControlPlaneController) {
            return;
        }
        self.negotiations.named.entry(pod.id.clone()).or_default().insert(pod.uid.clone());
        for id in pod.claim_ids() {
            self.bindings.waits.add(id, For::Driver, &pod.uid);
        }
    }

    /// Takes note that a pod waits for something else than a driver.
    pub(crate) fn waits_for_no_driver(&mut self, uid: &str) {
        self.negotiations.waits.remove(uid);
        self.negotiations.unnoted.forget(uid);
    }

    /// Forgets a pod that waits no more.
    pub(crate) fn forget_negotiation(&mut self, pod: &Pod) {
        let was_awaited = self.negotiations.waits.remove(&pod.uid).is_some();
        self.negotiations.unnoted.forget(&pod.uid);
        let key = self.facts.groups.key_of(pod);
        self.plans.rounds.forget(&key);
        if self.facts.groups.gang_of(pod).is_some() && was_awaited {
            // The others of its gang waited for it, and may be enough without it.
            self.queue.wake_one(&key, Wake::OwnClaims.into(), self.now);
        }
        self.plans.selections.set(&pod.uid, None);
        forget(&mut self.negotiations.named, &pod.id, &pod.uid);
        self.bindings.waits.forget(pod, For::Driver);
    }

    /// A claim is otherwise than it was: if a controller of a driver did that, the pods that use it look again.
    pub(crate) fn follow_control(&mut self, now: Timestamp, id: &ClaimId, before: Option<&ClaimState>) {
        let after = self.facts.claims.get(id).map(|state| &**state);
        let look = |state: Option<&ClaimState>| {
            state.map(|state| (state.control.clone(), state.allocation.clone(), state.deleting))
        };
        let is_ours = |state: Option<&ClaimState>| state.is_none_or(|state| !self.facts.is_controlled(state));
        // A pod that waits for others to let go of it is helped by that, too; that there are more users helps none.
        let stays = |user: &ConsumerUid| after.is_some_and(|after| after.reserved_for.contains(user));
        let is_let_go = before.is_some_and(|before| !before.reserved_for.iter().all(stays));
        if (look(before) == look(after) && !is_let_go) || (is_ours(before) && is_ours(after)) {
            return;
        }
        self.rouse_users(now, id);
    }

    /// Pods that use a claim, or wait for it, look again.
    pub(crate) fn rouse_users(&mut self, now: Timestamp, id: &ClaimId) {
        for uid in self.bindings.waits.pods(id, For::Driver) {
            self.rouse_negotiated(now, &uid);
        }
    }

    fn rouse_negotiated(&mut self, now: Timestamp, uid: &PodUid) {
        let Some(pod) = self.facts.waiting.get(uid).cloned() else { return };
        let key = self.facts.groups.key_of(&pod);
        self.queue.wake_one(&key, Wake::OwnClaims.into(), now);
        self.suspect(&pod);
    }

    pub(crate) fn fold_negotiation(&mut self, now: Timestamp, change: NegotiationChange) -> Wakes {
        match change {
            NegotiationChange::Applied(context) => {
                let known = self.facts.contexts.get(&context.pod);
                if known.is_some_and(|known| context.is_older(known)) {
                    return Wakes::NONE;
                }
                let answers = known.map(|known| &known.answers);
                let is_answer =
                    answers.map_or(!context.answers.is_empty(), |known| *known != context.answers);
                let owner = context.owner.clone();
                let pod = context.pod.clone();
                let before = self.facts.contexts.insert(pod.clone(), *context);
                // Another pod may have had its name before.
                let owners = before.map(|before| before.owner).into_iter().chain([owner.clone()]);
                owners.for_each(|owner| self.note_selection(&pod, &owner));
                // What we say ourselves is no news to us.
                if is_answer {
                    self.rouse_negotiated(now, &owner);
                }
            }
            NegotiationChange::Gone(id, uid) => {
                let known = self.facts.contexts.get(&id);
                if known.is_none_or(|known| !uid.is_empty() && known.uid != uid) {
                    return Wakes::NONE;
                }
                let gone = self.facts.contexts.remove(&id);
                let owner = gone.map(|gone| gone.owner);
                owner.iter().for_each(|owner| self.note_selection(&id, owner));
                // Another pod of this name may have waited for it to go.
                let named = self.negotiations.named.get(&id).cloned().unwrap_or_default();
                let uids: BTreeSet<PodUid> = named.into_iter().chain(owner).collect();
                uids.iter().for_each(|uid| self.rouse_negotiated(now, uid));
            }
        }
        Wakes::NONE
    }

    /// The answer to the write of a context.
    pub(crate) fn settle_negotiation(&mut self, now: Timestamp, write: WriteId, outcome: &WriteOutcome) {
        let Some((uid, told)) = self.negotiations.tellings.answered(write) else { return };
        let Some(pod) = self.facts.waiting.get(&uid).cloned() else {
            return self.keep_after_all(now, write);
        };
        let key = self.facts.groups.key_of(&pod);
        match (outcome, told) {
            (WriteOutcome::Done, TellingStage::Withdrawing(claims)) => {
                self.bindings.giving_back.unselected(write);
                claims.into_iter().for_each(|one| self.ask_for(one, Some((&uid).into())));
            }
            (WriteOutcome::Done, TellingStage::Outdated) => {
                self.queue.wake_one(&key, Wake::OwnClaims.into(), now);
            }
            (WriteOutcome::Done, TellingStage::Telling) => {}
            (WriteOutcome::Failed(_), _) => {
                self.note_selection(&pod.id, &pod.uid);
                self.keep_after_all(now, write);
                self.queue.sleep_less(&key, now);
            }
        }
    }

    /// A claim is not asked to give its devices back after all. Others that use it thought so, and look again.
    fn keep_after_all(&mut self, now: Timestamp, write: WriteId) {
        let kept = self.bindings.giving_back.answered(write);
        kept.into_iter().flat_map(|request| request.claims).for_each(|claim| self.rouse_users(now, &claim));
    }

    /// Whether no node may be chosen for the pod before a claim is asked to give its devices back, and one is. It is taken
    /// away first then: the driver would give the claim devices for it again.
    pub(crate) fn unselects_first(&mut self, one: &InTheWay, user: &ConsumerUid) -> bool {
        if self.facts.claims.get(&one.claim).is_none_or(|state| !self.facts.is_of_driver(state)) {
            return false;
        }
        let Some(pod) = self.facts.waiting.get(&**user).cloned().filter(|pod| pod.node.is_none()) else {
            return false;
        };
        let Some(context) = self.facts.context(&pod).filter(|context| context.selected.is_some()) else {
            return false;
        };
        let potential = self.existing(&context.potential);
        // One write is enough for all claims of a pod; of several all but one would come too late.
        let open = self.negotiations.tellings.withdrawing(user);
        let id = open.unwrap_or_else(|| self.say(&pod, None, potential));
        self.negotiations.tellings.ask_back(id, one.clone());
        self.bindings.giving_back.ask_after(id, one.claim.clone(), user);
        true
    }

    /// Those of these nodes that are there.
    fn existing(&self, nodes: &[NodeName]) -> Vec<NodeName> {
        nodes.iter().filter(|node| self.facts.has_node(node)).cloned().collect()
    }

    /// Tells drivers where a pod may go and is to go.
    fn say(&mut self, pod: &Pod, selected: Option<NodeName>, potential: Vec<NodeName>) -> WriteId {
        let (id, uid) = (pod.id.clone(), pod.uid.clone());
        let (chosen, named) = (selected.clone(), potential.clone());
        let negotiate = Write::Negotiate { pod: id, uid, selected, potential };
        let write = self.outbox.submit_for(Owner::Context, negotiate);
        self.negotiations.begun.insert(pod.uid.clone());
        self.negotiations.tellings.begin(write, pod.uid.clone(), chosen, named);
        self.note_selection(&pod.id, &pod.uid);
        write
    }

    /// Forgets that something was written for a pod that is gone, or that has its node. What is left of it others put away.
    pub(crate) fn drop_negotiation(&mut self, uid: &str) {
        self.negotiations.begun.remove(uid);
    }

    /// A pod has its node: there is nothing to negotiate about any more.
    pub(crate) fn end_negotiation(&mut self, pod: &Pod) {
        let was_begun = self.negotiations.begun.remove(&pod.uid);
        if was_begun || self.facts.context(pod).is_some() {
            self.outbox.submit(Write::EndNegotiation { pod: pod.id.clone(), uid: pod.uid.clone() });
        }
    }
}

/// Forgets a pod under one of the things that it is found by.
fn forget<K: Ord>(pods: &mut BTreeMap<K, BTreeSet<PodUid>>, key: &K, uid: &str) {
    let Some(known) = pods.get_mut(key) else { return };
    known.remove(uid);
    if known.is_empty() {
        pods.remove(key);
    }
}
