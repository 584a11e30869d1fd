//! The smaller kinds of the core group, as far as placement looks into them.

use std::collections::BTreeMap;

use crate::core::affinity::NodeSelector;
use crate::core::container::{
    AWSElasticBlockStoreVolumeSource, AzureDiskVolumeSource, GCEPersistentDiskVolumeSource,
    PortworxVolumeSource,
};
use crate::core::event::ObjectReference;
use crate::core::pod::PodTemplateSpec;
use crate::meta::{LabelSelector, ObjectMeta};
use crate::value::{IntOrString, Quantity, Time};
use crate::wire::Raw;
use crate::wire::wire;

wire! {
    /// A space of names; its labels may grant admin access to devices.
    pub object Namespace of "v1" {
        metadata: ObjectMeta = "metadata",
        spec: NamespaceSpec = "spec",
        status: NamespaceStatus = "status",
    }
}

wire! {
    /// Who must agree before the namespace goes.
    pub struct NamespaceSpec {
        finalizers: Vec<String> = "finalizers",
    }
}

wire! {
    /// Whether the namespace is in use or going.
    pub struct NamespaceStatus {
        phase: String = "phase",
    }
}

wire! {
    /// The wish to run a pod on a node.
    pub object Binding of "v1" {
        metadata: ObjectMeta = "metadata",
        target: ObjectReference = "target",
    }
}

wire! {
    /// A claim for storage.
    pub object PersistentVolumeClaim of "v1" {
        metadata: ObjectMeta = "metadata",
        spec: PersistentVolumeClaimSpec = "spec",
        status: PersistentVolumeClaimStatus = "status",
    }
}

wire! {
    /// What storage is wanted.
    pub struct PersistentVolumeClaimSpec {
        access_modes: Vec<String> = "accessModes",
        resources: VolumeResourceRequirements = "resources",
        selector: Option<LabelSelector> = "selector",
        storage_class_name: Option<String> = "storageClassName",
        volume_attributes_class_name: Option<String> = "volumeAttributesClassName",
        volume_mode: Option<String> = "volumeMode",
        volume_name: String = "volumeName",
    }
}

wire! {
    /// How much storage.
    pub struct VolumeResourceRequirements {
        limits: BTreeMap<String, Quantity> = "limits",
        requests: BTreeMap<String, Quantity> = "requests",
    }
}

wire! {
    /// What became of the claim.
    pub struct PersistentVolumeClaimStatus {
        access_modes: Vec<String> = "accessModes",
        capacity: BTreeMap<String, Quantity> = "capacity",
        phase: String = "phase",
    }
}

wire! {
    /// A piece of storage.
    pub object PersistentVolume of "v1" {
        metadata: ObjectMeta = "metadata",
        spec: PersistentVolumeSpec = "spec",
        status: PersistentVolumeStatus = "status",
    }
}

wire! {
    /// What the storage is and where it can be reached.
    pub struct PersistentVolumeSpec {
        capacity: BTreeMap<String, Quantity> = "capacity",
        access_modes: Vec<String> = "accessModes",
        aws_elastic_block_store: Option<AWSElasticBlockStoreVolumeSource> = "awsElasticBlockStore",
        azure_disk: Option<AzureDiskVolumeSource> = "azureDisk",
        cinder: Option<CinderPersistentVolumeSource> = "cinder",
        claim_ref: Option<ObjectReference> = "claimRef",
        csi: Option<CSIPersistentVolumeSource> = "csi",
        gce_persistent_disk: Option<GCEPersistentDiskVolumeSource> = "gcePersistentDisk",
        portworx_volume: Option<PortworxVolumeSource> = "portworxVolume",
        node_affinity: Option<VolumeNodeAffinity> = "nodeAffinity",
        persistent_volume_reclaim_policy: String = "persistentVolumeReclaimPolicy",
        storage_class_name: String = "storageClassName",
        volume_attributes_class_name: Option<String> = "volumeAttributesClassName",
        volume_mode: Option<String> = "volumeMode",
    }
}

