//! The turn of a gang: seats for all members that wait, or why there are none.

use std::sync::Arc;

use cluster::groups::{Key, Root};
use decisions::certainty::Certainty;
use decisions::considering::{GangVerdict, SchedulingQuestion, SeatsVerdict};
use decisions::filters::FilterSet;
use decisions::gang::{GangRefusal, Miss, Seated, Tried, importance, sort};
use decisions::gang_reason::GangReason;
use decisions::in_the_way::InTheWay;
use decisions::not_bound::GangFell;
use decisions::preempt::Nomination;
use decisions::wake::{Wake, Wakes};
use model::group::{Group, GroupId};
use model::identity::PodUid;
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::engine::{Announcement, Engine};
use crate::life_cycles::flight::Flight;
use crate::queue::Failure;
use crate::write::WaitReason;

impl Engine {
    /// Where the members of a gang go, if they wait for that now.
    pub(in crate::engine) fn question_about_gang(
        &mut self,
        now: Timestamp,
        key: &Key,
        id: &GroupId,
    ) -> Option<SchedulingQuestion> {
        self.gangs.tried = Tried::default();
        let root = &Root::Group(id.clone());
        let waiting = self.facts.groups.waiting(id).into_iter().flat_map(|members| members.keys());
        let (on_the_way, here): (Vec<&PodUid>, Vec<&PodUid>) =
            waiting.partition(|uid| self.bindings.has(uid));
        // A member that is being taken back counts again in a moment.
        let is_coming_back = on_the_way.iter().any(|uid| self.is_coming_back(uid));
        let mut members: Vec<Arc<Pod>> =
            here.into_iter().filter_map(|uid| self.facts.waiting.get(uid).cloned()).collect();
        let Some(group) = self.facts.groups.get(id).cloned().filter(|_| !members.is_empty()) else {
            self.look_at_gang(now, id);
            return None;
        };
        self.resume_release(root);
        if is_coming_back || self.is_landing(root) {
            self.queue.put_back(key, Failure::Failed, now);
            return None;
        }
        if self.hold_back_without_claims(now, key, &members) {
            return None;
        }
        members = self.without_unanswered(key, root, members);
        sort(&mut members);
        if members.iter().any(|pod| self.facts.wants_devices(pod))
            && let Some(until) = self.bindings.rivals.stands_back(now, key)
        {
            self.queue.postpone(key, until);
            return None;
        }
        members.iter().for_each(|pod| self.watch_claims(pod));
        let is_nominated = members.iter().any(|pod| self.plans.nominations.get(&pod.uid).is_some());
        Some(SchedulingQuestion::Gang { group, members, is_nominated })
    }

    /// Sends the members of a gang on their way that have seats, or says why they have none.
    pub(in crate::engine) fn act_on_gang(
        &mut self,
        now: Timestamp,
        (key, group): (&Key, &Arc<Group>),
        members: &[Arc<Pod>],
        verdict: GangVerdict,
        aside: Vec<Nomination>,
    ) {
        let (id, root) = (&group.id, &Root::Group(group.id.clone()));
        self.gangs.tried = verdict.tried;
        match verdict.seats {
            SeatsVerdict::Replicas(replicas) => self.take_off_together(now, replicas),
            SeatsVerdict::NoTree => unreachable!("a gang is no tree"),
            SeatsVerdict::Unfit(refusal) => {
                self.ask_for_all(&refusal.in_the_way);
                self.give_up_gang(now, key, members);
                self.give_up_room(now, root, aside);
                self.tell_refused(now, group, &members[0], &refusal);
                self.refuse_gang(now, key, members, &refusal);
                self.close_seats(now, id, GangFell::NoOtherDevices);
                self.release_cut_short(root);
            }
            SeatsVerdict::Seats { in_the_way, seated, lifted } => {
                self.ask_for_all(&in_the_way);
                let Some((seated, aside)) = self.those_that_set_off(now, (key, root), seated, aside) else {
                    return;
                };
                seated.iter().for_each(|(_, choice)| self.wake_dispossessed(now, &lifted, choice));
                self.use_room(now, root, aside, &seated);
                self.tell_seated(group, &members[0], seated.len());
                self.take_off(now, key, group, seated);
                self.seat_siblings(now, group, members[0].priority);
            }
            SeatsVerdict::NoSeats(none) => {
                if self.seek_way(now, (key, root), members, aside, *none).is_none() {
                    self.close_seats(now, id, GangFell::NoOtherDevices);
                    self.release_cut_short(root);
                }
            }
        }
    }

    /// Claims of members that have devices of no use to any pod give them back.
    pub(super) fn ask_for_all(&mut self, in_the_way: &[(InTheWay, PodUid)]) {
        in_the_way.iter().for_each(|(one, user)| self.ask_for(one.clone(), Some(user.into())));
    }

