//! The turn of a gang: seats for all members that wait, or why there are none.

use cluster::groups::{Key, Root};
use std::collections::VecDeque;
use std::sync::Arc;

use cluster::claims::ClaimState;
use model::allocation::Allocation;
use model::group::{Group, GroupId};
use model::node::Node;
use model::pod::Pod;
use model::timestamp::Timestamp;
use placement::{Domain, Gang, Placement};

use super::attempt::Miss;
use super::cast::{Cast, Member, Unit};
use super::claims::ClaimUsers;
use super::domains::Domains;
use super::flight::Flight;
use super::ground::Devices;
use super::news::Tried;
use super::party::{Party, importance};
use crate::certainty::Certainty;
use crate::cycle::{Choice, Wanted, choice};
use crate::engine::{Announcement, Engine};
use crate::filters::{self, Filter, FilterSet};
use crate::negotiation::Openings;
use crate::profile::Profile;
use crate::queue::Failure;
use crate::wake::{Wake, Wakes};
use crate::work;
use crate::write::{WaitReason, Write};

/// How many steps the search for seats of one gang may take.
pub(super) const STEPS_MAX: u64 = 2_000_000;

/// Why members come back that wait for the seat of another.
const NO_OTHERS: &str = "devices of another member of the pod group failed, and there are no others for it";

/// Members with their seats, and the place where they are.
pub(super) type Seated = Vec<(Arc<Pod>, Choice)>;

/// What a gang looks for.
#[derive(Debug)]
pub(super) struct Sought {
    pub group: Arc<Group>,
    pub cast: Cast,
    pub gang: Gang,
    /// How many members have to be seated at once; the search may count those that share claims as one.
    pub at_least: u32,
    pub domains: Vec<Domain>,
    /// Levels at which no node is in any domain.
    pub empty_levels: Vec<Arc<str>>,
    pub profile: Arc<Profile>,
}

/// Why a gang has no seats.
#[derive(Debug)]
pub(super) struct GangRefusal {
    pub message: String,
    pub wakes_on: Wakes,
    pub filters: FilterSet,
    pub certainty: Certainty,
}

impl GangRefusal {
    /// Room is being made. It is known now what the gang waits for, so it is tried as soon as that happens.
    pub fn waits_for(&mut self, wakes: Wakes) {
        self.wakes_on = self.wakes_on.or(wakes);
        self.certainty = Certainty::Proved;
    }
}

/// Members in the order in which they are seated.
pub(super) fn sort(members: &mut [Arc<Pod>]) {
    members.sort_by(|one, other| {
        let rank = |pod: &Arc<Pod>| (-i64::from(pod.priority), pod.created, pod.id.name.clone());
        rank(one).cmp(&rank(other))
    });
}

/// The seat of a member, with the claims that get their devices with other members.
pub(super) fn seat(member: &Member, node: &Node, allocations: Vec<Allocation>) -> Choice {
    let mut choice = choice(&member.pod, node, &member.claims, allocations);
    let reservation = |state: &Arc<ClaimState>| Wanted::Reservation {
        claim: state.wish.id.clone(),
        uid: state.uid.clone(),
    };
    choice.claims.extend(member.follows.iter().map(reservation));
    choice.negotiation = Openings::at(&member.claims, node);
    choice
}

