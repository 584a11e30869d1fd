//! Less important pods make way for a gang: who goes is evicted, and the room is kept for every member until it is free.
//!
//! Invariant: nobody is evicted for a gang that has no seats with all of them gone. While some go, no others are asked to,
//! as long as the gang fits once these are gone.

use cluster::groups::{Key, Root};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::claim::ClaimId;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::party::Party;
use super::turn::{GangRefusal, Seated};
use super::victims::{GangCandidate, Going, Helpless};
use crate::cycle::{Choice, Wanted};
use crate::engine::Engine;
use crate::preempt::{Displacer, Nomination, Unit, planned, pods_of};
use crate::wake::{Wake, Wakes};
use crate::write::Write;

/// What is being made free for a gang.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// Those who go, by uid.
    victims: BTreeSet<Arc<str>>,
    /// The claims that then give devices back, with their uids.
    freeing: Vec<(ClaimId, Arc<str>)>,
}

/// What came of looking for those who could go.
enum Way {
    /// Nobody makes way for anybody.
    Never,
    /// The gang may not preempt.
    NotEligible,
    /// It would not help, for this reason, or there is nobody who could go.
    Hopeless(String),
    /// These are going already, and that is enough.
    Coming(GangCandidate),
    /// Somebody goes.
    Found(GangCandidate),
}

/// What the whole cluster is called where a node would be named.
const EVERYWHERE: &str = "cluster";

/// What a gang waits for once others go for it.
const GOING: Wakes = Wakes::of(&[Wake::PodRemoved, Wake::Claim]);