    /// Sends replicas on their way, each by itself.
    fn take_off_together(&mut self, now: Timestamp, replicas: Vec<(GroupId, Seated)>) {
        for (id, seated) in replicas {
            if let (Some(group), Some((pod, _))) = (self.facts.groups.get(&id).cloned(), seated.first()) {
                self.tell_seated(&group, &pod.clone(), seated.len());
                // What was looked at was looked at for all of them, and is told once.
                self.gangs.tried = Tried::default();
                self.take_off(now, &Key::Gang(id), &group, seated);
            }
        }
    }

    /// Sends members on their way together.
    pub(super) fn take_off(&mut self, now: Timestamp, key: &Key, group: &Group, seated: Seated) {
        let already = self.facts.groups.seated(&group.id).count();
        let at_least = (group.at_least as usize).saturating_sub(already);
        let members = seated.iter().map(|(pod, _)| pod.uid.clone()).collect();
        let youngest = seated.iter().filter_map(|(pod, _)| pod.created).max();
        let flight = Flight::new(members, at_least, youngest).after(self.queue.tries(key));
        self.gangs.flights.begin(&Root::Group(group.id.clone()), flight);
        for (pod, choice) in seated {
            self.place(now, &pod, choice);
        }
        self.check_flight(&Root::Group(group.id.clone()));
        let left = self.facts.groups.waiting(&group.id).into_iter().flat_map(|members| members.keys());
        let left: Vec<Arc<Pod>> = left
            .filter(|uid| !self.bindings.has(uid))
            .filter_map(|uid| self.facts.waiting.get(uid).cloned())
            .collect();
        self.leave_rest(now, key, group, &left);
    }

    /// Puts members back for which there was no room beside the others.
    pub(super) fn leave_rest(&mut self, now: Timestamp, key: &Key, group: &Group, left: &[Arc<Pod>]) {
        if left.is_empty() {
            self.queue.remove(key);
            return;
        }
        let terms = self.facts.groups.terms(&group.id);
        let has_wishes = terms.is_some_and(|terms| terms.levels.iter().any(|term| term.rank.is_some()));
        if has_wishes || matches!(key, Key::Tree(_)) || left.iter().any(|pod| self.awaits_drivers(pod)) {
            // They may be placed where a wish is not granted, now that the others have their seats. In a tree that does not fit as a
            // whole, seats were looked for only for those who have to have some, and for more where that was quick. Drivers that did
            // not answer in time may give devices yet.
            return self.queue.put_back(key, Failure::Failed, now);
        }
        let (wakes_on, filters) = (self.cycle().helps(group, left, None), FilterSet::default());
        let refusal = GangRefusal::new(Miss::proved(GangReason::RestIsSeated), wakes_on, filters);
        self.refuse_gang(now, key, left, &refusal);
        let may_displace =
            self.facts.nodes.priority_min().is_some_and(|lowest| lowest < importance(group, left));
        let has_devices =
            |pod: &Arc<Pod>| pod.claim_ids().any(|id| self.facts.claims.allocation(&id).is_some());
        if may_displace || self.has_shunned_together(&group.id) || left.iter().any(has_devices) {
            // It is their turn again: by themselves they may displace others, have what failed for one of them, or give back devices that
            // keep them off nodes.
            self.queue.wake_one(key, Wakes::of(&Wake::ALL), now);
        }
    }

    /// Whether devices failed for one of a gang before, which no member gets while enough of them can do without.
    fn has_shunned_together(&self, id: &GroupId) -> bool {
        let mut waiting = self.facts.groups.waiting(id).into_iter().flatten();
        waiting.any(|(uid, _)| self.plans.has_shunned(uid))
    }

    /// Puts a gang back that has no seats, and says why.
    pub(super) fn refuse_gang(
        &mut self,
        now: Timestamp,
        key: &Key,
        members: &[Arc<Pod>],
        refusal: &GangRefusal,
    ) {
        let (message, filters) = (refusal.to_string(), &refusal.filters);
        let failure = match refusal.certainty {
            Certainty::Proved => Failure::Refused(refusal.wakes_on.clone()),
            Certainty::LimitReached => Failure::LimitReached(refusal.wakes_on.clone()),
        };
        self.queue.put_back(key, failure, now);
        // The figures, which change with each pod that comes or goes, are refreshed on the group, and on no member.
        let news = self.queue.news(key, members.iter().map(|pod| &pod.uid), refusal.meaning(), now);
        for pod in members {
            self.watch_users(pod);
            let is_news = news.to_tell.contains(&pod.uid);
            if news.is_written(&pod.uid) {
                self.note_pod(pod, WaitReason::Unschedulable, message.clone());
            }
            let (pod, message, filters) = (pod.clone(), message.clone(), *filters);
            let reasons = vec![refusal.miss.why.code()];
            self.outbox.announce(Announcement::FailedScheduling { pod, message, filters, reasons, is_news });
        }
    }
}
