//! Pods: what runs, where it may run, and what became of it.

use std::collections::BTreeMap;

use crate::core::affinity::{Affinity, Toleration, TopologySpreadConstraint};
use crate::core::container::{Container, ResourceRequirements, Volume};
use crate::meta::ObjectMeta;
use crate::value::{Quantity, Time};
use crate::wire::Raw;
use crate::wire::wire;

wire! {
    /// A group of containers that is placed on one node.
    pub object Pod of "v1" {
        metadata: ObjectMeta = "metadata",
        spec: PodSpec = "spec",
        status: PodStatus = "status",
    }
}

wire! {
    /// What the pod is to be.
    pub struct PodSpec {
        active_deadline_seconds: Option<i64> = "activeDeadlineSeconds",
        affinity: Option<Affinity> = "affinity",
        containers: Vec<Container> = "containers",
        dns_policy: String = "dnsPolicy",
        enable_service_links: Option<bool> = "enableServiceLinks",
        ephemeral_containers: Vec<Raw> = "ephemeralContainers",
        eviction_responders: Vec<Raw> = "evictionResponders",
        host_aliases: Vec<HostAlias> = "hostAliases",
        host_ipc: bool = "hostIPC",
        host_network: bool = "hostNetwork",
        host_pid: bool = "hostPID",
        host_users: Option<bool> = "hostUsers",
        hostname: String = "hostname",
        hostname_override: Option<String> = "hostnameOverride",
        image_pull_secrets: Vec<LocalObjectReference> = "imagePullSecrets",
        init_containers: Vec<Container> = "initContainers",
        node_name: String = "nodeName",
        node_selector: BTreeMap<String, String> = "nodeSelector",
        os: Option<PodOS> = "os",
        overhead: BTreeMap<String, Quantity> = "overhead",
        preemption_policy: Option<String> = "preemptionPolicy",
        priority: Option<i32> = "priority",
        priority_class_name: String = "priorityClassName",
        readiness_gates: Vec<PodReadinessGate> = "readinessGates",
        resource_claims: Vec<PodResourceClaim> = "resourceClaims",
        resources: Option<ResourceRequirements> = "resources",
        restart_policy: String = "restartPolicy",
        runtime_class_name: Option<String> = "runtimeClassName",
        scheduler_name: String = "schedulerName",
        scheduling_gates: Vec<PodSchedulingGate> = "schedulingGates",
        scheduling_group: Option<PodSchedulingGroup> = "schedulingGroup",
        security_context: Option<Raw> = "securityContext",
        service_account: String = "serviceAccount",
        service_account_name: String = "serviceAccountName",
        set_hostname_as_fqdn: Option<bool> = "setHostnameAsFQDN",
        share_process_namespace: Option<bool> = "shareProcessNamespace",
        subdomain: String = "subdomain",
        termination_grace_period_seconds: Option<i64> = "terminationGracePeriodSeconds",
        tolerations: Vec<Toleration> = "tolerations",
        topology_spread_constraints: Vec<TopologySpreadConstraint> = "topologySpreadConstraints",
        volumes: Vec<Volume> = "volumes",
    }
}

wire! {
    /// What the pod is now.
    pub struct PodStatus {
        allocated_resources: BTreeMap<String, Quantity> = "allocatedResources",
        conditions: Vec<PodCondition> = "conditions",
        container_statuses: Vec<ContainerStatus> = "containerStatuses",
        ephemeral_container_statuses: Vec<ContainerStatus> = "ephemeralContainerStatuses",
        extended_resource_claim_status: Option<PodExtendedResourceClaimStatus> = "extendedResourceClaimStatus",
        host_ip: String = "hostIP",
        host_ips: Vec<PodIP> = "hostIPs",
        init_container_statuses: Vec<ContainerStatus> = "initContainerStatuses",
        message: String = "message",
        node_allocatable_resource_claim_statuses: Vec<NodeAllocatableResourceClaimStatus> = "nodeAllocatableResourceClaimStatuses",
        nominated_node_name: String = "nominatedNodeName",
        observed_generation: i64 = "observedGeneration",
        phase: String = "phase",
        pod_ip: String = "podIP",
        pod_ips: Vec<PodIP> = "podIPs",
        qos_class: String = "qosClass",
        reason: String = "reason",
        resource_claim_statuses: Vec<PodResourceClaimStatus> = "resourceClaimStatuses",
        resources: Option<ResourceRequirements> = "resources",
        start_time: Option<Time> = "startTime",
    }
}

