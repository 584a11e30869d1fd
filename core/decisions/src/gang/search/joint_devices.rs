//! Devices for members on several nodes, decided together.
//!
//! Nodes get devices one after the other, each for all of its members at once. If a later node finds none, an earlier one is
//! asked for another choice: each device that others could have used is left out in turn, and so on, until all choices that
//! differ for others were tried. A claim that members on several nodes share gets its devices with the first of them, and
//! such that all of them reach these.
//!
//! Invariant: nothing is held afterwards that was not before.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use allocation::{AllocationAnswer, Asked, Asker};
use cluster::claims::{ClaimState, Held};
use cluster::ledger::{Holder, PodRef};
use cluster::nodes::{NodeIdx, NodeState};
use cluster::pools::PoolReach;
use gates::Gate;
use model::allocation::{Allocation, Grant};
use model::claim::{ClaimId, ClaimSpec, Constraint, Rule, Wish};
use model::device::{DeviceId, PoolId};
use model::node::Node;
use model::pod::Pod;
use placement::{Budget, Load};

use crate::cycle::Cycle;
use crate::devices::extended::wish_on;
use crate::devices::holding::held;
use crate::filters;
use crate::gang::members::cast::Cast;
use crate::gang::members::member::{Bundle, Member};
use crate::gang::search::node_devices::DEVICE_STEPS;
use crate::values::choice::Wanted;
use crate::values::pod_claims::PodClaims;
use crate::values::work;

/// A node, and the members that it is to have.
#[derive(Debug)]
pub(crate) struct Need<'n> {
    pub at: NodeIdx,
    pub members: Vec<&'n Member>,
}

/// The devices of the members on a node.
#[derive(Debug)]
pub(crate) struct NodeDevices {
    /// For each member the devices of its own claims, in order, and of one that has yet to be made.
    pub own: Vec<Vec<Allocation>>,
    /// Claims that members share and that get their devices here.
    pub shared: Vec<(Arc<ClaimState>, Allocation)>,
    pub held: Vec<Held>,
}

/// What came of looking for devices.
#[derive(Debug)]
pub(crate) enum JointDevices {
    /// The devices of each node.
    Found(Vec<NodeDevices>),
    Impossible,
    Unknown,
}

/// Devices that are not to be given: to no claim on the node, or not to one claim.
type LeftOut = BTreeSet<(Option<ClaimId>, DeviceId)>;

/// The choices of a node.
#[derive(Default)]
struct Frame {
    tries: Vec<LeftOut>,
    seen: BTreeSet<LeftOut>,
    devices: Option<(NodeDevices, LeftOut)>,
}

impl Frame {
    fn new() -> Frame {
        Frame { tries: vec![LeftOut::new()], ..Frame::default() }
    }

    /// Tries with one more device left out, each in turn.
    fn branch(&mut self, from: &LeftOut, out: Vec<(Option<ClaimId>, DeviceId)>) {
        for one in out.into_iter().rev() {
            let mut next = from.clone();
            if next.insert(one) && self.seen.insert(next.clone()) {
                self.tries.push(next);
            }
        }
    }
}

