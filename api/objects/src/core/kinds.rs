//! The smaller kinds of the core group, as far as placement looks into them.

use std::collections::BTreeMap;

use crate::core::affinity::NodeSelector;
use crate::core::event::ObjectReference;
use crate::meta::ObjectMeta;
use crate::value::{IntOrString, Quantity};
use crate::wire::Raw;
use crate::wire::wire;

wire! {
    /// A space of names; its labels may grant admin access to devices.
    pub object Namespace of "v1" {
        metadata: ObjectMeta = "metadata",
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
        storage_class_name: Option<String> = "storageClassName",
        volume_mode: Option<String> = "volumeMode",
        volume_name: String = "volumeName",
    }
}

wire! {
    /// What became of the claim.
    pub struct PersistentVolumeClaimStatus {
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
        claim_ref: Option<ObjectReference> = "claimRef",
        node_affinity: Option<VolumeNodeAffinity> = "nodeAffinity",
        storage_class_name: String = "storageClassName",
    }
}

wire! {
    /// What became of the storage.
    pub struct PersistentVolumeStatus {
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
        selector: BTreeMap<String, String> = "selector",
        type_: String = "type",
        cluster_ip: String = "clusterIP",
        ports: Vec<ServicePort> = "ports",
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
    }
}

wire! {
    /// How many there are.
    pub struct ReplicationControllerStatus {
        replicas: i32 = "replicas",
    }
}