wire! {
    /// An observation of a pod, such as `PodScheduled`.
    pub struct PodCondition {
        last_probe_time: Option<Time> = "lastProbeTime",
        last_transition_time: Option<Time> = "lastTransitionTime",
        message: String = "message",
        observed_generation: i64 = "observedGeneration",
        reason: String = "reason",
        status: String = "status",
        type_: String = "type",
    }
}

wire! {
    /// A condition that must be true for the pod to count as ready.
    pub struct PodReadinessGate {
        condition_type: String = "conditionType",
    }
}

wire! {
    /// A reason not to schedule the pod yet.
    pub struct PodSchedulingGate {
        name: String = "name",
    }
}

wire! {
    /// The group that the pod is scheduled with.
    pub struct PodSchedulingGroup {
        pod_group_name: Option<String> = "podGroupName",
    }
}

wire! {
    /// A claim that the pod uses, under a name of its own.
    pub struct PodResourceClaim {
        name: String = "name",
        resource_claim_name: Option<String> = "resourceClaimName",
        resource_claim_template_name: Option<String> = "resourceClaimTemplateName",
    }
}

wire! {
    /// The claim that was made for an entry of `resourceClaims`.
    pub struct PodResourceClaimStatus {
        name: String = "name",
        resource_claim_name: Option<String> = "resourceClaimName",
    }
}

wire! {
    /// The claim that was made for extended resources backed by devices.
    pub struct PodExtendedResourceClaimStatus {
        request_mappings: Vec<ContainerExtendedResourceRequest> = "requestMappings",
        resource_claim_name: String = "resourceClaimName",
    }
}

wire! {
    /// Which request of the claim serves which container's extended resource.
    pub struct ContainerExtendedResourceRequest {
        container_name: String = "containerName",
        request_name: String = "requestName",
        resource_name: String = "resourceName",
    }
}

wire! {
    /// Node resources that a claim's devices stand for.
    pub struct NodeAllocatableResourceClaimStatus {
        containers: Vec<String> = "containers",
        mapping: Vec<NodeAllocatableMappedResources> = "mapping",
        overhead: Vec<NodeAllocatableOverheadResources> = "overhead",
        resource_claim_name: String = "resourceClaimName",
    }
}

wire! {
    /// How much of a node resource a claim's devices are.
    pub struct NodeAllocatableMappedResources {
        name: String = "name",
        quantity: Option<Quantity> = "quantity",
    }
}

wire! {
    /// How much of a node resource a claim's devices cost on top.
    pub struct NodeAllocatableOverheadResources {
        name: String = "name",
        per_container: Option<Quantity> = "perContainer",
        per_pod: Option<Quantity> = "perPod",
    }
}

wire! {
    /// An address of a pod or of its node.
    pub struct PodIP {
        ip: String = "ip",
    }
}

wire! {
    /// What became of a container.
    pub struct ContainerStatus {
        allocated_resources: BTreeMap<String, Quantity> = "allocatedResources",
        allocated_resources_status: Vec<Raw> = "allocatedResourcesStatus",
        last_state: ContainerState = "lastState",
        name: String = "name",
        resources: Option<ResourceRequirements> = "resources",
        restart_count: i32 = "restartCount",
        state: ContainerState = "state",
    }
}

wire! {
    /// Whether a container waits, runs or has ended.
    pub struct ContainerState {
        running: Option<ContainerStateRunning> = "running",
        terminated: Option<ContainerStateTerminated> = "terminated",
        waiting: Option<ContainerStateWaiting> = "waiting",
    }
}

wire! {
    /// Since when a container runs.
    pub struct ContainerStateRunning {
        started_at: Option<Time> = "startedAt",
    }
}

wire! {
    /// Why a container does not run yet, or not again.
    pub struct ContainerStateWaiting {
        message: String = "message",
        reason: String = "reason",
    }
}

wire! {
    /// How a container ended.
    pub struct ContainerStateTerminated {
        exit_code: i32 = "exitCode",
        finished_at: Option<Time> = "finishedAt",
    }
}

wire! {
    /// Names for an address inside the pod.
    pub struct HostAlias {
        hostnames: Vec<String> = "hostnames",
        ip: String = "ip",
    }
}

wire! {
    /// A pointer to an object in the same namespace.
    pub struct LocalObjectReference {
        name: String = "name",
    }
}

wire! {
    /// The pods that a controller makes.
    pub struct PodTemplateSpec {
        metadata: ObjectMeta = "metadata",
        spec: PodSpec = "spec",
    }
}

wire! {
    /// The operating system that the pod needs.
    pub struct PodOS {
        name: String = "name",
    }
}