impl Cycle<'_> {
    /// Devices for the members of all these nodes.
    pub(crate) fn devices_across_nodes(&mut self, needs: &[Need<'_>], budget: &mut Budget) -> JointDevices {
        let mut frames = vec![Frame::new()];
        let mut is_unsure = false;
        let found_all = loop {
            let place = frames.len() - 1;
            if place == needs.len() {
                break JointDevices::Found(Vec::new());
            }
            let Some(left_out) = frames[place].tries.pop() else {
                frames.pop();
                let Some(before) = frames.last_mut() else {
                    break if is_unsure { JointDevices::Unknown } else { JointDevices::Impossible };
                };
                let (devices, left_out) =
                    before.devices.take().expect("a node that has its devices is before");
                self.facts.give_back(&devices.held);
                is_unsure |= devices.could_share_otherwise(&needs[place - 1]);
                let contended = self.contended(&devices).into_iter().map(|device| (None, device));
                before.branch(&left_out, contended.collect());
                continue;
            };
            self.caches.work.spend(work::STATE + frames.len() as u64 * work::POD);
            if !budget.spend(1) || self.caches.work.is_spent() {
                break JointDevices::Unknown;
            }
            let before: Vec<&NodeDevices> = frames
                .iter()
                .filter_map(|frame| frame.devices.as_ref().map(|(devices, _)| devices))
                .collect();
            let devices = match self.devices_beside(&before, &needs[place], &left_out, budget) {
                JointDevices::Found(mut found) => found.pop().expect("devices were found for the node"),
                JointDevices::Impossible => continue,
                JointDevices::Unknown => {
                    is_unsure = true;
                    continue;
                }
            };
            let mut state = self.facts.nodes.get(needs[place].at).clone();
            let reach = self.check_reach(&devices, needs);
            let fits = reach.and_then(|()| self.check_footings(&mut state, &needs[place], &devices));
            if let Err(faults) = fits {
                let faults = faults.into_iter().map(|(claim, device)| (Some(claim), device));
                frames[place].branch(&left_out, faults.collect());
                continue;
            }
            self.caches.work.spend(devices.held.len() as u64 * work::TAKE);
            self.facts.take(&devices.held);
            frames[place].devices = Some((devices, left_out));
            frames.push(Frame::new());
        };
        let all: Vec<NodeDevices> =
            frames.into_iter().filter_map(|frame| frame.devices).map(|(devices, _)| devices).collect();
        all.iter().rev().for_each(|devices| self.facts.give_back(&devices.held));
        if matches!(found_all, JointDevices::Found(_)) { JointDevices::Found(all) } else { found_all }
    }

    /// Devices for one more node beside those that others have, if there are such that need no change of others.
    pub(crate) fn devices_beside_others(
        &mut self,
        all: &[NodeDevices],
        need: &Need<'_>,
        budget: &mut Budget,
    ) -> Option<NodeDevices> {
        let held: usize = all.iter().map(|devices| devices.held.len()).sum();
        self.caches.work.spend(held as u64 * work::TAKE);
        if self.caches.work.is_spent() {
            return None;
        }
        all.iter().for_each(|devices| self.facts.take(&devices.held));
        let before: Vec<&NodeDevices> = all.iter().collect();
        let found = self.devices_beside(&before, need, &LeftOut::new(), budget);
        all.iter().rev().for_each(|devices| self.facts.give_back(&devices.held));
        let JointDevices::Found(mut found) = found else { return None };
        let devices = found.pop()?;
        let mut state = self.facts.nodes.get(need.at).clone();
        let fits = self.check_reach(&devices, std::slice::from_ref(need));
        fits.and_then(|()| self.check_footings(&mut state, need, &devices)).is_ok().then_some(devices)
    }

    /// Devices for the members of a node, as things stand.
    pub(crate) fn devices_beside(
        &mut self,
        before: &[&NodeDevices],
        need: &Need<'_>,
        left_out: &LeftOut,
        budget: &mut Budget,
    ) -> JointDevices {
        let node = filters::node_of(self.facts.nodes.get(need.at)).clone();
        let mut shared: Vec<&Arc<ClaimState>> = Vec::new();
        for state in need.members.iter().flat_map(|member| &member.follows) {
            let id = &state.wish.id;
            let known =
                before.iter().flat_map(|devices| &devices.shared).find(|(known, _)| known.wish.id == *id);
            match known {
                Some((_, allocation)) if !reaches(allocation, &node) => return JointDevices::Impossible,
                Some(_) => {}
                None if shared.iter().any(|known| known.wish.id == *id) => {}
                None => shared.push(state),
            }
        }
        let mut wishes: Vec<(Asker, ClaimSpec)> = Vec::new();
        let mut counts = Vec::new();
        for member in &need.members {
            let named = member.claims.named.as_ref();
            let made = named.and_then(|shape| wish_on(&self.facts.resources, shape, &node));
            let made = made.map(|(spec, _)| (Asker::ExtendedResources, spec));
            let own = member.claims.open.iter().map(wish_of);
            let first = wishes.len();
            wishes.extend(own.chain(made));
            counts.push(wishes.len() - first);
        }
        wishes.extend(shared.iter().copied().map(wish_of));
        wishes.iter_mut().for_each(|(asker, spec)| leave_out(asker, spec, left_out));
        if wishes.is_empty() {
            let own = vec![Vec::new(); need.members.len()];
            return JointDevices::Found(vec![NodeDevices { own, shared: Vec::new(), held: Vec::new() }]);
        }
        // What cannot be judged on this node is no seat; it may be judged elsewhere.
        let asked: Vec<Asked<'_>> = wishes.iter().map(|(asker, spec)| asker.asking(spec)).collect();
        let Ok(reply) = self.ask_for_devices(&node, &asked) else {
            return JointDevices::Impossible;
        };
        budget.spend(reply.steps / DEVICE_STEPS);
        let mut found = match reply.answer {
            AllocationAnswer::Impossible(_) => return JointDevices::Impossible,
            AllocationAnswer::BudgetSpent => return JointDevices::Unknown,
            AllocationAnswer::Allocated(found) => found.into_iter(),
        };
        let own = counts.into_iter().map(|count| found.by_ref().take(count).collect()).collect();
        let shared = shared.into_iter().cloned().zip(found).collect();
        let mut devices = NodeDevices { own, shared, held: Vec::new() };
        devices.held = devices.holdings(need);
        JointDevices::Found(vec![devices])
    }

    /// Devices of a node's members that members on other nodes could have used.
    fn contended(&self, devices: &NodeDevices) -> Vec<DeviceId> {
        let is_of_several = |device: &&DeviceId| {
            let pool = PoolId { driver: device.driver.clone(), pool: device.pool.clone() };
            self.facts.slices.node_of(&pool) == PoolReach::Several
        };
        devices.held.iter().map(|held| &held.device).filter(is_of_several).cloned().collect()
    }

    /// Whether all members reach the devices of claims that they share, and may use them together. If not, one of the devices
    /// that are told has to be another.
    fn check_reach(&self, devices: &NodeDevices, needs: &[Need<'_>]) -> Result<(), Vec<(ClaimId, DeviceId)>> {
        let mut faults = Vec::new();
        for (state, allocation) in &devices.shared {
            let id = &state.wish.id;
            let follows = |member: &&Member| member.follows.iter().any(|state| state.wish.id == *id);
            let uses = |need: &&Need<'_>| need.members.iter().any(&follows);
            let is_reached =
                |need: &Need<'_>| reaches(allocation, filters::node_of(self.facts.nodes.get(need.at)));
            if !needs.iter().filter(uses).all(is_reached) {
                faults.extend(allocation.grants.iter().map(|grant| (id.clone(), grant.device.clone())));
                continue;
            }
            let users = needs.iter().flat_map(|need| &need.members).filter(|member| follows(member)).count();
            if users > 1 && self.settings.gates.enabled(Gate::DRANodeAllocatableResources) {
                let is_part = |grant: &&Grant| {
                    let known = self.facts.slices.device(&grant.device);
                    known.is_some_and(|known| known.node_resources.values().any(|share| share.part.is_some()))
                };
                let parts = allocation.grants.iter().filter(is_part);
                faults.extend(parts.map(|grant| (id.clone(), grant.device.clone())));
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Puts members on a node, if it has enough for what their devices take there. If not, one of the devices that are told
    /// has to be another.
    pub(crate) fn check_footings(
        &self,
        state: &mut NodeState,
        need: &Need<'_>,
        devices: &NodeDevices,
    ) -> Result<(), Vec<(ClaimId, DeviceId)>> {
        for (member, own) in need.members.iter().zip(&devices.own) {
            if member.claims.footing.is_none() {
                state.put(member.pod.clone());
                continue;
            }
            let here = |claim: &&Arc<ClaimState>| {
                let found = devices.shared.iter().find(|(known, _)| known.wish.id == claim.wish.id);
                found.map(|(state, allocation)| (state.clone(), allocation.clone()))
            };
            let open = member.claims.open.iter().cloned().zip(own.iter().cloned());
            let open: Vec<(Arc<ClaimState>, Allocation)> =
                open.chain(member.follows.iter().filter_map(|claim| here(&claim))).collect();
            let (claims, allocations): (Vec<_>, Vec<_>) = open.iter().cloned().unzip();
            let claims = PodClaims { open: claims, ..member.claims.clone() };
            if self.check_footing(state, &claims, &allocations).is_err() {
                let takes = |grant: &&Grant| {
                    let known = self.facts.slices.device(&grant.device);
                    known.is_some_and(|known| !known.node_resources.is_empty())
                };
                let fault = |(state, allocation): &(Arc<ClaimState>, Allocation)| {
                    let grants = allocation.grants.iter().filter(takes);
                    grants.map(|grant| (state.wish.id.clone(), grant.device.clone())).collect::<Vec<_>>()
                };
                return Err(open.iter().flat_map(fault).collect());
            }
            let wanted: Vec<Wanted> = open
                .into_iter()
                .map(|(state, allocation)| Wanted::Allocation { state, allocation })
                .collect();
            let (_, extra) = self.taken_of_node(&member.pod, &wanted);
            let mut pod = Pod::clone(&member.pod);
            Arc::make_mut(&mut pod.shape).requests.add(&extra, 1);
            state.put(Arc::new(pod));
        }
        Ok(())
    }
}

/// Whether devices can be used from a node.
fn reaches(allocation: &Allocation, node: &Node) -> bool {
    allocation.nodes.as_ref().is_none_or(|nodes| nodes.picks(node).unwrap_or(false))
}

/// A claim and what it asks for.
fn wish_of(state: &Arc<ClaimState>) -> (Asker, ClaimSpec) {
    (Asker::Claim(state.wish.id.clone()), state.wish.spec.clone())
}

/// Asks for other devices than these.
fn leave_out(asker: &Asker, spec: &mut ClaimSpec, left_out: &LeftOut) {
    let is_it = |claim: &ClaimId| matches!(asker, Asker::Claim(id) if id == claim);
    let concerns = |claim: &Option<ClaimId>| claim.as_ref().is_none_or(is_it);
    let devices = left_out.iter().filter(|(claim, _)| concerns(claim)).map(|(_, device)| device.clone());
    let devices: BTreeSet<DeviceId> = devices.collect();
    if !devices.is_empty() {
        spec.constraints.push(Constraint { requests: Vec::new(), rule: Rule::Without(devices) });
    }
}

impl NodeDevices {
    /// What claims hold by this.
    fn holdings(&self, need: &Need<'_>) -> Vec<Held> {
        let mut taken = Vec::new();
        for (member, own) in need.members.iter().zip(&self.own) {
            let mut own = own.iter();
            for (state, allocation) in member.claims.open.iter().zip(own.by_ref()) {
                taken.extend(held(&Holder::Assumed(state.wish.id.clone()), &state.uid, allocation).0.held);
            }
            for allocation in own {
                let holder = Holder::Made(PodRef::from(&*member.pod));
                taken.extend(held(&holder, &member.pod.uid, allocation).0.held);
            }
        }
        for (state, allocation) in &self.shared {
            taken.extend(held(&Holder::Assumed(state.wish.id.clone()), &state.uid, allocation).0.held);
        }
        taken
    }

    /// Whether the same devices could be shared in other amounts, which is not tried.
    fn could_share_otherwise(&self, need: &Need<'_>) -> bool {
        let shares = self.held.iter().any(|held| held.share.is_some());
        let claims = need.members.iter().flat_map(|member| member.claims.open.iter().chain(&member.follows));
        let mut requests = claims.flat_map(|state| &state.wish.spec.requests);
        shares && requests.any(|request| matches!(request.wish, Wish::FirstAvailable(_)))
    }
}

/// The members that loads are for, each once.
pub(crate) fn needs<'c>(cast: &'c Cast, loads: &[(NodeIdx, Load)]) -> Vec<Need<'c>> {
    let mut left: Vec<VecDeque<&Bundle>> = cast.kinds.iter().map(|kind| kind.iter().collect()).collect();
    let mut need = |(at, load): &(NodeIdx, Load)| {
        let bundles = load
            .present()
            .flat_map(|(kind, count)| left[kind].drain(..count as usize).collect::<Vec<_>>())
            .collect::<Vec<_>>();
        Need { at: *at, members: bundles.into_iter().flat_map(|bundle| &bundle.members).collect() }
    };
    loads.iter().map(&mut need).collect()
}
