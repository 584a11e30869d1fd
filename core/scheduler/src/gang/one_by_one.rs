//! Seats for members that are in each other's way across nodes: by rules about pods nearby, by volumes, by devices that
//! several nodes reach, by claims that have devices already.
//!
//! Members are seated one after the other as single pods are, each as if the others were there, domain after domain. That may
//! miss seats that there are, so a failure is not called a proof.
//!
//! Invariant: what is assumed of members is taken back before the answer is given.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::claims::Held;
use cluster::nodes::NodeIdx;
use model::claim::ClaimId;
use model::device::DeviceId;
use model::node::NodeSelector;
use model::pod::Pod;
use placement::{Domain, Gang};

use super::attempt::Miss;
use super::cast::{Cast, Member};
use super::turn::{Seated, seat};
use crate::cycle::{Choice, Wanted};
use crate::engine::{Engine, held};
use crate::filters::{self, Around, Mounts};
use crate::profile::Profile;

/// A member that has a seat for the moment.
pub(super) struct Assumed {
    uid: Arc<str>,
    held: Vec<Held>,
}

/// How many choices of devices are tried for a claim that members share, in each domain.
const LEADERS_MAX: usize = 64;

/// Choices of devices with which too few members had seats.
type Avoided = BTreeSet<Vec<DeviceId>>;

/// The devices that a member gets.
fn devices_of(choice: &Choice) -> Vec<DeviceId> {
    let allocations = choice.claims.iter().filter_map(|wanted| match wanted {
        Wanted::Allocation { allocation, .. } => Some(allocation),
        _ => None,
    });
    allocations.flat_map(|allocation| &allocation.grants).map(|grant| grant.device.clone()).collect()
}

/// Where claims can be used that got their devices with members before.
type Shared = BTreeMap<ClaimId, Option<NodeSelector>>;

/// A claim that gets its devices by this, and where they can be used.
fn brought(wanted: &Wanted) -> Option<(ClaimId, Option<NodeSelector>)> {
    let Wanted::Allocation { state, allocation } = wanted else { return None };
    Some((state.wish.id.clone(), allocation.nodes.clone()))
}

