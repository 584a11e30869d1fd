//! The negotiation between the scheduler and drivers' controllers about one pod.

use crate::Object;
use crate::core::pod::Pod;
use crate::meta::{ObjectMeta, OwnerReference};
use crate::wire::wire;

wire! {
    /// Where resources for a pod are needed and can be had.
    pub object PodSchedulingContext of "supercargo.dev/v1alpha1" {
        metadata: ObjectMeta = "metadata",
        spec: PodSchedulingContextSpec = "spec",
        status: PodSchedulingContextStatus = "status",
    }
}

impl PodSchedulingContext {
    /// The context of a pod, which owns it, before anything is said in it.
    #[must_use]
    pub fn owned_by(namespace: &str, name: &str, uid: &str) -> Self {
        let mut context = Self::default();
        context.metadata.name = name.to_owned();
        context.metadata.namespace = namespace.to_owned();
        context.metadata.owner_references.push(OwnerReference {
            api_version: Pod::API_VERSION.to_owned(),
            kind: Pod::KIND.to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            controller: Some(true),
            ..OwnerReference::default()
        });
        context
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
