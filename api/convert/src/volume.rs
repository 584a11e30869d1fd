//! Volumes, claims for them, their classes, and what storage drivers say.

use cluster::change::{Change, StorageChange};
use model::disk::{Handle, InTree};
use model::quantity::Quantity;
use model::volume::{
    Attachment, StorageCapacity, StorageClass, StorageDriver, StorageNode, TopologyRule, Volume, VolumeClaim,
    VolumeClaimId, VolumeOwner, VolumeSource, VolumeWish,
};
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use objects::storage::{CSIDriver, CSINode, CSIStorageCapacity, VolumeAttachment};
use std::sync::Arc;

use crate::change::Fact;
use crate::error::{ConvertError, named};
use crate::label_selector::label_selector;
use crate::node::node_selector;
use crate::text::{shared, shared_map, some};

/// Where a claim says that it and its volume have been joined.
const BOUND: &str = "pv.kubernetes.io/bind-completed";

/// Where a claim, or a volume, named its class before there was a field for it. It still comes first.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// Where a scheduler says for which node a claim is to get a volume.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// Labels of volumes that tell their zone.
const ZONES: [&str; 2] = ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];

const STORAGE: &str = "storage";

/// What core knows of a volume claim, as it was written with this revision.
///
/// # Errors
/// It has no name.
pub fn volume_claim(object: &PersistentVolumeClaim, revision: u64) -> Result<VolumeClaim, ConvertError> {
    let (meta, spec) = (&object.metadata, &object.spec);
    let owner = meta.owner_references.iter().find(|owner| owner.controller == Some(true));
    let class = meta.annotations.get(CLASS).or(spec.storage_class_name.as_ref());
    Ok(VolumeClaim {
        id: VolumeClaimId {
            namespace: meta.namespace.as_str().into(),
            name: named(object, &meta.name, || "metadata.name".to_owned())?,
        },
        uid: meta.uid.as_str().into(),
        revision,
        volume: some(&spec.volume_name),
        bound: !spec.volume_name.is_empty() && meta.annotations.contains_key(BOUND),
        lost: object.status.phase == "Lost",
        deleting: meta.deletion_timestamp.is_some(),
        one_pod: spec.access_modes.iter().any(|mode| mode == "ReadWriteOncePod"),
        owner: owner.map(|owner| owner.uid.as_str().into()),
        class: class.and_then(|class| some(class)),
        selected_node: meta.annotations.get(SELECTED_NODE).map(|node| node.as_str().into()),
        wish: VolumeWish {
            size: spec.resources.requests.get(STORAGE).map(|size| size.0.clone()),
            access: shared(&spec.access_modes).into_iter().collect(),
            block: spec.volume_mode.as_deref() == Some(BLOCK),
            selector: spec.selector.as_ref().map(|selector| label_selector(Some(selector))),
            attributes: spec.volume_attributes_class_name.as_deref().unwrap_or_default().into(),
        },
    })
}

const BLOCK: &str = "Block";

/// What core knows of a volume, as it was written with this revision.
///
/// # Errors
/// It has no name.
pub fn volume(object: &PersistentVolume, revision: u64) -> Result<Volume, ConvertError> {
    let (meta, spec) = (&object.metadata, &object.spec);
    let affinity = spec.node_affinity.as_ref();
    Ok(Volume {
        name: named(object, &meta.name, || "metadata.name".to_owned())?,
        uid: meta.uid.as_str().into(),
        revision,
        nodes: affinity.and_then(|affinity| affinity.required.as_ref()).map(node_selector),
        labels: shared_map(&meta.labels),
        class: meta.annotations.get(CLASS).unwrap_or(&spec.storage_class_name).as_str().into(),
        capacity: spec.capacity.get(STORAGE).map_or_else(Quantity::default, |size| size.0.clone()),
        access: shared(&spec.access_modes).into_iter().collect(),
        block: spec.volume_mode.as_deref() == Some(BLOCK),
        attributes: spec.volume_attributes_class_name.as_deref().unwrap_or_default().into(),
        claim: spec.claim_ref.as_ref().map(|claim| VolumeOwner {
            id: VolumeClaimId {
                namespace: claim.namespace.as_str().into(),
                name: claim.name.as_str().into(),
            },
            uid: some(&claim.uid),
        }),
        available: object.status.phase == "Available",
        deleting: meta.deletion_timestamp.is_some(),
        source: source(object),
    })
}

