//! Gangs of which some members have claims that drivers' controllers give devices: these are negotiated about member by
//! member, for the seats that the gang would have. It is sent on its way when all of them have devices.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::contexts::PodContext;
use cluster::groups::{Key, Root};
use decisions::giving_back::Why;
use decisions::in_the_way::{InTheWay, Remedy};
use decisions::negotiation::NODES_MAX;
use decisions::notice::Notice;
use decisions::plans::Awaited;
use decisions::pod::Choice;
use model::identity::{NodeName, PodUid};
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::step::NODES;
use crate::engine::Engine;

impl Engine {
    /// A gang waits for drivers' controllers, which are asked for its seats, before it goes on its way or others have to go for it.
    pub(crate) fn negotiates_for_gang<'a>(
        &mut self,
        now: Timestamp,
        (key, root): (&Key, &Root),
        seated: impl IntoIterator<Item = &'a (Arc<Pod>, Choice)>,
    ) {
        let (asked, others): (Vec<_>, Vec<_>) =
            seated.into_iter().partition(|(_, choice)| choice.negotiation.is_some());
        debug_assert!(!asked.is_empty(), "seats of {key:?} depend on drivers");
        let members: Vec<Arc<Pod>> = asked.iter().chain(&others).map(|(pod, _)| pod.clone()).collect();
        if let Err(until) = self.plans.rounds.begin(key, now) {
            // A driver that has not heard of it may give them something yet.
            self.give_back_all(&members);
            return self.queue.wait_until(key, NODES, until);
        }
        let first_asked = self.asked_first(key, &asked, &others);
        let (asked, later): (Vec<_>, Vec<_>) = asked
            .into_iter()
            .partition(|(pod, _)| first_asked.as_ref().is_none_or(|first| first.contains(&pod.uid)));
        debug_assert!(!asked.is_empty(), "{key:?} asks drivers for one member at least");
        for (pod, choice) in &asked {
            choice.negotiation.iter().for_each(|openings| self.ask_drivers(pod, openings));
        }
        if let Some((first, _)) = asked.first() {
            others.into_iter().chain(later).for_each(|(pod, _)| self.waits_with(pod, first));
        }
        let asked: BTreeSet<PodUid> = asked.into_iter().map(|(pod, _)| pod.uid.clone()).collect();
        let Some(until) = self.answers_until(now, (key, root), &asked) else {
            return self.queue.wait(key, NODES, now);
        };
        if now < until {
            return self.queue.wait_until(key, NODES, until);
        }
        self.plans.rounds.fail_unanswered(key, now, self.settings.patience, asked);
        self.give_back_all(&members);
        let rests_until = self.plans.rounds.begin(key, now).err().unwrap_or(now);
        self.queue.wait_until(key, NODES, rests_until);
    }

    /// The time until which a gang waits for drivers that say nothing about these members, if the others that wait are enough.
    fn answers_until(
        &mut self,
        now: Timestamp,
        (key, root): (&Key, &Root),
        asked: &BTreeSet<PodUid>,
    ) -> Option<Timestamp> {
        let wait = |uid: &PodUid| Some((uid.clone(), self.negotiations.waits.get(uid)?.clone()));
        let awaited: Awaited = asked.iter().filter_map(wait).collect();
        let until = self.plans.rounds.awaits(key, awaited, now)?;
        let waiting = self.members_here(root);
        let others: Vec<&Arc<Pod>> = waiting.iter().filter(|pod| !asked.contains(&pod.uid)).collect();
        self.are_enough(root, &others).then_some(until)
    }

    /// Those of the members of a gang that seats are looked for. In a round after drivers said nothing about some, these are left out if the
    /// others are enough.
    pub(crate) fn without_unanswered(&self, key: &Key, root: &Root, members: Vec<Arc<Pod>>) -> Vec<Arc<Pod>> {
        let is_in = |pod: &&Arc<Pod>| !self.plans.rounds.is_left_out(key, &pod.uid);
        let others: Vec<&Arc<Pod>> = members.iter().filter(is_in).collect();
        if others.len() == members.len() || !self.are_enough(root, &others) {
            return members;
        }
        others.into_iter().cloned().collect()
    }

    /// The members that drivers are asked for before the others, if not all are asked for at once: as many as the gang
    /// still needs. Those that have everything count.
    fn asked_first(
        &self,
        key: &Key,
        asked: &[&(Arc<Pod>, Choice)],
        others: &[&(Arc<Pod>, Choice)],
    ) -> Option<Vec<PodUid>> {
        let Key::Gang(id) = key else { return None };
        let already = self.facts.groups.seated(id).count() + others.len();
        let needed = (self.facts.groups.get(id)?.at_least as usize).saturating_sub(already);
        let is_spare_asked = needed > 0 && needed < asked.len();
        let uid = |(pod, _): &&(Arc<Pod>, Choice)| pod.uid.clone();
        let members: Vec<PodUid> = asked.iter().chain(others).map(uid).collect();
        let mut ordered = self.plans.rounds.first_asked(key, &members).filter(|_| is_spare_asked)?;
        ordered.retain(|uid| asked.iter().any(|(pod, _)| pod.uid == *uid));
        ordered.truncate(needed);
        Some(ordered)
    }

    /// Says of a member that has everything why it waits all the same.
    fn waits_with(&mut self, pod: &Pod, other: &Pod) {
        let Some(wait) = self.negotiations.waits.get(&other.uid).cloned() else { return };
        if pod.node.is_some() || self.negotiations.waits.get(&pod.uid) == Some(&wait) {
            return;
        }
        self.negotiations.waits.insert(pod.uid.clone(), wait.clone());
        let notice = Notice::MemberWaits { member: other.id.name.clone(), wait };
        self.note_wait(pod, notice.to_string());
    }

    /// A gang has no seats: it gives back what it has, and rests before it negotiates again.
    pub(crate) fn give_up_gang(&mut self, now: Timestamp, key: &Key, members: &[Arc<Pod>]) {
        self.plans.rounds.fail(key, now, self.settings.patience);
        self.give_back_all(members);
    }

    /// What drivers' controllers gave to these pods alone is asked back, and nothing is chosen for the others any more.
    pub(crate) fn give_back_all(&mut self, pods: &[Arc<Pod>]) {
        for pod in pods {
            let is_asked = self.give_back_given(pod);
            let Some(known) = self.facts.context(pod).filter(|_| !is_asked) else { continue };
            let potential = self.still_asked_about(known);
            let is_said =
                known.selected.is_none() && potential.iter().all(|node| known.potential.contains(node));
            if !is_said && !self.negotiations.tellings.overtakes(&pod.uid) {
                self.say(pod, None, potential);
            }
        }
    }

    /// The nodes of which drivers are to say whether they will do: those that they were asked about, and those that they refused before, which
    /// they would never look at again otherwise.
    fn still_asked_about(&self, known: &PodContext) -> Vec<NodeName> {
        let asked = self.existing(&known.potential);
        let refused: BTreeSet<NodeName> =
            known.answers.values().flatten().map(|node| NodeName::from(&**node)).collect();
        let others = refused.into_iter().filter(|node| self.facts.has_node(node) && !asked.contains(node));
        let others: Vec<NodeName> = others.take(NODES_MAX.saturating_sub(asked.len())).collect();
        [asked, others].concat()
    }

    /// What drivers' controllers gave to a pod alone is asked back. Says whether there is something.
    fn give_back_given(&mut self, pod: &Pod) -> bool {
        let mut is_asked = false;
        for id in pod.claim_ids() {
            let Some(state) = self.facts.claims.get(&id).cloned() else { continue };
            if self.kept(Why::NegotiationFailed, &id, Some(&pod.uid)).is_none() {
                let one = InTheWay { claim: id, uid: state.uid.clone(), remedy: Remedy::Deallocate };
                self.ask_for(one, Some((&pod.uid).into()));
                is_asked = true;
            }
        }
        is_asked
    }
}