impl Engine {
    /// A gang has no seats: room is made for it if that helps, and it is put back with the reason.
    pub(super) fn make_way(
        &mut self,
        now: Timestamp,
        (key, party): (&Key, Party<'_>),
        members: &[Arc<Pod>],
        aside: Vec<Nomination>,
        mut refusal: GangRefusal,
    ) {
        if let Some(count) = self.clear_the_way(party, members) {
            // Nobody has to go if claims that nobody uses give their devices back.
            refusal.message.push_str(&format!("; {count} claims that nobody uses give their devices back"));
            refusal.waits_for(GOING);
            aside.into_iter().for_each(|nomination| self.nominate(nomination));
            self.tell_all_refused(party, &members[0], &refusal.message);
            return self.refuse_gang(now, key, members, &refusal);
        }
        let root = party.root();
        let mut is_free_already = false;
        let text = match self.look_for_way(now, party, members) {
            Way::Never => {
                self.give_up_room(now, &root, aside);
                String::new()
            }
            Way::NotEligible => {
                aside.into_iter().for_each(|nomination| self.nominate(nomination));
                "not eligible due to preemptionPolicy=Never.".to_owned()
            }
            Way::Hopeless(text) => {
                self.give_up_room(now, &root, aside);
                text
            }
            Way::Coming(candidate) => {
                refusal.waits_for(GOING);
                self.keep_room(now, &root, candidate, &aside);
                "ongoing preemption on nominated nodes".to_owned()
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
                format!("found a placement for podgroup, preempting {} victims", victims.len())
            }
        };
        if !text.is_empty() {
            refusal.message.push_str(&format!(", pod group preemption: {text}"));
        }
        self.tell_all_refused(party, &members[0], &refusal.message);
        self.refuse_gang(now, key, members, &refusal);
        if is_free_already {
            self.queue.wake_one(key, Wakes::of(&Wake::ALL), now);
        }
    }

    fn tell_all_refused(&mut self, party: Party<'_>, pod: &Pod, message: &str) {
        party.groups().iter().for_each(|group| self.tell_refused(group, pod, message));
    }

    fn look_for_way(&mut self, now: Timestamp, party: Party<'_>, members: &[Arc<Pod>]) -> Way {
        if party.profile().preemption.is_none() {
            return Way::Never;
        }
        if !party.preempts() || members.iter().any(|pod| !pod.preempts) {
            return Way::NotEligible;
        }
        let root = &party.root();
        let units = self.units_besides(root, party.importance(members), now);
        let (leaving, units): (Vec<_>, Vec<_>) =
            units.into_iter().partition(|unit| unit.pods.iter().all(|pod| self.is_leaving(pod)));
        let going = self.going_for(root, leaving);
        let is_awaited = !going.units.is_empty() || !going.claims.is_empty();
        if is_awaited && let Some(candidate) = self.seats_to_come(party, &going) {
            return Way::Coming(candidate);
        }
        match self.find_gang_victims(now, party, &units, &going) {
            Ok(candidate) => Way::Found(candidate),
            Err(Helpless::NoVictims) => Way::Hopeless(String::new()),
            Err(Helpless::Lacks(why)) => Way::Hopeless(why),
        }
    }

    /// The units that are less important than this, but for a group or all groups of a tree.
    fn units_besides(&self, root: &Root, importance: i32, now: Timestamp) -> Vec<Unit> {
        if self.facts.nodes.priority_min().is_none_or(|lowest| lowest >= importance) {
            return Vec::new();
        }
        let pods = self.facts.nodes.iter().flat_map(|(_, state)| state.pods.values());
        let own = self.facts.groups.leaves_of(root);
        let others = pods.filter(|pod| self.facts.groups.gang_of(pod).is_none_or(|id| !own.contains(&id)));
        self.units_below(others.cloned(), importance, now)
    }

    /// Who goes already, and whose devices are not back.
    fn going_for(&self, root: &Root, units: Vec<Unit>) -> Going {
        let Some(plan) = self.gangs.plans.get(root) else { return Going { units, ..Going::default() } };
        let is_gone = |uid: &&Arc<str>| !self.facts.nodes.has_pod(uid);
        let gone: Vec<Arc<str>> = plan.victims.iter().filter(is_gone).cloned().collect();
        let is_releasing = |(claim, uid): &&(ClaimId, Arc<str>)| {
            let state = self.facts.claims.get(claim);
            state.is_some_and(|state| {
                state.uid == *uid
                    && state.allocation.is_some()
                    && state.reserved_for.iter().all(|user| gone.contains(user))
                    && !self.is_kept_waiting(state)
            })
        };
        let claims = plan.freeing.iter().filter(is_releasing).map(|(claim, _)| claim.clone()).collect();
        Going { units, gone, claims }
    }

    fn displace_for_gang(
        &mut self,
        now: Timestamp,
        party: Party<'_>,
        member: &Arc<Pod>,
        candidate: &GangCandidate,
    ) {
        let nodes: BTreeSet<&Arc<str>> = candidate.seated.iter().map(|(_, choice)| &choice.node).collect();
        for node in nodes {
            self.withdraw_less_important(now, member, node);
        }
        let place = match &*candidate.domain {
            "" => EVERYWHERE.into(),
            _ => candidate.domain.clone(),
        };
        let grouping = party.grouping();
        let by = Displacer { pod: member, group: Some(&grouping), place: &place };
        for victim in pods_of(&candidate.victims) {
            self.displace(now, victim, &by);
        }
    }

    /// Keeps the room that is being made free for the members that get it.
    fn keep_room(&mut self, now: Timestamp, root: &Root, candidate: GangCandidate, aside: &[Nomination]) {
        let plan = Plan { victims: candidate.gone, freeing: candidate.freeing };
        self.gangs.plans.insert(root.clone(), plan);
        let mut left: BTreeMap<&Arc<str>, &Nomination> =
            aside.iter().map(|one| (&one.pod.uid, one)).collect();
        for (pod, choice) in &candidate.seated {
            let known = left.remove(&pod.uid).map(|known| &known.node);
            if known.or(pod.nominated_node.as_ref()) != Some(&choice.node) {
                let (id, uid, node) = (pod.id.clone(), pod.uid.clone(), Some(choice.node.clone()));
                self.submit_and_forget(Write::Nominate { pod: id, uid, node });
            }
            self.nominate(nomination(pod, choice));
        }
        let lost: Vec<Nomination> = left.into_values().cloned().collect();
        self.withdraw_all(now, lost);
    }

    /// Keeps no room for a gang any more.
    pub(super) fn give_up_room(&mut self, now: Timestamp, root: &Root, aside: Vec<Nomination>) {
        self.gangs.plans.remove(root);
        self.withdraw_all(now, aside);
    }

    fn withdraw_all(&mut self, now: Timestamp, aside: Vec<Nomination>) {
        if aside.is_empty() {
            return;
        }
        for Nomination { pod, .. } in aside {
            let (pod, uid) = (pod.id.clone(), pod.uid.clone());
            self.submit_and_forget(Write::Nominate { pod, uid, node: None });
        }
        self.wake_others(GOING, now);
    }

    /// A gang has seats: room is kept only for those of it that have none.
    pub(super) fn use_room(&mut self, now: Timestamp, root: &Root, aside: Vec<Nomination>, seated: &Seated) {
        self.gangs.plans.remove(root);
        let seats: BTreeMap<&Arc<str>, &Arc<str>> =
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
