//! Devices that are a part of what a node has for pods, or that cost some of it: processor, memory, large pages.
//!
//! What a pod's devices take counts as if the pod asked for it itself, on top of what it asks for, and is noted on the pod so
//! that the node's agent and others count the same. A claim with a device that is a part of the node is for one pod only.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::nodes::NodeState;
use gates::Gate;
use model::allocation::Allocation;
use model::claim::ClaimId;
use model::device::{DeviceId, Part};
use model::pod::{Pod, Resources, Shape};
use model::quantity::Quantity;

use crate::cycle::Cycle;
use crate::filters::node_of;
use crate::values::choice::Wanted;
use crate::values::pod_claims::{Footing, PodClaims};
use crate::values::reason::{DeviceReason, ResourceName};

/// What the devices of a claim take of their node.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClaimFootprint {
    /// The claim.
    pub claim: Arc<str>,
    /// The containers that use it.
    pub containers: Vec<Arc<str>>,
    /// How much of each resource the devices are.
    pub mapping: BTreeMap<Arc<str>, Quantity>,
    /// How much of each resource it costs to use them: for the pod, and for each container.
    pub overhead: BTreeMap<Arc<str>, (Option<Quantity>, Option<Quantity>)>,
}

/// A device, and how much was taken of its capacities if it is shared.
type Taken = (DeviceId, Option<BTreeMap<Arc<str>, Quantity>>);

impl Cycle<'_> {
    /// What is needed to tell what a pod's devices take of a node, if that counts.
    pub(crate) fn footing(&self, pod: &Pod) -> Option<Footing> {
        if pod.claims.is_empty() || !self.settings.gates.enabled(Gate::DRANodeAllocatableResources) {
            return None;
        }
        if !self.may_take_of_node(pod) {
            return None;
        }
        let mut users: BTreeMap<ClaimId, Vec<Arc<str>>> = BTreeMap::new();
        for (at, claim) in pod.claims.iter().enumerate() {
            let Some(id) = pod.claim_id(claim) else { continue };
            let containers = pod.shape.claim_containers.get(at).into_iter().flatten().cloned();
            users.entry(id).or_default().extend(containers);
        }
        Some(Footing { shape: pod.shape.clone(), users })
    }

    /// Whether a claim is in use, and has a device that is a part of the node and can be for one pod only.
    pub(crate) fn is_for_another(&self, state: &ClaimState, pod: &Pod) -> bool {
        if !self.settings.gates.enabled(Gate::DRANodeAllocatableResources) {
            return false;
        }
        let is_mine = state.is_reserved_for(&pod.uid);
        let is_used =
            !state.reserved_for.is_empty() || self.underway.is_being_reserved(&state.wish.id, Some(&pod.uid));
        let is_part = |device: &DeviceId| {
            let known = self.facts.slices.device(device);
            known.is_some_and(|known| known.node_resources.values().any(|share| share.part.is_some()))
        };
        is_used && !is_mine && taken_by(state).iter().any(|(device, _)| is_part(device))
    }

    /// Whether a node has enough for what a pod's devices take there, if that counts.
    pub(crate) fn check_footing(
        &self,
        state: &NodeState,
        claims: &PodClaims,
        allocations: &[Allocation],
    ) -> Result<(), DeviceReason> {
        let Some(footing) = &claims.footing else { return Ok(()) };
        let settled = claims.settled.iter().map(|state| (state.wish.id.clone(), taken_by(state)));
        let open = claims.open.iter().zip(allocations);
        let open = open.map(|(state, allocation)| (state.wish.id.clone(), granted(allocation)));
        let footprints = self.footprints(footing, settled.chain(open))?;
        if footprints.is_empty() {
            return Ok(());
        }
        let mut needed = extra(&footing.shape, &footprints)?;
        needed.add(&footing.shape.requests, 1);
        let node = node_of(state);
        let is_short = |name: &str| {
            let left = node.allocatable.get(name).saturating_sub(state.used.get(name));
            needed.get(name) > 0 && needed.get(name) > left
        };
        let mut short = Vec::new();
        let named = [
            ("cpu", ResourceName::Cpu),
            ("memory", ResourceName::Memory),
            ("ephemeral-storage", ResourceName::EphemeralStorage),
        ];
        short.extend(named.into_iter().filter(|(name, _)| is_short(name)).map(|(_, resource)| resource));
        let pages = needed.others.keys().filter(|name| name.starts_with("hugepages-") && is_short(name));
        short.extend(pages.cloned().map(ResourceName::Other));
        if short.is_empty() { Ok(()) } else { Err(DeviceReason::ShortForDevices(short)) }
    }

    /// What the devices of a pod that has found its place take of the node, and how much that is in all.
    pub fn taken_of_node(&self, pod: &Pod, wanted: &[Wanted]) -> (Vec<ClaimFootprint>, Resources) {
        let Some(footing) = self.footing(pod) else { return (Vec::new(), Resources::default()) };
        let taken = footing.users.keys().filter_map(|id| {
            let given = wanted.iter().find_map(|one| match one {
                Wanted::Allocation { state, allocation } if state.wish.id == *id => Some(granted(allocation)),
                _ => None,
            });
            let taken = given.or_else(|| self.facts.claims.get(id).map(|state| taken_by(state)))?;
            Some((id.clone(), taken))
        });
        // It was found a moment ago that all of this is so, and enough.
        let footprints = self.footprints(&footing, taken).unwrap_or_default();
        let extra = extra(&pod.shape, &footprints).unwrap_or_default();
        (footprints, extra)
    }

    /// What devices take of their node, by claim; claims that take nothing are left out.
    fn footprints(
        &self,
        footing: &Footing,
        claims: impl Iterator<Item = (ClaimId, Vec<Taken>)>,
    ) -> Result<Vec<ClaimFootprint>, DeviceReason> {
        let mut footprints = Vec::new();
        for (id, taken) in claims {
            let mut footprint = ClaimFootprint { claim: id.name.clone(), ..ClaimFootprint::default() };
            for (device, consumed) in taken {
                self.add_device(&mut footprint, &device, consumed.as_ref())?;
            }
            if !(footprint.mapping.is_empty() && footprint.overhead.is_empty()) {
                footprint.containers = footing.users.get(&id).cloned().unwrap_or_default();
                footprints.push(footprint);
            }
        }
        footprints.sort_by(|left, right| left.claim.cmp(&right.claim));
        Ok(footprints)
    }

    fn add_device(
        &self,
        footprint: &mut ClaimFootprint,
        id: &DeviceId,
        consumed: Option<&BTreeMap<Arc<str>, Quantity>>,
    ) -> Result<(), DeviceReason> {
        let Some(device) = self.facts.slices.device(id) else { return Ok(()) };
        for (resource, share) in &device.node_resources {
            let amount = match &share.part {
                Some(Part::Device(amount)) => Some(amount.clone()),
                Some(Part::Capacity { key, factor }) => {
                    let Some(consumed) = consumed else {
                        let (device, resource) = (Box::new(id.clone()), resource.clone());
                        let capacity = key.clone();
                        return Err(DeviceReason::NotSharedByCapacity { device, resource, capacity });
                    };
                    let times = |amount: &Quantity| match factor {
                        Some(factor) => amount.times(factor),
                        None => amount.clone(),
                    };
                    consumed.get(key).map(times)
                }
                None => None,
            };
            if let Some(amount) = amount {
                match footprint.mapping.get_mut(resource) {
                    Some(known) => *known += &amount,
                    None => {
                        footprint.mapping.insert(resource.clone(), amount);
                    }
                }
            }
            if share.per_pod.is_some() || share.per_container.is_some() {
                let known = footprint.overhead.entry(resource.clone()).or_default();
                sum(&mut known.0, share.per_pod.as_ref());
                sum(&mut known.1, share.per_container.as_ref());
            }
        }
        Ok(())
    }
}

