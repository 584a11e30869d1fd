//! Volumes, claims for them, and their classes.

use cluster::change::{Change, StorageChange};
use model::volume::{StorageClass, Volume, VolumeClaim, VolumeClaimId};
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};

use crate::change::Fact;
use crate::error::{ConvertError, named};
use crate::node::node_selector;
use crate::text::{shared_map, some};

/// Where a claim says that it and its volume have been joined.
const BOUND: &str = "pv.kubernetes.io/bind-completed";

/// Where a claim named its class before there was a field for it. It still comes first.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// What core knows of a volume claim.
///
/// # Errors
/// It has no name.
pub fn volume_claim(object: &PersistentVolumeClaim) -> Result<VolumeClaim, ConvertError> {
    let meta = &object.metadata;
    let owner = meta.owner_references.iter().find(|owner| owner.controller == Some(true));
    let class = meta.annotations.get(CLASS).or(object.spec.storage_class_name.as_ref());
    Ok(VolumeClaim {
        id: VolumeClaimId {
            namespace: meta.namespace.as_str().into(),
            name: named(object, &meta.name, || "metadata.name".to_owned())?,
        },
        volume: some(&object.spec.volume_name),
        bound: !object.spec.volume_name.is_empty() && meta.annotations.contains_key(BOUND),
        lost: object.status.phase == "Lost",
        deleting: meta.deletion_timestamp.is_some(),
        one_pod: object.spec.access_modes.iter().any(|mode| mode == "ReadWriteOncePod"),
        owner: owner.map(|owner| owner.uid.as_str().into()),
        class: class.and_then(|class| some(class)),
    })
}

/// What core knows of a volume.
///
/// # Errors
/// It has no name.
pub fn volume(object: &PersistentVolume) -> Result<Volume, ConvertError> {
    let affinity = object.spec.node_affinity.as_ref();
    Ok(Volume {
        name: named(object, &object.metadata.name, || "metadata.name".to_owned())?,
        nodes: affinity.and_then(|affinity| affinity.required.as_ref()).map(node_selector),
        labels: shared_map(&object.metadata.labels),
    })
}

/// What core knows of a class of storage.
///
/// # Errors
/// It has no name.
pub fn storage_class(object: &objects::storage::StorageClass) -> Result<StorageClass, ConvertError> {
    Ok(StorageClass {
        name: named(object, &object.metadata.name, || "metadata.name".to_owned())?,
        waits_for_pod: object.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"),
    })
}

impl Fact for PersistentVolume {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::Storage(StorageChange::VolumeApplied(volume(self)?)))
    }

    fn gone(&self) -> Change {
        Change::Storage(StorageChange::VolumeGone(self.metadata.name.as_str().into()))
    }
}

impl Fact for PersistentVolumeClaim {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::Storage(StorageChange::VolumeClaimApplied(volume_claim(self)?)))
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn claim(annotations: &Value, spec: &Value, phase: &str) -> VolumeClaim {
        let meta = json!({ "name": "c", "namespace": "ns", "annotations": annotations });
        let object = json!({ "metadata": meta, "spec": spec, "status": { "phase": phase } });
        volume_claim(&serde_json::from_value(object).expect("a claim")).expect("it has a name")
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
        let volume = volume(&serde_json::from_value(object).expect("a volume")).expect("it has a name");
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
}
