//! Less important pods make way for a gang: those that go are evicted, and the room is kept for every member until it is free.
//!
//! Invariant: no pod is evicted for a gang that has no seats with all of them gone. While some go, no others are asked to,
//! as long as the gang fits once these are gone, and the gang is not tried again because one of several went.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::change::Change;
use cluster::groups::{Key, Root};
use decisions::considering::{Clearing, NoSeats};
use decisions::gang::{GangCandidate, GangPlan, GangRefusal, Party, Seated, Way};
use decisions::pod::{Choice, Wanted};
use decisions::preempt::{Nomination, planned, pods_of};
use decisions::wake::{Wake, Wakes};
use model::claim::ClaimId;
use model::group::GroupId;
use model::identity::{NodeName, PodUid};
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::engine::Engine;
use crate::engine::preempt::Displacer;
use crate::news::PreemptionOutcome;
use crate::queue::Entity;
use crate::write::Write;

/// What a gang waits for once others go for it.
const GOING: Wakes = Wakes::of(&[Wake::PodRemoved, Wake::Claim]);

/// What a gang or a tree without seats waits for, if it may have seats before long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Prospect {
    /// Drivers are asked first what they give to its members.
    Drivers,
    /// Others go.
    Room,
}

impl Engine {
    /// A gang or a tree has no seats: if others could make way, drivers are asked about the seats that it would have then. Others have
    /// to go once drivers have given all that they are to give, which the members keep until they have the room too.
    pub(super) fn seek_way(
        &mut self,
        now: Timestamp,
        (key, root): (&Key, &Root),
        members: &[Arc<Pod>],
        aside: Vec<Nomination>,
        none: NoSeats,
    ) -> Option<Prospect> {
        self.ask_for_all(none.sought.in_the_way());
        let mut aside = aside;
        match seats_in_sight(&none) {
            None => self.give_up_gang(now, key, members),
            Some(seated) => match self.unless_drivers_are_asked(now, (key, root), seated, aside) {
                None => return Some(Prospect::Drivers),
                Some(left) => aside = left,
            },
        }
        self.make_way(now, key, members, aside, none);
        self.plans.gangs.contains_key(root).then_some(Prospect::Room)
    }

    /// The members that set off now with the seats that were found. Those whose devices drivers have yet to give stay behind if the others
    /// are enough: a driver may never answer. Otherwise drivers are asked first, and none sets off.
    pub(super) fn those_that_set_off(
        &mut self,
        now: Timestamp,
        (key, root): (&Key, &Root),
        seated: Seated,
        aside: Vec<Nomination>,
    ) -> Option<(Seated, Vec<Nomination>)> {
        let is_ready = |(_, choice): &(Arc<Pod>, Choice)| choice.negotiation.is_none();
        let ready: Vec<&Arc<Pod>> = seated.iter().filter(|seat| is_ready(seat)).map(|(pod, _)| pod).collect();
        if ready.len() == seated.len() || !self.are_enough(root, &ready) {
            let aside = self.unless_drivers_are_asked(now, (key, root), &seated, aside)?;
            return Some((seated, aside));
        }
        let ready: Seated = seated.into_iter().filter(is_ready).collect();
        let is_used = |one: &Nomination| ready.iter().any(|(pod, _)| pod.uid == one.pod.uid);
        let (aside, unused) = aside.into_iter().partition(is_used);
        self.withdraw_all(now, unused);
        Some((ready, aside))
    }

    /// Whether a gang or a tree has enough members with these, and so has each group that one of them is of.
    pub(crate) fn are_enough(&self, root: &Root, pods: &[&Arc<Pod>]) -> bool {
        let mut members: BTreeMap<GroupId, usize> = BTreeMap::new();
        for id in pods.iter().filter_map(|pod| self.facts.groups.gang_of(pod)) {
            *members.entry(id).or_default() += 1;
        }
        let groups = &self.facts.groups;
        let count = |leaf: &GroupId| groups.seated(leaf).count() + members.get(leaf).copied().unwrap_or(0);
        let mut roots = members.keys().map(|id| Root::Group(id.clone())).chain([root.clone()]);
        !members.is_empty() && roots.all(|root| groups.is_enough(&root, &count))
    }

    /// Asks drivers about seats that depend on what they give. No room is kept for these meanwhile: it is open whether drivers give
    /// anything there, and when. Gives the nominations back if there is nothing to ask.
    fn unless_drivers_are_asked(
        &mut self,
        now: Timestamp,
        (key, root): (&Key, &Root),
        seated: &Seated,
        aside: Vec<Nomination>,
    ) -> Option<Vec<Nomination>> {
        if seated.iter().all(|(_, choice)| choice.negotiation.is_none()) {
            return Some(aside);
        }
        self.give_up_room(now, root, aside);
        self.negotiates_for_gang(now, (key, root), seated);
        None
    }

