//! Storage classes and what nodes and drivers say of volumes.

use std::collections::BTreeMap;

use crate::core::kinds::TopologySelectorTerm;
use crate::meta::{LabelSelector, ObjectMeta};
use crate::value::Quantity;
use crate::wire::Raw;
use crate::wire::wire;

wire! {
    /// A kind of storage and when it is bound.
    pub object StorageClass of "storage.k8s.io/v1" {
        allow_volume_expansion: Option<bool> = "allowVolumeExpansion",
        allowed_topologies: Vec<TopologySelectorTerm> = "allowedTopologies",
        metadata: ObjectMeta = "metadata",
        mount_options: Vec<String> = "mountOptions",
        parameters: BTreeMap<String, String> = "parameters",
        provisioner: String = "provisioner",
        reclaim_policy: Option<String> = "reclaimPolicy",
        volume_binding_mode: Option<String> = "volumeBindingMode",
    }
}

wire! {
    /// The storage drivers of a node.
    pub object CSINode of "storage.k8s.io/v1" {
        metadata: ObjectMeta = "metadata",
        spec: CSINodeSpec = "spec",
        status: Option<Raw> = "status",
    }
}

wire! {
    /// The drivers, by name.
    pub struct CSINodeSpec {
        drivers: Vec<CSINodeDriver> = "drivers",
    }
}

wire! {
    /// One driver and how many volumes it can attach.
    pub struct CSINodeDriver {
        name: String = "name",
        node_id: String = "nodeID",
        topology_keys: Vec<String> = "topologyKeys",
        allocatable: Option<VolumeNodeResources> = "allocatable",
    }
}

wire! {
    /// How many volumes.
    pub struct VolumeNodeResources {
        count: Option<i32> = "count",
    }
}

wire! {
    /// A storage driver.
    pub object CSIDriver of "storage.k8s.io/v1" {
        metadata: ObjectMeta = "metadata",
        spec: CSIDriverSpec = "spec",
    }
}

wire! {
    /// What the driver can do.
    pub struct CSIDriverSpec {
        attach_required: Option<bool> = "attachRequired",
        fs_group_policy: Option<String> = "fsGroupPolicy",
        pod_info_on_mount: Option<bool> = "podInfoOnMount",
        prevent_pod_scheduling_if_missing: Option<bool> = "preventPodSchedulingIfMissing",
        storage_capacity: Option<bool> = "storageCapacity",
        volume_lifecycle_modes: Vec<String> = "volumeLifecycleModes",
    }
}

wire! {
    /// How much storage a class has left in a part of the cluster.
    pub object CSIStorageCapacity of "storage.k8s.io/v1" {
        capacity: Option<Quantity> = "capacity",
        maximum_volume_size: Option<Quantity> = "maximumVolumeSize",
        metadata: ObjectMeta = "metadata",
        node_topology: Option<LabelSelector> = "nodeTopology",
        storage_class_name: String = "storageClassName",
    }
}

wire! {
    /// A volume that is attached to a node, or is to be.
    pub object VolumeAttachment of "storage.k8s.io/v1" {
        metadata: ObjectMeta = "metadata",
        spec: VolumeAttachmentSpec = "spec",
        status: Option<Raw> = "status",
    }
}

wire! {
    /// Which volume, where, and by what.
    pub struct VolumeAttachmentSpec {
        attacher: String = "attacher",
        node_name: String = "nodeName",
        source: VolumeAttachmentSource = "source",
    }
}

wire! {
    /// The volume.
    pub struct VolumeAttachmentSource {
        persistent_volume_name: Option<String> = "persistentVolumeName",
    }
}