fn sum(sum: &mut Option<Quantity>, amount: Option<&Quantity>) {
    if let Some(amount) = amount {
        match sum {
            Some(sum) => *sum += amount,
            None => *sum = Some(amount.clone()),
        }
    }
}

fn taken_by(state: &ClaimState) -> Vec<Taken> {
    let held = state.allocation.iter().flat_map(|allocated| &allocated.held);
    let taken = held.map(|one| {
        let consumed = one.share.as_ref().map(|_| one.holding.consumed.clone());
        (one.device.clone(), consumed)
    });
    taken.collect()
}

fn granted(allocation: &Allocation) -> Vec<Taken> {
    allocation.grants.iter().map(|grant| (grant.device.clone(), grant.share.clone())).collect()
}

/// How much devices take in all beyond what a pod asks for. What it asks for as a whole must cover it.
fn extra(shape: &Shape, footprints: &[ClaimFootprint]) -> Result<Resources, DeviceReason> {
    let mut sums: BTreeMap<Arc<str>, Option<Quantity>> = BTreeMap::new();
    for footprint in footprints {
        for (resource, amount) in &footprint.mapping {
            sum(sums.entry(resource.clone()).or_default(), Some(amount));
        }
        for (resource, (per_pod, per_container)) in &footprint.overhead {
            let total = sums.entry(resource.clone()).or_default();
            sum(total, per_pod.as_ref());
            for _ in &footprint.containers {
                sum(total, per_container.as_ref());
            }
        }
    }
    let mut extra = Resources::default();
    for (resource, amount) in sums {
        let Some(amount) = amount else { continue };
        let whole = if &*resource == "cpu" { amount.milli_value() } else { amount.value() };
        if let Some((_, spare)) = shape.spare.iter().find(|(name, _)| *name == resource) {
            if whole > *spare {
                return Err(DeviceReason::RequestTooSmall { resource });
            }
            continue;
        }
        match &*resource {
            "cpu" => extra.cpu_milli = whole,
            "memory" => extra.memory = whole,
            "ephemeral-storage" => extra.ephemeral_storage = whole,
            _ => {
                extra.others.insert(resource, whole);
            }
        }
    }
    Ok(extra)
}