    /// Room is made for a gang if that helps, and it is put back with the reason.
    fn make_way(
        &mut self,
        now: Timestamp,
        key: &Key,
        members: &[Arc<Pod>],
        aside: Vec<Nomination>,
        none: NoSeats,
    ) {
        let NoSeats { sought, mut refusal, way } = none;
        let party = sought.party();
        refusal.preemption = way.told();
        let way = match way {
            Clearing::Claims(idle) => {
                // No pod has to go if claims that no pod uses give their devices back.
                self.clear_the_way(idle);
                refusal.waits_for(GOING);
                aside.into_iter().for_each(|nomination| self.nominate(nomination));
                self.tell_all_refused(now, party, &members[0], &refusal);
                return self.refuse_gang(now, key, members, &refusal);
            }
            Clearing::Pods(way) => way,
        };
        let root = party.root();
        let mut is_free_already = false;
        match &way {
            Way::Never => {}
            Way::NotEligible | Way::Hopeless(_) | Way::Coming(_) => {
                self.note_preemption(Entity::Group, PreemptionOutcome::None);
            }
            Way::Found(GangCandidate { victims, .. }) => {
                let pods: Vec<&Pod> = pods_of(victims).map(|pod| &**pod).collect();
                let violating = self.facts.budgets.violations(pods.iter().copied());
                let violations = violating.into_iter().filter(|it| *it).count();
                let found = PreemptionOutcome::Found { pods: pods.len(), units: victims.len(), violations };
                self.note_preemption(Entity::Group, found);
            }
        }
        match way {
            Way::Never | Way::Hopeless(_) => self.give_up_room(now, &root, aside),
            Way::NotEligible => aside.into_iter().for_each(|nomination| self.nominate(nomination)),
            Way::Coming(candidate) => {
                refusal.waits_for(GOING);
                self.keep_room(now, &root, candidate, &aside);
            }
            Way::Found(candidate) => {
                refusal.waits_for(GOING);
                let victims: Vec<Arc<Pod>> = pods_of(&candidate.victims).cloned().collect();
                // All of them matter at least as much as the last.
                let least = members.last().expect("a gang that is looked at has members");
                self.displace_for_gang(now, party, least, &candidate);
                self.keep_room(now, &root, candidate, &aside);
                // Those that were called back at once are gone before the gang falls asleep.
                is_free_already = victims.iter().all(|victim| !self.facts.nodes.has_pod(&victim.uid));
            }
        }
        self.tell_all_refused(now, party, &members[0], &refusal);
        self.refuse_gang(now, key, members, &refusal);
        if is_free_already {
            self.queue.wake_one(key, Wakes::of(&Wake::ALL), now);
        }
    }

    fn tell_all_refused(&mut self, now: Timestamp, party: Party<'_>, pod: &Pod, refusal: &GangRefusal) {
        party.groups().iter().for_each(|group| self.tell_refused(now, group, pod, refusal));
    }

    fn displace_for_gang(
        &mut self,
        now: Timestamp,
        party: Party<'_>,
        member: &Arc<Pod>,
        candidate: &GangCandidate,
    ) {
        let nodes: BTreeSet<&NodeName> = candidate.seated.iter().map(|(_, choice)| &choice.node).collect();
        for node in nodes {
            self.withdraw_less_important(now, member, node);
        }
        let place = candidate.domain.to_string();
        let grouping = party.grouping();
        let by = Displacer { pod: member, group: Some(&grouping), place: &place };
        for victim in pods_of(&candidate.victims) {
            self.displace(now, victim, &by);
        }
    }

    /// Keeps the room that is being made free for the members that get it.
    fn keep_room(&mut self, now: Timestamp, root: &Root, candidate: GangCandidate, aside: &[Nomination]) {
        let plan = GangPlan { victims: candidate.gone, freeing: candidate.freeing };
        self.plans.gangs.insert(root.clone(), plan);
        let mut left: BTreeMap<&PodUid, &Nomination> = aside.iter().map(|one| (&one.pod.uid, one)).collect();
        for (pod, choice) in &candidate.seated {
            let known = left.remove(&pod.uid).map(|known| &known.node);
            if known.or(pod.nominated_node.as_ref()) != Some(&choice.node) {
                let (id, uid, node) = (pod.id.clone(), pod.uid.clone(), Some(choice.node.clone()));
                self.outbox.submit(Write::Nominate { pod: id, uid, node });
            }
            self.nominate(nomination(pod, choice));
        }
        let lost: Vec<Nomination> = left.into_values().cloned().collect();
        self.withdraw_all(now, lost);
    }

    /// Keeps no room for a gang any more.
    pub(super) fn give_up_room(&mut self, now: Timestamp, root: &Root, aside: Vec<Nomination>) {
        self.plans.gangs.remove(root);
        self.withdraw_all(now, aside);
    }

