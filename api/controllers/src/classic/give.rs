//! Claims as they are to be when a driver gives them devices, and when it has taken them back.

use objects::core::affinity::NodeSelector;
use objects::core::pod::Pod;
use objects::resource::allocation::{
    AllocationResult, DeviceAllocationResult, ResourceClaimConsumerReference, ResourceHandle,
};
use objects::resource::claim::ResourceClaim;
use objects::supercargo::control::{self, Form};

use super::finalizer;

/// What a driver gives to a claim.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Grant {
    /// The nodes on which it can be used; every node if absent.
    pub nodes: Option<NodeSelector>,
    /// More than one pod may use it.
    pub shareable: bool,
    /// What is left for those who prepare the devices, up to 16 KiB each.
    pub handles: Vec<ResourceHandle>,
    /// The devices and their configuration, if nodes are to be told of any.
    pub devices: DeviceAllocationResult,
}

/// The claim as it is to be written first: it cannot go before the driver has taken its devices back.
pub fn described(
    claim: &ResourceClaim,
    controller: &str,
    grant: &Grant,
    form: Form,
) -> Option<ResourceClaim> {
    let mut described = claim.clone();
    let finalizer = finalizer(controller);
    if !described.metadata.finalizers.contains(&finalizer) {
        described.metadata.finalizers.push(finalizer);
    }
    if form == Form::Annotations {
        control::describe(&mut described, controller, grant.shareable, &grant.handles);
    }
    (described != *claim).then_some(described)
}

/// The claim with its devices, reserved at once for the pod that they are for.
#[must_use]
pub fn given(
    claim: &ResourceClaim,
    controller: &str,
    grant: Grant,
    form: Form,
    pod: Option<&Pod>,
) -> ResourceClaim {
    let mut given = claim.clone();
    let mut allocation = AllocationResult {
        devices: grant.devices,
        node_selector: grant.nodes,
        ..AllocationResult::default()
    };
    if form == Form::Fields {
        given.status.controller_name = controller.to_owned();
        (allocation.shareable, allocation.resource_handles) = (grant.shareable, grant.handles);
    }
    given.status.allocation = Some(allocation);
    given.status.reserved_for.extend(pod.map(|pod| ResourceClaimConsumerReference {
        resource: "pods".to_owned(),
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        ..ResourceClaimConsumerReference::default()
    }));
    given
}

/// The claim without its devices, if it has or had some.
#[must_use]
pub fn freed(claim: &ResourceClaim) -> Option<ResourceClaim> {
    let mut freed = claim.clone();
    freed.status.allocation = None;
    freed.status.controller_name.clear();
    freed.status.deallocation_requested = false;
    freed.status.devices.clear();
    (freed.status != claim.status).then_some(freed)
}

/// The claim as it is to be written last: nothing keeps it, and nothing is noted on it.
#[must_use]
pub fn unprotected(claim: &ResourceClaim, controller: &str) -> Option<ResourceClaim> {
    let mut free = claim.clone();
    let finalizer = finalizer(controller);
    free.metadata.finalizers.retain(|one| *one != finalizer);
    control::undescribe(&mut free);
    (free.metadata != claim.metadata).then_some(free)
}
