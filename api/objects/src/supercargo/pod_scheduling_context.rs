//! The negotiation between the scheduler and drivers' controllers about one pod.

use crate::meta::ObjectMeta;
use crate::wire::wire;

wire! {
    /// Where resources for a pod are needed and can be had.
    pub object PodSchedulingContext of "supercargo.dev/v1alpha1" {
        metadata: ObjectMeta = "metadata",
        spec: PodSchedulingContextSpec = "spec",
        status: PodSchedulingContextStatus = "status",
    }
}

wire! {
    /// What the scheduler says.
    pub struct PodSchedulingContextSpec {
        potential_nodes: Vec<String> = "potentialNodes",
        selected_node: String = "selectedNode",
    }
}

wire! {
    /// What the drivers say.
    pub struct PodSchedulingContextStatus {
        resource_claims: Vec<ResourceClaimSchedulingStatus> = "resourceClaims",
    }
}

wire! {
    /// What a driver says of one claim.
    pub struct ResourceClaimSchedulingStatus {
        name: String = "name",
        unsuitable_nodes: Vec<String> = "unsuitableNodes",
    }
}