    fn withdraw_all(&mut self, now: Timestamp, aside: Vec<Nomination>) {
        if aside.is_empty() {
            return;
        }
        for Nomination { pod, .. } in aside {
            let (pod, uid) = (pod.id.clone(), pod.uid.clone());
            self.outbox.submit(Write::Nominate { pod, uid, node: None });
        }
        self.wake_others(GOING, now);
    }

    /// A gang has seats: room is kept only for those of it that have none.
    pub(super) fn use_room(&mut self, now: Timestamp, root: &Root, aside: Vec<Nomination>, seated: &Seated) {
        self.plans.gangs.remove(root);
        let seats: BTreeMap<&PodUid, &NodeName> =
            seated.iter().map(|(pod, choice)| (&pod.uid, &choice.node)).collect();
        let mut is_freed = false;
        for nomination in aside {
            match seats.get(&nomination.pod.uid) {
                None => self.nominate(nomination),
                Some(node) => is_freed |= **node != nomination.node || !nomination.planned.is_empty(),
            }
        }
        if is_freed {
            self.wake_others(GOING, now);
        }
    }

    /// The gangs and trees for which a pod was to go, or a claim to give devices back, of which this tells.
    pub(crate) fn expecting(&self, change: &Change) -> Vec<Root> {
        if self.plans.gangs.is_empty() {
            return Vec::new();
        }
        match change {
            Change::PodGone(uid) => self.expecting_pod(uid),
            Change::PodApplied(pod) if pod.finished || (pod.deleting && pod.node.is_none()) => {
                self.expecting_pod(&pod.uid)
            }
            Change::ClaimApplied(state) | Change::ClaimListed(state) | Change::ClaimAnswered(state) => {
                self.expecting_claim(&state.wish.id)
            }
            Change::ClaimGone(id) | Change::ClaimMissing(id, _) => self.expecting_claim(id),
            _ => Vec::new(),
        }
    }

    /// The gangs and trees for which a pod goes.
    pub(crate) fn expecting_pod(&self, uid: &PodUid) -> Vec<Root> {
        let plans = self.plans.gangs.iter().filter(|(_, plan)| plan.victims.contains(uid));
        plans.map(|(root, _)| root.clone()).collect()
    }

    fn expecting_claim(&self, id: &ClaimId) -> Vec<Root> {
        let gives_back = |plan: &GangPlan| plan.freeing.iter().any(|(claim, _)| claim == id);
        let plans = self.plans.gangs.iter().filter(|(_, plan)| gives_back(plan));
        plans.map(|(root, _)| root.clone()).collect()
    }

    /// Wakes the pods that a change could help. Of these that expected it, those that wait for more than that sleep on: each trial is a
    /// whole search. They are woken by the last that they wait for.
    pub(crate) fn wake_expecting(&mut self, now: Timestamp, wakes: Wakes, expecting: Vec<Root>) {
        if expecting.is_empty() {
            self.queue.wake(wakes, now);
            return;
        }
        let cycle = self.cycle();
        let (waiting, served): (Vec<Root>, Vec<Root>) =
            expecting.into_iter().partition(|root| cycle.awaits_room(root));
        drop(cycle);
        let spared: Vec<Key> = waiting.iter().map(Key::from).collect();
        // Room that is kept for them is there: they need not wait out their backoff if nothing else is ready.
        for root in served {
            self.queue.wake_one(&Key::from(&root), Wakes::of(&Wake::ALL), now);
        }
        self.queue.wake_but(wakes, &spared, now);
    }

    /// A pod does not go after all: gangs and trees that wait for it look for others after a while.
    pub(crate) fn expect_no_more(&mut self, now: Timestamp, uid: &PodUid) {
        for root in self.expecting_pod(uid) {
            self.queue.sleep_less(&Key::from(&root), now);
        }
    }
}

/// The seats that a gang or a tree has once others are gone.
fn seats_in_sight(none: &NoSeats) -> Option<&Seated> {
    match &none.way {
        Clearing::Pods(Way::Found(candidate) | Way::Coming(candidate)) => Some(&candidate.seated),
        Clearing::Pods(Way::Never | Way::NotEligible | Way::Hopeless(_)) | Clearing::Claims(_) => None,
    }
}

/// Room on a node for a member, with the devices that it will get.
fn nomination(pod: &Arc<Pod>, choice: &Choice) -> Nomination {
    let mut allocations = Vec::new();
    for wanted in &choice.claims {
        match wanted {
            Wanted::Allocation { allocation, .. } | Wanted::Claim { allocation } => {
                allocations.push(allocation)
            }
            Wanted::Reserved | Wanted::Reservation { .. } => {}
        }
    }
    Nomination { planned: planned(pod, allocations), ..Nomination::new(choice.node.clone(), pod.clone()) }
}
