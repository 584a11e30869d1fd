//! What the members of a gang look for, and the seats that they are given.

use std::collections::VecDeque;
use std::sync::Arc;

use cluster::claims::ClaimState;
use model::allocation::Allocation;
use model::group::Group;
use model::node::Node;
use model::pod::Pod;
use placement::{Domain, Gang, Placement};

use super::cast::{Cast, Member, Unit};
use super::claims::ClaimUsers;
use super::domains::Domains;
use super::ground::Devices;
use crate::certainty::Certainty;
use crate::cycle::Cycle;
use crate::filters::FilterSet;
use crate::gang::Miss;
use crate::in_the_way::InTheWay;
use crate::negotiation::Openings;
use crate::pod::{Choice, Wanted, choice};
use crate::profile::Profile;
use crate::wake::Wakes;
use crate::{filters, work};

/// How many steps the search for seats of one gang may take.
pub const STEPS_MAX: u64 = 2_000_000;

/// Members with their seats, and the place where they are.
pub type Seated = Vec<(Arc<Pod>, Choice)>;

/// What a gang looks for.
#[derive(Debug)]
pub struct Sought {
    /// Its group.
    pub group: Arc<Group>,
    pub(super) cast: Cast,
    pub(super) gang: Gang,
    /// How many members have to be seated at once; the search may count those that share claims as one.
    pub at_least: u32,
    /// Where it may be.
    pub domains: Vec<Domain>,
    /// Levels at which no node is in any domain.
    pub empty_levels: Vec<Arc<str>>,
    /// What members ask of nodes, as the profile that they name says.
    pub profile: Arc<Profile>,
    /// Claims of members that have devices of no use to anybody, and for which pod they give them back.
    pub in_the_way: Vec<(InTheWay, Arc<str>)>,
}

/// Why a gang has no seats.
#[derive(Debug)]
pub struct GangRefusal {
    /// In words.
    pub message: String,
    /// What could undo it.
    pub wakes_on: Wakes,
    /// The filters that say so.
    pub filters: FilterSet,
    /// Whether there certainly is no place.
    pub certainty: Certainty,
    /// Claims of members that have devices of no use to anybody, and for which pod they give them back.
    pub in_the_way: Vec<(InTheWay, Arc<str>)>,
}

impl GangRefusal {
    /// Room is being made. It is known now what the gang waits for, so it is tried as soon as that happens.
    pub fn waits_for(&mut self, wakes: Wakes) {
        self.wakes_on = self.wakes_on.or(wakes);
        self.certainty = Certainty::Proved;
    }
}

/// Members in the order in which they are seated.
pub fn sort(members: &mut [Arc<Pod>]) {
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

impl Cycle<'_> {
    /// Seats for as many members as have to be seated at once, at least, in given domains.
    pub(super) fn seat_gang_in(
        &mut self,
        group: &Arc<Group>,
        pods: &[Arc<Pod>],
        within: &[Domain],
        steps_max: u64,
    ) -> Result<Seated, Miss> {
        let nodes: usize = within.iter().map(|domain| domain.nodes.len()).sum();
        self.caches.work.spend(nodes as u64 * work::NODE + pods.len() as u64 * work::MEMBER);
        let sought = self.seek(group, pods, Some(within)).map_err(|refusal| Miss::proved(refusal.message))?;
        self.find_seats(&sought, within, sought.gang.at_least, steps_max).map(|(_, seated)| seated)
    }

    /// What the members of a gang look for, in given domains or in its own, unless too few of them can be placed anywhere.
    pub fn seek(
        &mut self,
        group: &Arc<Group>,
        pods: &[Arc<Pod>],
        within: Option<&[Domain]>,
    ) -> Result<Sought, GangRefusal> {
        let profile = self.settings.profile_of(&pods[0]);
        let mut members = Vec::new();
        let mut unfit = None;
        let mut users = ClaimUsers::default();
        let mut in_the_way = Vec::new();
        for pod in pods {
            match self.claims_beside(&mut users, pod, &profile) {
                Ok(claims) => members.push(Member::new(pod.clone(), claims)),
                Err(refusal) => {
                    // Its claim has devices that are of no use to anybody.
                    in_the_way.extend(refusal.in_the_way().map(|one| (one, pod.uid.clone())));
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
            return Err(GangRefusal { message, wakes_on, filters, certainty, in_the_way });
        }
        let cast = Cast::new(self, members, &profile).counted(self);
        let gang = cast.gang(at_least);
        let Domains { all: domains, empty_levels } = match within {
            None => self.domains_of(group, &cast, &profile),
            Some(within) => Domains { all: within.to_vec(), empty_levels: Vec::new() },
        };
        self.tried.generated += domains.len() as u64;
        Ok(Sought { group: group.clone(), cast, gang, at_least, domains, empty_levels, profile, in_the_way })
    }

    /// Gives the seats of a placement to members.
    pub(super) fn hand_out(&mut self, cast: &Cast, placement: &Placement) -> Result<Seated, String> {
        let mut left: Vec<VecDeque<&Unit>> = cast.kinds.iter().map(|kind| kind.iter().collect()).collect();
        let mut seated = Vec::new();
        let kept = self.caches.work.begin_hand_out();
        for seats in &placement.seats {
            let members: Vec<&Member> = seats
                .load
                .present()
                .flat_map(|(kind, count)| left[kind].drain(..count as usize).collect::<Vec<_>>())
                .flat_map(|unit| &unit.members)
                .collect();
            let Devices::Found(found, _) = self.devices_for(seats.node, &members) else {
                self.caches.work.end_hand_out(kept);
                return Err("devices that were found for members are none for others like them".to_owned());
            };
            let node = filters::node_of(self.facts.nodes.get(seats.node));
            for (member, allocations) in members.into_iter().zip(found) {
                seated.push((member.pod.clone(), seat(member, node, allocations)));
            }
        }
        self.caches.work.end_hand_out(kept);
        Ok(seated)
    }
}