impl Engine {
    /// Looks for seats for the members of a gang, and sends those on their way that have one.
    pub(crate) fn turn_gang(&mut self, now: Timestamp, id: &GroupId) {
        self.gangs.tried = Tried::default();
        let (key, root) = (&Key::Gang(id.clone()), &Root::Group(id.clone()));
        let waiting = self.facts.groups.waiting(id).into_iter().flat_map(|members| members.keys());
        let (on_the_way, here): (Vec<&Arc<str>>, Vec<&Arc<str>>) =
            waiting.partition(|uid| self.placing.contains_key(*uid));
        // Who is being taken back counts again in a moment.
        let is_coming_back = on_the_way.iter().any(|uid| self.is_coming_back(uid));
        let mut members: Vec<Arc<Pod>> =
            here.into_iter().filter_map(|uid| self.facts.waiting.get(uid).cloned()).collect();
        let Some(group) = self.facts.groups.get(id).cloned().filter(|_| !members.is_empty()) else {
            return self.look_at_gang(now, id);
        };
        self.resume_release(root);
        if is_coming_back || self.is_landing(root) {
            return self.queue.put_back(key, Failure::Failed, now);
        }
        sort(&mut members);
        if members.iter().any(|pod| self.facts.wants_devices(pod))
            && let Some(until) = self.rivals.stands_back(now, key)
        {
            return self.queue.postpone(key, until);
        }
        members.iter().for_each(|pod| self.watch_claims(pod));
        members.iter().for_each(|pod| self.learn_scopes(pod));
        let replicas = self.seat_replicas(&group, &members);
        if !replicas.is_empty() {
            return self.take_off_together(now, replicas);
        }
        let aside = self.put_nominations_aside(&members);
        let lifted = self.lift_plans_below(importance(&group, &members), None);
        match self.seek(&group, &members, None) {
            Err(refusal) => {
                self.give_up_gang(now, key, &members);
                self.give_up_room(now, root, aside);
                self.tell_refused(&group, &members[0], &refusal.message);
                self.refuse_gang(now, key, &members, &refusal);
                self.close_seats(now, id, NO_OTHERS);
                self.release_cut_short(root);
            }
            Ok(sought) => match self.find_seats_anew(Party::Gang(&sought), &members, STEPS_MAX) {
                Ok((_, seated)) if self.negotiates_for_gang(now, key, &seated) => {
                    // The room stays theirs until drivers have answered.
                    aside.into_iter().for_each(|nomination| self.nominate(nomination));
                }
                Ok((_, seated)) => {
                    seated.iter().for_each(|(_, choice)| self.wake_dispossessed(now, &lifted, choice));
                    self.use_room(now, root, aside, &seated);
                    self.tell_seated(&group, &members[0], seated.len());
                    self.take_off(now, key, &group, seated);
                    self.seat_siblings(now, &group, members[0].priority);
                }
                Err(miss) => {
                    self.give_up_gang(now, key, &members);
                    let mut message = format!("pod group is unschedulable, {}", miss.told());
                    let mut filters = [Filter::Resources].into_iter().collect();
                    if let Some((alone, said)) = self.why_alone(&members) {
                        message = format!("{message}; {alone}");
                        filters = said;
                    }
                    let (wakes_on, certainty) = (self.helps(&group, &members), miss.certainty);
                    let refusal = GangRefusal { message, wakes_on, filters, certainty };
                    self.make_way(now, (key, Party::Gang(&sought)), &members, aside, refusal);
                    if !self.gangs.plans.contains_key(root) {
                        self.close_seats(now, id, NO_OTHERS);
                        self.release_cut_short(root);
                    }
                }
            },
        }
        self.take_plans(&lifted);
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
        let flight = Flight {
            members: seated.iter().map(|(pod, _)| pod.uid.clone()).collect(),
            ready: Default::default(),
            vacant: Default::default(),
            at_least: (group.at_least as usize).saturating_sub(already),
            is_cleared: false,
            attempts: self.queue.attempts(key),
            since: self.queue.began(key),
            youngest: seated.iter().filter_map(|(pod, _)| pod.created).max(),
        };
        self.begin_flight(&group.id, flight);
        for (pod, choice) in seated {
            self.place(now, &pod, choice);
        }
        let left = self.facts.groups.waiting(&group.id).into_iter().flat_map(|members| members.keys());
        let left: Vec<Arc<Pod>> = left
            .filter(|uid| !self.placing.contains_key(*uid))
            .filter_map(|uid| self.facts.waiting.get(uid).cloned())
            .collect();
        self.leave_rest(now, key, group, &left);
    }

    /// Puts members back for whom there was no room beside the others.
    pub(super) fn leave_rest(&mut self, now: Timestamp, key: &Key, group: &Group, left: &[Arc<Pod>]) {
        if left.is_empty() {
            self.queue.remove(key);
            return;
        }
        let terms = self.facts.groups.terms(&group.id);
        if terms.is_some_and(|terms| terms.levels.iter().any(|term| term.rank.is_some())) {
            // They may be placed where a wish is not granted, now that the others have their seats.
            return self.queue.put_back(key, Failure::Failed, now);
        }
        let message = "the rest of the pod group has its nodes, and there is no room for this one".to_owned();
        let (wakes_on, filters) = (self.helps(group, left), FilterSet::default());
        let refusal = GangRefusal { message, wakes_on, filters, certainty: Certainty::Proved };
        self.refuse_gang(now, key, left, &refusal);
        let may_displace =
            self.facts.nodes.priority_min().is_some_and(|lowest| lowest < importance(group, left));
        if may_displace || self.has_shunned_together(&group.id) {
            // It is their turn again: by themselves they may displace others, or have what failed for one of them.
            self.queue.wake_one(key, Wakes::of(&Wake::ALL), now);
        }
    }

    /// Whether devices failed for one of a gang or of its tree before, which nobody of it gets while enough of them can do without.
    fn has_shunned_together(&self, id: &GroupId) -> bool {
        let root = self.facts.groups.root_or_self(id);
        let leaves = self.facts.groups.leaves_of(&root);
        let mut waiting = leaves.iter().filter_map(|leaf| self.facts.groups.waiting(leaf)).flatten();
        waiting.any(|(uid, _)| self.has_shunned(uid))
    }