/// What attaches a volume.
fn source(object: &PersistentVolume) -> VolumeSource {
    let spec = &object.spec;
    if let Some(csi) = &spec.csi {
        let (driver, handle) = (csi.driver.as_str().into(), csi.volume_handle.as_str().into());
        return VolumeSource::Driver { driver, handle };
    }
    let in_tree = |plugin: InTree, name: &str| Handle { plugin, name: name.into() };
    let zone = ZONES.iter().find_map(|key| object.metadata.labels.get(*key)).map(String::as_str);
    let handle = None
        .or_else(|| spec.aws_elastic_block_store.as_ref().map(|disk| Handle::aws(&disk.volume_id)))
        .or_else(|| spec.gce_persistent_disk.as_ref().map(|disk| Handle::gce(&disk.pd_name, zone)))
        .or_else(|| spec.azure_disk.as_ref().map(|disk| in_tree(InTree::AzureDisk, &disk.disk_uri)))
        .or_else(|| spec.cinder.as_ref().map(|disk| in_tree(InTree::Cinder, &disk.volume_id)))
        .or_else(|| spec.portworx_volume.as_ref().map(|disk| in_tree(InTree::Portworx, &disk.volume_id)));
    handle.map_or(VolumeSource::Other, VolumeSource::InTree)
}

/// What core knows of a class of storage.
///
/// # Errors
/// It has no name.
pub fn storage_class(object: &objects::storage::StorageClass) -> Result<StorageClass, ConvertError> {
    let rule = |one: &objects::core::kinds::TopologySelectorLabelRequirement| TopologyRule {
        key: one.key.as_str().into(),
        values: shared(&one.values),
    };
    let terms = object.allowed_topologies.iter();
    Ok(StorageClass {
        name: named(object, &object.metadata.name, || "metadata.name".to_owned())?,
        waits_for_pod: object.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"),
        provisioner: object.provisioner.as_str().into(),
        topologies: terms.map(|term| term.match_label_expressions.iter().map(rule).collect()).collect(),
    })
}

/// What core knows of what drivers say about a node.
///
/// # Errors
/// It has no name.
pub fn storage_node(object: &CSINode) -> Result<StorageNode, ConvertError> {
    let max = |driver: &objects::storage::CSINodeDriver| {
        driver.allocatable.as_ref().and_then(|allocatable| allocatable.count).map(i64::from)
    };
    let drivers = object.spec.drivers.iter().map(|driver| (driver.name.as_str().into(), max(driver)));
    let name: Arc<str> = named(object, &object.metadata.name, || "metadata.name".to_owned())?;
    Ok(StorageNode { name: name.into(), drivers: drivers.collect() })
}

/// What core knows of a storage driver.
///
/// # Errors
/// It has no name.
pub fn storage_driver(object: &CSIDriver) -> Result<StorageDriver, ConvertError> {
    Ok(StorageDriver {
        name: named(object, &object.metadata.name, || "metadata.name".to_owned())?,
        tells_capacity: object.spec.storage_capacity == Some(true),
        must_be_there: object.spec.prevent_pod_scheduling_if_missing == Some(true),
    })
}

/// What core knows of storage that there is somewhere.
///
/// # Errors
/// It has no name.
pub fn storage_capacity(object: &CSIStorageCapacity) -> Result<StorageCapacity, ConvertError> {
    Ok(StorageCapacity {
        namespace: object.metadata.namespace.as_str().into(),
        name: named(object, &object.metadata.name, || "metadata.name".to_owned())?,
        class: object.storage_class_name.as_str().into(),
        nodes: label_selector(object.node_topology.as_ref()),
        capacity: object.capacity.as_ref().map(|size| size.0.value()),
        volume_max: object.maximum_volume_size.as_ref().map(|size| size.0.value()),
    })
}

/// What core knows of a volume that is attached to a node.
///
/// # Errors
/// It has no name.
pub fn attachment(object: &VolumeAttachment) -> Result<Attachment, ConvertError> {
    let spec = &object.spec;
    Ok(Attachment {
        name: named(object, &object.metadata.name, || "metadata.name".to_owned())?,
        node: spec.node_name.as_str().into(),
        driver: spec.attacher.as_str().into(),
        volume: spec.source.persistent_volume_name.as_deref().and_then(some),
    })
}

impl Fact for PersistentVolume {
    fn applied(&self, revision: u64) -> Result<Change, ConvertError> {
        Ok(Change::Storage(StorageChange::VolumeApplied(Box::new(volume(self, revision)?))))
    }

    fn gone(&self) -> Change {
        Change::Storage(StorageChange::VolumeGone(self.metadata.name.as_str().into()))
    }
}

impl Fact for PersistentVolumeClaim {
    fn applied(&self, revision: u64) -> Result<Change, ConvertError> {
        Ok(Change::Storage(StorageChange::VolumeClaimApplied(Box::new(volume_claim(self, revision)?))))
    }

