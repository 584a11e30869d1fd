//! Containers: what matters to placement of what runs in a pod.

use std::collections::BTreeMap;

use crate::value::Quantity;
use crate::wire::Raw;
use crate::wire::wire;

wire! {
    /// A container; fields that do not matter here are kept as they are.
    pub struct Container {
        name: String = "name",
        image: String = "image",
        ports: Vec<ContainerPort> = "ports",
        resources: ResourceRequirements = "resources",
        image_pull_policy: String = "imagePullPolicy",
        termination_message_path: String = "terminationMessagePath",
        termination_message_policy: String = "terminationMessagePolicy",
        restart_policy: Option<String> = "restartPolicy",
    }
}

wire! {
    /// A port that a container listens on.
    pub struct ContainerPort {
        container_port: i32 = "containerPort",
        host_ip: String = "hostIP",
        host_port: i32 = "hostPort",
        name: String = "name",
        protocol: String = "protocol",
    }
}

wire! {
    /// What a container or pod needs and may use at most.
    pub struct ResourceRequirements {
        claims: Vec<ContainerClaim> = "claims",
        limits: BTreeMap<String, Quantity> = "limits",
        requests: BTreeMap<String, Quantity> = "requests",
    }
}

wire! {
    /// A claim, or one request of it, that a container uses.
    pub struct ContainerClaim {
        name: String = "name",
        request: String = "request",
    }
}

wire! {
    /// A volume; only sources that matter to placement are looked into.
    pub struct Volume {
        name: String = "name",
        persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource> = "persistentVolumeClaim",
        ephemeral: Option<Raw> = "ephemeral",
    }
}

wire! {
    /// A volume that an existing claim provides.
    pub struct PersistentVolumeClaimVolumeSource {
        claim_name: String = "claimName",
        read_only: bool = "readOnly",
    }
}