    /// Puts a gang back that has no seats, and says why.
    pub(super) fn refuse_gang(
        &mut self,
        now: Timestamp,
        key: &Key,
        members: &[Arc<Pod>],
        refusal: &GangRefusal,
    ) {
        let GangRefusal { message, filters, .. } = refusal;
        let failure = match refusal.certainty {
            Certainty::Proved => Failure::Refused(refusal.wakes_on),
            Certainty::LimitReached => Failure::LimitReached(refusal.wakes_on),
        };
        self.queue.put_back(key, failure, now);
        for pod in members {
            let (id, uid, reason) = (pod.id.clone(), pod.uid.clone(), WaitReason::Unschedulable);
            self.submit_and_forget(Write::Note { pod: id, uid, reason, message: message.clone() });
            let (pod, message, filters) = (pod.clone(), message.clone(), *filters);
            self.announce(Announcement::FailedScheduling { pod, message, filters });
        }
    }

    /// Seats for as many members as have to be seated at once, at least, in given domains.
    pub(super) fn seat_gang_in(
        &mut self,
        group: &Arc<Group>,
        pods: &[Arc<Pod>],
        within: &[Domain],
        steps_max: u64,
    ) -> Result<Seated, Miss> {
        let nodes: usize = within.iter().map(|domain| domain.nodes.len()).sum();
        self.work.spend(nodes as u64 * work::NODE + pods.len() as u64 * work::MEMBER);
        let sought = self.seek(group, pods, Some(within)).map_err(|refusal| Miss::proved(refusal.message))?;
        self.find_seats(&sought, within, sought.gang.at_least, steps_max).map(|(_, seated)| seated)
    }

    /// What the members of a gang look for, in given domains or in its own, unless too few of them can be placed anywhere.
    pub(super) fn seek(
        &mut self,
        group: &Arc<Group>,
        pods: &[Arc<Pod>],
        within: Option<&[Domain]>,
    ) -> Result<Sought, GangRefusal> {
        let profile = self.settings.profile_of(&pods[0]);
        let mut members = Vec::new();
        let mut unfit = None;
        let mut users = ClaimUsers::default();
        for pod in pods {
            match self.claims_beside(&mut users, pod, &profile) {
                Ok(claims) => members.push(Member::new(pod.clone(), claims)),
                Err(refusal) => {
                    // Its claim has devices that are of no use to anybody.
                    if let Some(one) = refusal.in_the_way() {
                        self.ask_for(one, &pod.uid);
                    }
                    unfit = unfit.or_else(|| Some((pod.clone(), refusal)));
                }
            }
        }
        let seated = self.facts.groups.seated(&group.id).count() as u32;
        let at_least = group.at_least.saturating_sub(seated).max(1);
        if (members.len() as u32) < at_least {
            let (why, filters) = match unfit {
                Some((pod, refusal)) => (format!("pod {}: {refusal}", pod.id.name), refusal.filters()),
                None => {
                    (format!("{} members wait, and {at_least} are needed", pods.len()), FilterSet::default())
                }
            };
            let message = format!("pod group is unschedulable, {why}");
            let (wakes_on, certainty) = (self.helps(group, pods), Certainty::Proved);
            return Err(GangRefusal { message, wakes_on, filters, certainty });
        }
        let cast = Cast::new(self, members, &profile).counted(self);
        let gang = cast.gang(at_least);
        let Domains { all: domains, empty_levels } = match within {
            None => self.domains_of(group, &cast, &profile),
            Some(within) => Domains { all: within.to_vec(), empty_levels: Vec::new() },
        };
        self.gangs.tried.generated += domains.len() as u64;
        Ok(Sought { group: group.clone(), cast, gang, at_least, domains, empty_levels, profile })
    }

    /// Gives the seats of a placement to members.
    pub(super) fn hand_out(&mut self, cast: &Cast, placement: &Placement) -> Result<Seated, String> {
        let mut left: Vec<VecDeque<&Unit>> = cast.kinds.iter().map(|kind| kind.iter().collect()).collect();
        let mut seated = Vec::new();
        let kept = self.work.begin_hand_out();
        for seats in &placement.seats {
            let members: Vec<&Member> = seats
                .load
                .present()
                .flat_map(|(kind, count)| left[kind].drain(..count as usize).collect::<Vec<_>>())
                .flat_map(|unit| &unit.members)
                .collect();
            let Devices::Found(found, _) = self.devices_for(seats.node, &members) else {
                self.work.end_hand_out(kept);
                return Err("devices that were found for members are none for others like them".to_owned());
            };
            let node = filters::node_of(self.facts.nodes.get(seats.node));
            for (member, allocations) in members.into_iter().zip(found) {
                seated.push((member.pod.clone(), seat(member, node, allocations)));
            }
        }
        self.work.end_hand_out(kept);
        Ok(seated)
    }
}