    fn gone(&self) -> Change {
        let (namespace, name) = (self.metadata.namespace.as_str().into(), self.metadata.name.as_str().into());
        Change::Storage(StorageChange::VolumeClaimGone(VolumeClaimId { namespace, name }))
    }
}

impl Fact for objects::storage::StorageClass {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::Storage(StorageChange::StorageClassApplied(storage_class(self)?)))
    }

    fn gone(&self) -> Change {
        Change::Storage(StorageChange::StorageClassGone(self.metadata.name.as_str().into()))
    }
}

impl Fact for CSINode {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::Storage(StorageChange::NodeApplied(storage_node(self)?)))
    }

    fn gone(&self) -> Change {
        Change::Storage(StorageChange::NodeGone(self.metadata.name.as_str().into()))
    }
}

impl Fact for CSIDriver {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::Storage(StorageChange::DriverApplied(storage_driver(self)?)))
    }

    fn gone(&self) -> Change {
        Change::Storage(StorageChange::DriverGone(self.metadata.name.as_str().into()))
    }
}

impl Fact for CSIStorageCapacity {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::Storage(StorageChange::CapacityApplied(Box::new(storage_capacity(self)?))))
    }

    fn gone(&self) -> Change {
        let (namespace, name) = (self.metadata.namespace.as_str().into(), self.metadata.name.as_str().into());
        Change::Storage(StorageChange::CapacityGone(namespace, name))
    }
}

