//! What upstream's oldest allocator sees of a case.
//!
//! Upstream has three allocators and takes the first that knows all features that are on. The two newer ones sort pools
//! and slices by name. The oldest takes slices as they are listed and pools in an order that changes from call to call,
//! mostly that of their first slices; it counts slices with counter sets to every node's pools, and it does not look at
//! capacity requests. A recorded answer of the oldest is compared with what our search finds in that order.

use std::sync::Arc;

use cluster::pools::PoolView;
use gates::{Gate, Gates};
use model::claim::{Ask, Claim, Wish};
use model::device::{PoolId, Reach, Slice};

/// Whether upstream would run its oldest allocator.
pub(super) fn runs(gates: Gates) -> bool {
    let binding =
        gates.enabled(Gate::DRADeviceBindingConditions) && gates.enabled(Gate::DRAResourceClaimDeviceStatus);
    let newer = [
        Gate::DRAConsumableCapacity,
        Gate::DRAFractionalCapacityRange,
        Gate::DRAListTypeAttributes,
        Gate::DRAOptionalNodeOperations,
        Gate::DRADerivedAttributes,
        Gate::DRADeviceCompatibilityGroups,
    ];
    !binding && !newer.into_iter().any(|gate| gates.enabled(gate))
}

/// A slice by its place in the list, which its name stands for when slices are sorted.
pub(super) fn listed(mut slice: Slice, place: usize) -> Slice {
    slice.name = format!("{place:09}").into();
    if !slice.counter_sets.is_empty() {
        slice.reach = Reach::Everywhere;
    }
    slice
}

/// Puts pools in the order of their first slices.
pub(super) fn sort(pools: &mut [PoolView], listed: &[PoolId]) {
    pools.sort_by_key(|pool| listed.iter().position(|listed| listed == pool.id()));
}

/// A claim without what is not looked at.
pub(super) fn without_capacity(mut claim: Claim) -> Claim {
    let forget = |ask: &mut Ask| ask.capacity = None;
    for request in &mut claim.spec.requests {
        match &mut request.wish {
            Wish::Exactly(ask) => forget(ask),
            Wish::FirstAvailable(asks) => asks.iter_mut().for_each(|(_, ask)| forget(ask)),
        }
    }
    claim
}

/// The pools of which slices are used from the node, in the order of the list.
pub(super) fn first_seen(
    slices: &[Arc<cluster::published::Published>],
    node: &model::node::Node,
) -> Vec<PoolId> {
    let used = |slice: &Slice| match &slice.reach {
        Reach::PerDevice => {
            slice.devices.iter().any(|device| cluster::pools::reaches(&device.reach, node).unwrap_or(false))
        }
        reach => cluster::pools::reaches(reach, node).unwrap_or(false),
    };
    slices
        .iter()
        .filter(|published| used(&published.slice))
        .map(|published| published.slice.pool.clone())
        .collect()
}