wire! {
    /// A volume of a storage driver.
    pub struct CSIPersistentVolumeSource {
        driver: String = "driver",
        volume_handle: String = "volumeHandle",
    }
}

wire! {
    /// A disk of OpenStack.
    pub struct CinderPersistentVolumeSource {
        volume_id: String = "volumeID",
    }
}

wire! {
    /// What became of the storage.
    pub struct PersistentVolumeStatus {
        last_phase_transition_time: Option<Time> = "lastPhaseTransitionTime",
        phase: String = "phase",
    }
}

wire! {
    /// The nodes from which a volume can be reached.
    pub struct VolumeNodeAffinity {
        required: Option<NodeSelector> = "required",
    }
}

wire! {
    /// Nodes for which volumes are made, by their labels.
    pub struct TopologySelectorTerm {
        match_label_expressions: Vec<TopologySelectorLabelRequirement> = "matchLabelExpressions",
    }
}

wire! {
    /// A label that nodes must have with one of some values.
    pub struct TopologySelectorLabelRequirement {
        key: String = "key",
        values: Vec<String> = "values",
    }
}

wire! {
    /// A name for a set of pods.
    pub object Service of "v1" {
        metadata: ObjectMeta = "metadata",
        spec: ServiceSpec = "spec",
        status: Option<Raw> = "status",
    }
}

wire! {
    /// Which pods, and how they are reached.
    pub struct ServiceSpec {
        allocate_load_balancer_node_ports: Option<bool> = "allocateLoadBalancerNodePorts",
        cluster_ip: String = "clusterIP",
        cluster_ips: Vec<String> = "clusterIPs",
        external_name: String = "externalName",
        external_traffic_policy: String = "externalTrafficPolicy",
        internal_traffic_policy: Option<String> = "internalTrafficPolicy",
        ports: Vec<ServicePort> = "ports",
        selector: BTreeMap<String, String> = "selector",
        session_affinity: String = "sessionAffinity",
        session_affinity_config: Option<Raw> = "sessionAffinityConfig",
        type_: String = "type",
    }
}

wire! {
    /// A port of a service.
    pub struct ServicePort {
        app_protocol: Option<String> = "appProtocol",
        name: String = "name",
        node_port: i32 = "nodePort",
        port: i32 = "port",
        protocol: String = "protocol",
        target_port: Option<IntOrString> = "targetPort",
    }
}

wire! {
    /// An identity for pods.
    pub object ServiceAccount of "v1" {
        metadata: ObjectMeta = "metadata",
    }
}

wire! {
    /// Small confidential values.
    pub object Secret of "v1" {
        data: BTreeMap<String, String> = "data",
        immutable: Option<bool> = "immutable",
        metadata: ObjectMeta = "metadata",
        string_data: BTreeMap<String, String> = "stringData",
        type_: String = "type",
    }
}

wire! {
    /// Small values for configuration.
    pub object ConfigMap of "v1" {
        binary_data: BTreeMap<String, String> = "binaryData",
        data: BTreeMap<String, String> = "data",
        immutable: Option<bool> = "immutable",
        metadata: ObjectMeta = "metadata",
    }
}

wire! {
    /// Keeps a number of like pods running.
    pub object ReplicationController of "v1" {
        metadata: ObjectMeta = "metadata",
        spec: ReplicationControllerSpec = "spec",
        status: ReplicationControllerStatus = "status",
    }
}

wire! {
    /// How many pods, and which.
    pub struct ReplicationControllerSpec {
        min_ready_seconds: i32 = "minReadySeconds",
        replicas: Option<i32> = "replicas",
        selector: BTreeMap<String, String> = "selector",
        template: Option<PodTemplateSpec> = "template",
    }
}

wire! {
    /// How many there are.
    pub struct ReplicationControllerStatus {
        observed_generation: i64 = "observedGeneration",
        replicas: i32 = "replicas",
    }
}