impl Fact for VolumeAttachment {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::Storage(StorageChange::AttachmentApplied(attachment(self)?)))
    }

    fn gone(&self) -> Change {
        Change::Storage(StorageChange::AttachmentGone(self.metadata.name.as_str().into()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn claim(annotations: &Value, spec: &Value, phase: &str) -> VolumeClaim {
        let meta = json!({ "name": "c", "namespace": "ns", "annotations": annotations });
        let object = json!({ "metadata": meta, "spec": spec, "status": { "phase": phase } });
        volume_claim(&serde_json::from_value(object).expect("a claim"), 1).expect("it has a name")
    }

    #[test]
    fn a_claim_is_bound_once_it_says_so_itself() {
        let named = json!({ "volumeName": "v", "storageClassName": "slow" });
        let wish = claim(&json!({}), &named, "Pending");
        assert_eq!(
            (wish.volume.as_deref(), wish.bound, wish.class.as_deref()),
            (Some("v"), false, Some("slow"))
        );
        let bound = claim(&json!({ BOUND: "yes", CLASS: "fast" }), &named, "Lost");
        assert_eq!((bound.bound, bound.lost, bound.class.as_deref()), (true, true, Some("fast")));
        let fresh = claim(&json!({}), &json!({ "storageClassName": "" }), "");
        assert_eq!((fresh.volume, fresh.bound, fresh.lost, fresh.class), (None, false, false, None));
    }

    #[test]
    fn a_volume_arrives_with_the_nodes_that_reach_it() {
        let expression = json!({ "key": "rack", "operator": "In", "values": ["r1"] });
        let object = json!({
            "metadata": { "name": "v", "labels": { "topology.kubernetes.io/zone": "z1" } },
            "spec": { "nodeAffinity": { "required": { "nodeSelectorTerms": [{ "matchExpressions": [expression] }] } } },
        });
        let volume = volume(&serde_json::from_value(object).expect("a volume"), 1).expect("it has a name");
        assert_eq!(volume.labels.get("topology.kubernetes.io/zone").map(|zone| &**zone), Some("z1"));
        assert_eq!(volume.nodes.map(|nodes| nodes.terms.len()), Some(1));
    }

    #[test]
    fn a_class_may_wait_for_the_pod() {
        let waits = |mode: &Value| {
            let object = json!({ "metadata": { "name": "c" }, "volumeBindingMode": mode });
            storage_class(&serde_json::from_value(object).expect("a class"))
                .expect("it has a name")
                .waits_for_pod
        };
        assert!(waits(&json!("WaitForFirstConsumer")));
        assert!(!waits(&json!("Immediate")));
        assert!(!waits(&json!(null)));
    }

    #[test]
    fn a_claim_arrives_with_all_that_it_asks_of_a_volume() {
        let spec = json!({
            "accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "volumeMode": "Block",
            "resources": { "requests": { "storage": "3Gi" } }, "volumeAttributesClassName": "gold",
            "selector": { "matchLabels": { "disk": "ssd" } },
        });
        let VolumeClaim { wish, selected_node, revision, .. } =
            claim(&json!({ SELECTED_NODE: "n" }), &spec, "");
        assert_eq!(wish.size.as_ref().map(Quantity::value), Some(3 << 30));
        assert_eq!(
            wish.access.iter().map(|one| &**one).collect::<Vec<_>>(),
            ["ReadOnlyMany", "ReadWriteOnce"]
        );
        assert_eq!((wish.block, &*wish.attributes, revision), (true, "gold", 1));
        let labels = |value: &str| [("disk".into(), value.into())].into();
        assert!(wish.selector.is_some_and(|one| one.picks(&labels("ssd")) && !one.picks(&labels("hdd"))));
        assert_eq!(selected_node.map(|node| node.to_string()).as_deref(), Some("n"));
    }

    #[test]
    fn a_volume_arrives_with_its_claim_and_with_what_attaches_it() {
        let read = |spec: &Value| {
            let meta = json!({ "name": "v", "annotations": { CLASS: "old" }, "labels": { ZONES[0]: "z" } });
            let object = json!({ "metadata": meta, "spec": spec, "status": { "phase": "Available" } });
            volume(&serde_json::from_value(object).expect("a volume"), 2).expect("it has a name")
        };
        let found = read(&json!({
            "capacity": { "storage": "5Gi" }, "storageClassName": "new", "accessModes": ["ReadWriteOnce"],
            "claimRef": { "namespace": "ns", "name": "c", "uid": "" },
            "csi": { "driver": "d", "volumeHandle": "h" },
        }));
        assert_eq!((&*found.class, found.capacity.value(), found.available), ("old", 5 << 30, true));
        assert_eq!(found.claim.map(|owner| (owner.id.to_string(), owner.uid)), Some(("ns/c".into(), None)));
        let sources = [
            (json!({ "csi": { "driver": "d", "volumeHandle": "h" } }), "d/h"),
            (json!({ "gcePersistentDisk": { "pdName": "p" } }), "GcePd/projects/UNSPECIFIED/zones/z/disks/p"),
            (json!({ "awsElasticBlockStore": { "volumeID": "aws://z/vol-1" } }), "AwsEbs/vol-1"),
            (json!({ "azureDisk": { "diskURI": "u" } }), "AzureDisk/u"),
            (json!({ "cinder": { "volumeID": "o" } }), "Cinder/o"),
            (json!({ "portworxVolume": { "volumeID": "w" } }), "Portworx/w"),
            (json!({ "hostPath": { "path": "/" } }), "other"),
        ];
        for (spec, expected) in sources {
            let told = match read(&spec).source {
                VolumeSource::Driver { driver, handle } => format!("{driver}/{handle}"),
                VolumeSource::InTree(handle) => format!("{:?}/{}", handle.plugin, handle.name),
                VolumeSource::Other => "other".to_owned(),
            };
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn what_drivers_say_arrives() {
        fn read<T: objects::Object>(object: &Value) -> T {
            T::read_value(object).expect("an object")
        }
        let drivers = json!([{ "name": "d", "allocatable": { "count": 3 } }, { "name": "e" }]);
        let node =
            storage_node(&read(&json!({ "metadata": { "name": "n" }, "spec": { "drivers": drivers } })));
        let drivers = node.expect("it has a name").drivers;
        assert_eq!((drivers.get("d"), drivers.get("e")), (Some(&Some(3)), Some(&None)));
        let spec = json!({ "storageCapacity": true, "preventPodSchedulingIfMissing": true });
        let driver = storage_driver(&read(&json!({ "metadata": { "name": "d" }, "spec": spec })));
        let driver = driver.expect("it has a name");
        assert!(driver.tells_capacity && driver.must_be_there);
        let capacity = storage_capacity(&read(&json!({
            "metadata": { "name": "c", "namespace": "ns" }, "storageClassName": "fast", "capacity": "10Gi",
            "nodeTopology": { "matchLabels": { "zone": "a" } },
        })));
        let capacity = capacity.expect("it has a name");
        assert_eq!((capacity.limit(), &*capacity.class), (Some(10 << 30), "fast"));
        assert!(capacity.nodes.picks(&[("zone".into(), "a".into())].into()));
        let terms = json!([{ "matchLabelExpressions": [{ "key": "zone", "values": ["a", "b"] }] }]);
        let class = json!({ "metadata": { "name": "s" }, "provisioner": "d", "allowedTopologies": terms });
        let class = storage_class(&read(&class)).expect("it has a name");
        let reaches = |zone: &str| class.reaches(&[("zone".into(), zone.into())].into());
        assert_eq!((class.provisions(), reaches("b"), reaches("c")), (true, true, false));
        let attached = json!({ "attacher": "d", "nodeName": "n", "source": { "persistentVolumeName": "v" } });
        let attached = attachment(&read(&json!({ "metadata": { "name": "a" }, "spec": attached })));
        let attached = attached.expect("it has a name");
        assert_eq!((&*attached.driver, attached.volume.as_deref()), ("d", Some("v")));
    }
}
