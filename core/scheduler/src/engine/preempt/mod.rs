//! Preemption: a pod that fits nowhere makes room for itself by the going of less important pods.
//!
//! Invariant: no pod is evicted unless a trial has shown that the pod then fits on the node, with its devices. What was
//! decided is written, and the pod waits for it asleep: it wakes when a victim or a claim of one goes, or by the clock.

mod nominations;

use std::sync::Arc;

use cluster::groups::Key;
use decisions::certainty::Certainty;
use decisions::not_bound::NotBound;
use decisions::pod::PodRefusal;
use decisions::preempt::{Attempt, Candidate, Going, Nomination, planned};
use decisions::preemption::PodPreemption;
use decisions::wake::{Wake, Wakes};
use model::group::Grouping;
use model::identity::PodUid;
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::engine::turn::Refused;
use crate::engine::{Announcement, Engine};
use crate::news::{PreemptionNews, PreemptionOutcome};
use crate::outbox::Owner;
use crate::queue::{Entity, Failure};
use crate::write::{Preemptor, Write, WriteOutcome};

/// For what pods are preempted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Displacer<'d> {
    /// The pod, or one of the group.
    pub pod: &'d Arc<Pod>,
    /// The group, if it is one.
    pub group: Option<&'d Grouping>,
    /// The node or the domain where that is to be.
    pub place: &'d str,
}

/// What a pod waits for once others go for it.
const GOING: Wakes = Wakes::of(&[Wake::PodRemoved, Wake::Claim]);

impl Engine {
    /// A pod has no place: room is made for it if that helps, and it is put back with the reason.
    pub(crate) fn refused(
        &mut self,
        now: Timestamp,
        pod: &Arc<Pod>,
        refusal: &PodRefusal,
        attempt: Option<Attempt>,
    ) {
        if refusal.awaits_write() && pod.node.is_none() {
            // It is known in a moment, and nothing has gone wrong.
            return self.queue.wait(&Key::from(&**pod), refusal.wakes_on(), now);
        }
        if let Some(one) = refusal.in_the_way() {
            // No pod has to go if a claim that no pod uses gives its devices back.
            self.ask_for(one, Some((&pod.uid).into()));
            // A claim gives its devices back, and the pod waits for that.
            let failure = Failure::Refused(refusal.wakes_on());
            return self.refuse(now, pod, failure, told(refusal, None));
        }
        self.watch_users(pod);
        let Some(attempt) = attempt else {
            let failure = failure(refusal, refusal.wakes_on());
            return self.refuse(now, pod, failure, told(refusal, None));
        };
        let mut wakes = refusal.wakes_on();
        let preemption = attempt.told();
        let mut is_free_already = false;
        let mut is_room_made = false;
        if let Attempt::Found(candidate) = &attempt
            && let Some(openings) = self.unasked(pod, &candidate.node)
        {
            // No pod goes before it is known that drivers give the pod what it lacks besides.
            return self.negotiate(now, pod, &openings);
        }
        match &attempt {
            Attempt::Never => {}
            Attempt::NotEligible(_) | Attempt::Going(_) | Attempt::Hopeless(_) => {
                self.note_preemption(Entity::Pod, PreemptionOutcome::None);
            }
            Attempt::Found(Candidate { victims, units, violations, .. }) => {
                let (pods, units, violations) = (victims.len(), *units, *violations);
                self.note_preemption(Entity::Pod, PreemptionOutcome::Found { pods, units, violations });
            }
        }
        match attempt {
            Attempt::Never => {
                let freed = self.withdraw(pod);
                self.wake_others(freed, now);
            }
            Attempt::NotEligible(_) | Attempt::Going(_) => {
                if let Attempt::Going(Going { planned: Some(candidate), .. }) = &attempt {
                    self.nominate_for(pod, candidate);
                }
                if self.plans.nominations.get(&pod.uid).is_some() {
                    wakes = wakes.or(GOING);
                    is_room_made = true;
                }
            }
            Attempt::Hopeless(why) => {
                wakes.extend(&why.wakes_on);
                let freed = self.withdraw(pod);
                self.wake_others(freed, now);
            }
            Attempt::Found(candidate) => {
                wakes = wakes.or(GOING);
                is_room_made = true;
                let victims = self.make_room(now, pod, candidate);
                // Those that were called back at once are gone before the pod falls asleep.
                is_free_already = victims.iter().all(|victim| self.facts.nodes.pod(&victim.uid).is_none());
            }
        }
        if !is_room_made && refusal.is_up_to_others() {
            // While it waits for them, drivers could give to others what it has of theirs; and that may be all that keeps it off a
            // node where other pods can be preempted.
            self.give_back_all(std::slice::from_ref(pod));
        }
        // If room is being made, it is known what the pod waits for.
        let failure = if is_room_made { Failure::Refused(wakes) } else { failure(refusal, wakes) };
        self.refuse(now, pod, failure, told(refusal, preemption.as_ref()));
        if is_free_already {
            self.wake_nominee(&pod.uid, now);
        }
    }