impl Engine {
    /// Seats the members one by one, in the first domain in which enough of them have one.
    pub(super) fn seat_one_by_one<'d>(
        &mut self,
        gang: &Gang,
        cast: &Cast,
        domains: &'d [Domain],
        profile: &Profile,
    ) -> Result<(&'d Domain, Seated), Miss> {
        let mut nearest: Option<(usize, &Domain)> = None;
        let pods: Vec<&Arc<Pod>> = cast.members().map(|member| &member.pod).collect();
        for domain in self.in_turn(&pods, domains) {
            match self.seat_in_domain(gang, cast, domain, profile) {
                Ok(seated) => return Ok((domain, seated)),
                Err(count) if nearest.is_none_or(|(most, _)| most < count) => {
                    nearest = Some((count, domain));
                }
                Err(_) => {}
            }
        }
        let wanted = gang.at_least;
        let message = match nearest {
            None => format!("there is no domain for {wanted} members"),
            Some((count, domain)) if domain.name.is_empty() => {
                format!("no seats were found for {wanted} members at once, but for {count}")
            }
            Some((count, domain)) => {
                format!(
                    "no seats were found for {wanted} members at once; {} comes closest with {count}",
                    domain.name
                )
            }
        };
        Err(Miss { room_for: nearest.map_or(0, |(count, _)| count as u32), message })
    }

    /// Seats the members in a domain, or says for how many there were seats. Where the devices of a claim are that members
    /// share decides where all of them can be: if too few can, other devices are tried for the first such claim.
    fn seat_in_domain(
        &mut self,
        gang: &Gang,
        cast: &Cast,
        domain: &Domain,
        profile: &Profile,
    ) -> Result<Seated, usize> {
        let followed: BTreeSet<&ClaimId> =
            cast.members().flat_map(|member| &member.follows).map(|state| &state.wish.id).collect();
        let leads =
            |member: &Member| member.claims.open.iter().any(|state| followed.contains(&state.wish.id));
        // Who can be in few places only comes first, unless it follows another.
        let is_free = |member: &&Member| member.claims.settled.is_empty() || !member.follows.is_empty();
        let mut members: Vec<&Member> = cast.members().collect();
        members.sort_by_key(is_free);
        let leader = cast.members().find(|member| leads(member)).map(|member| member.pod.uid.clone());
        let mut avoid: Avoided = BTreeSet::new();
        let mut most = 0;
        loop {
            let mut seated: Seated = Vec::new();
            let mut assumed = Vec::new();
            let mut shared: Shared = BTreeMap::new();
            let mut led: Option<Vec<DeviceId>> = None;
            for member in &members {
                let is_leader = leader.as_ref() == Some(&member.pod.uid);
                let avoided = is_leader.then_some(&avoid);
                let Some(choice) = self.seat_within(member, domain, &shared, avoided, profile) else {
                    continue;
                };
                if is_leader {
                    led = Some(devices_of(&choice));
                }
                assumed.push(self.assume_choice(&member.pod, &choice));
                shared.extend(choice.claims.iter().filter_map(brought));
                seated.push((member.pod.clone(), choice));
            }
            assumed.iter().rev().for_each(|one| self.revert_seat(one));
            let is_enough = seated.len() >= gang.at_least as usize;
            self.gangs.tried.count(is_enough);
            if is_enough {
                return Ok(seated);
            }
            most = most.max(seated.len());
            match led {
                Some(devices) if avoid.len() < LEADERS_MAX => avoid.insert(devices),
                _ => return Err(most),
            };
        }
    }

    /// The best node of a domain for a member, with what is assumed of others.
    fn seat_within(
        &mut self,
        member: &Member,
        domain: &Domain,
        shared: &Shared,
        avoid: Option<&Avoided>,
        profile: &Profile,
    ) -> Option<Choice> {
        let Member { pod, claims, follows } = member;
        let reached: Vec<&Option<NodeSelector>> =
            follows.iter().map(|state| shared.get(&state.wish.id)).collect::<Option<_>>()?;
        let settings = &profile.filters;
        let companions = self.companions_of(&pod.shape, profile);
        let companions = companions.as_ref();
        filters::anywhere(&pod.shape, settings).ok()?;
        let mounts = Mounts::new(&pod.shape, &self.volumes, settings).ok()?;
        let around = Around::new(&pod.shape, &self.nodes, &self.namespaces, settings, companions);
        let around = around.with_volumes(&self.nodes, &self.volumes, settings);
        let will_do = |at: &NodeIdx| {
            let state = self.nodes.get(*at);
            let node = filters::node_of(state);
            let is_reached = |nodes: &&Option<NodeSelector>| {
                nodes.as_ref().is_none_or(|nodes| nodes.picks(node).unwrap_or(false))
            };
            reached.iter().all(is_reached)
                && filters::fixed(&pod.shape, node, settings)
                    .and_then(|()| filters::usage(&pod.shape, state, settings))
                    .and_then(|()| mounts.check(node))
                    .and_then(|()| around.check(state))
                    .and_then(|()| {
                        let who = (&*pod.uid, pod.priority);
                        self.check_beside_nominees(&pod.shape, who, state, Some(&around), settings)
                    })
                    .is_ok()
        };
        let candidates = domain.nodes.iter().copied().filter(will_do).collect();
        let mut ranked = self.ranked(pod, candidates, &[], companions, profile);
        if !claims.pending.is_empty()
            && let Some(selected) = self.selected_for(pod)
        {
            // A node that was chosen stays so while it will do.
            ranked.sort_by_key(|at| filters::node_of(self.nodes.get(*at)).name != *selected);
        }
        for at in ranked {
            let node = filters::node_of(self.nodes.get(at)).clone();
            if let Ok(allocations) = self.devices_on(&node, claims) {
                let choice = seat(member, &node, allocations);
                if avoid.is_some_and(|avoid| avoid.contains(&devices_of(&choice))) {
                    continue;
                }
                return Some(choice);
            }
        }
        None
    }

    /// Goes on as if a member were on its node, with its devices.
    pub(super) fn assume_choice(&mut self, member: &Arc<Pod>, choice: &Choice) -> Assumed {
        let mut pod = Pod::clone(member);
        pod.node = Some(choice.node.clone());
        let mut taken = Vec::new();
        for wanted in &choice.claims {
            let (claim, uid, allocation) = match wanted {
                Wanted::Allocation { state, allocation } => (state.wish.id.clone(), &state.uid, allocation),
                Wanted::Claim { allocation } => {
                    let name = format!("<gang> {}", pod.uid).into();
                    let id = ClaimId { namespace: pod.id.namespace.clone(), name };
                    (id, &member.uid, allocation)
                }
                Wanted::Reserved | Wanted::Reservation { .. } | Wanted::Following { .. } => continue,
            };
            taken.extend(held(&claim, uid, allocation, Some("gang")).0.held);
        }
        self.claims.take(&taken);
        let uid = pod.uid.clone();
        self.put_pod(Arc::new(pod));
        Assumed { uid, held: taken }
    }

    pub(super) fn revert_seat(&mut self, assumed: &Assumed) {
        self.take_pod(&assumed.uid);
        self.claims.give_back(&assumed.held);
    }
}