    /// Counts that it was looked for pods to preempt.
    pub(crate) fn note_preemption(&mut self, by: Entity, outcome: PreemptionOutcome) {
        *self.outbox.preemptions.entry(PreemptionNews { by, outcome }).or_default() += 1;
    }

    /// Evicts the victims, and keeps the room that they leave for the pod.
    fn make_room(&mut self, now: Timestamp, pod: &Arc<Pod>, candidate: Candidate) -> Vec<Arc<Pod>> {
        self.withdraw_less_important(now, pod, &candidate.node);
        for victim in &candidate.victims {
            self.displace(now, victim, &Displacer { pod, group: None, place: &candidate.node });
        }
        self.nominate_for(pod, &candidate);
        let (id, uid, node) = (pod.id.clone(), pod.uid.clone(), Some(candidate.node));
        self.outbox.submit(Write::Nominate { pod: id, uid, node });
        candidate.victims
    }

    /// Lets a pod go: it is called back if it is still on its way, and evicted otherwise.
    pub(crate) fn displace(&mut self, now: Timestamp, victim: &Arc<Pod>, by: &Displacer<'_>) {
        // With one of a gang that was on its way, others may have come back already.
        let is_here = self.facts.nodes.has_pod(&victim.uid);
        if is_here && (victim.deleting || !self.plans.leaving.insert(victim.uid.clone())) {
            return;
        }
        if is_here && !self.call_back(now, &victim.uid, NotBound::Preempted) {
            self.evict(by, victim);
        }
        self.outbox.announce(Announcement::Preempted {
            pod: victim.clone(),
            by: by.pod.clone(),
            group: by.group.cloned(),
            node: by.place.into(),
        });
    }

    fn evict(&mut self, by: &Displacer<'_>, victim: &Pod) {
        let preemptor = if by.group.is_some() { Preemptor::Group } else { Preemptor::Pod };
        self.send_away(victim, by.pod, preemptor);
    }

    fn send_away(&mut self, victim: &Pod, for_whom: &Pod, by: Preemptor) {
        let (id, uid, scheduler) = (victim.id.clone(), victim.uid.clone(), for_whom.scheduler.clone());
        let owner = Owner::Eviction { victim: victim.uid.clone(), preemptor: for_whom.uid.clone() };
        self.outbox.submit_for(owner, Write::Evict { pod: id, uid, scheduler, by });
    }

    /// Lets a pod go that is bound, for the sake of its own gang, and says whether it was not going already.
    pub(crate) fn let_go(&mut self, pod: &Pod) -> bool {
        let is_staying = !pod.deleting && self.plans.leaving.insert(pod.uid.clone());
        if is_staying {
            self.send_away(pod, pod, Preemptor::OwnGang);
        }
        is_staying
    }

    fn nominate_for(&mut self, pod: &Arc<Pod>, candidate: &Candidate) {
        let planned = planned(pod, &candidate.allocations);
        let victims = candidate.victims.iter().map(|victim| victim.uid.clone()).collect();
        let (node, freeing) = (candidate.node.clone(), candidate.freeing.clone());
        self.nominate(Nomination { node, pod: pod.clone(), planned, victims, freeing });
    }

    /// Less important nominees of a node look for another place at once.
    pub(crate) fn withdraw_less_important(&mut self, now: Timestamp, pod: &Pod, node: &str) {
        let lower = self.plans.nominations.on(node).map(|one| one.pod.clone());
        let lower: Vec<Arc<Pod>> = lower.filter(|one| one.priority < pod.priority).collect();
        for nominee in lower {
            let freed = self.withdraw(&nominee);
            self.wake_others(freed, now);
            self.wake_nominee(&nominee.uid, now);
        }
    }

    /// The API's answer to an eviction.
    pub(crate) fn settle_eviction(
        &mut self,
        now: Timestamp,
        victim: &PodUid,
        preemptor: &PodUid,
        outcome: &WriteOutcome,
    ) {
        if let WriteOutcome::Failed(_) = outcome {
            self.plans.leaving.remove(victim);
            self.gangs.released.remove(victim);
            // Nothing will happen that wakes it, and at once it would be the same again.
            self.wake_nominee_later(preemptor, now);
            self.expect_no_more(now, victim);
        }
    }
}

/// What came of looking for a place in vain.
fn failure(refusal: &PodRefusal, wakes_on: Wakes) -> Failure {
    match refusal.certainty() {
        Certainty::Proved => Failure::Refused(wakes_on),
        Certainty::LimitReached => Failure::LimitReached(wakes_on),
    }
}

/// Why a pod has no place, and what came of preemption.
fn told(refusal: &PodRefusal, preemption: Option<&PodPreemption>) -> Refused {
    let message = refusal.with_preemption(preemption);
    Refused {
        meaning: refusal.meaning(preemption),
        message,
        filters: refusal.filters(),
        reasons: refusal.codes(),
    }
}
