//! Bare objects: they give the same facts as whole ones, and nothing in them is secret.

use convert::followed::{FOLLOWED, Followed};
use objects::apps::{ReplicaSet, StatefulSet};
use objects::core::kinds::{
    Namespace, PersistentVolume, PersistentVolumeClaim, ReplicationController, Service,
};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::policy::PodDisruptionBudget;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::{DeviceClass, DeviceTaintRule};
use objects::resource::slice::ResourceSlice;
use objects::scheduling::composite_pod_group::CompositePodGroup;
use objects::scheduling::pod_group::PodGroup;
use objects::storage::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use objects::supercargo::node_topology::NodeTopology;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use objects::supercargo::workload::Workload;
use serde_json::json;

/// How many objects of each kind are tried.
const SEEDS: u32 = 150;

/// The same facts come from a whole object and from a bare one that was written and read, and from its names that it is gone.
fn check<K: Followed>() -> (&'static str, u32) {
    let kind = schema::table().kind(K::API_VERSION, K::KIND).expect("the kind is served");
    let mut told = 0;
    for seed in 0..SEEDS {
        let byte = |at: u32| ((at + seed * 7919).wrapping_mul(2_654_435_761) >> 13) as u8;
        let bytes: Vec<u8> = (0..seed * 40).map(byte).collect();
        let made = testkit::object(kind, &bytes);
        let Ok(mut whole) = K::read_value(&made) else { continue };
        let meta = whole.metadata_mut();
        (meta.namespace, meta.name, meta.uid) = ("ns".to_owned(), "it".to_owned(), "u".to_owned());
        // A server writes quantities in their shortest form, of which those that outgrow a machine word are read otherwise.
        let whole = K::read(&whole.write()).expect("what was written can be read");
        let mut bare = whole.clone();
        bare.make_bare();
        let bare = K::read(&bare.write()).expect("what was written can be read");
        let facts = [&whole, &bare].map(|object| unnumbered(&format!("{:?}", object.applied(7))));
        assert_eq!(facts[0], facts[1], "{made}");
        told += u32::from(whole.applied(7).is_ok());
        let mut named = K::default();
        let (meta, its) = (whole.metadata(), named.metadata_mut());
        (its.namespace, its.name, its.uid) = (meta.namespace.clone(), meta.name.clone(), meta.uid.clone());
        assert_eq!(format!("{:?}", whole.gone()), format!("{:?}", named.gone()), "{made}");
    }
    (K::KIND, told)
}

/// A fact without the numbers by which a process tells layouts of attributes apart.
fn unnumbered(fact: &str) -> String {
    let mut parts = fact.split("Layout { number: ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start_matches(char::is_numeric))
}

#[test]
fn nothing_that_is_decided_by_is_removed() {
    let checked = [
        check::<Node>(),
        check::<Namespace>(),
        check::<Pod>(),
        check::<ResourceSlice>(),
        check::<DeviceClass>(),
        check::<ResourceClaim>(),
        check::<DeviceTaintRule>(),
        check::<PersistentVolume>(),
        check::<PersistentVolumeClaim>(),
        check::<StorageClass>(),
        check::<CSINode>(),
        check::<CSIDriver>(),
        check::<CSIStorageCapacity>(),
        check::<VolumeAttachment>(),
        check::<PodDisruptionBudget>(),
        check::<Service>(),
        check::<ReplicationController>(),
        check::<ReplicaSet>(),
        check::<StatefulSet>(),
        check::<PodGroup>(),
        check::<CompositePodGroup>(),
        check::<Workload>(),
        check::<NodeTopology>(),
        check::<PodSchedulingContext>(),
    ];
    assert_eq!(checked.map(|(kind, _)| kind), FOLLOWED.map(|row| row.kind), "every kind is checked");
    // Slices and contexts that are made at random mean nothing mostly; of these only metadata is removed.
    let of_few = |(_, told): &&(&str, u32)| *told < 20;
    let of_few: Vec<_> = checked.iter().filter(of_few).collect();
    assert!(
        of_few.len() < 6 && of_few.iter().all(|(kind, _)| !["Pod", "PersistentVolume"].contains(kind)),
        "{of_few:?}"
    );
}

/// A word that must not be saved.
const SECRET: &str = "hunter2";

fn has_no_secret<K: Followed>(object: &serde_json::Value) {
    let mut read = K::read_value(object).expect("an object of the kind");
    assert!(String::from_utf8(read.write()).expect("text").contains(SECRET), "it was there");
    read.make_bare();
    let bare = String::from_utf8(read.write()).expect("text");
    assert!(!bare.contains(SECRET), "{bare}");
    assert!(bare.contains("\"name\":\"it\""), "{bare}");
}

#[test]
fn environments_commands_and_what_kubectl_keeps_are_removed_wherever_they_are() {
    let container = json!({
        "name": "c", "image": "i", "command": [SECRET], "args": [SECRET], "unheardOf": SECRET,
        "env": [{ "name": "PASSWORD", "value": SECRET }], "envFrom": [{ "prefix": SECRET }],
        "lifecycle": { "postStart": { "exec": { "command": [SECRET] } } },
        "livenessProbe": { "httpGet": { "httpHeaders": [{ "name": "Authorization", "value": SECRET }] } },
    });
    let metadata = json!({
        "name": "it", "namespace": "ns", "uid": "u",
        "annotations": { "kubectl.kubernetes.io/last-applied-configuration": SECRET },
        "managedFields": [{ "manager": SECRET }],
    });
    let spec = json!({
        "containers": [container], "initContainers": [container], "ephemeralContainers": [container],
        "volumes": [{ "name": "v", "flexVolume": { "options": { "password": SECRET } } }],
        "unheardOf": SECRET,
    });
    let status = json!({
        "message": SECRET,
        "containerStatuses": [{ "name": "c", "state": { "waiting": { "message": SECRET } } }],
    });
    has_no_secret::<Pod>(
        &json!({ "metadata": metadata, "spec": spec, "status": status, "unheardOf": SECRET }),
    );
    let template = json!({ "metadata": metadata, "spec": spec });
    has_no_secret::<ReplicaSet>(&json!({ "metadata": metadata, "spec": { "template": template } }));
    has_no_secret::<StatefulSet>(&json!({ "metadata": metadata, "spec": { "template": template } }));
    has_no_secret::<ReplicationController>(
        &json!({ "metadata": metadata, "spec": { "template": template } }),
    );
    has_no_secret::<StorageClass>(&json!({ "metadata": metadata, "parameters": { "restuserkey": SECRET } }));
    let csi = json!({ "driver": "d", "volumeHandle": "h", "volumeAttributes": { "password": SECRET } });
    has_no_secret::<PersistentVolume>(&json!({ "metadata": metadata, "spec": { "csi": csi } }));
    let source = json!({ "inlineVolumeSpec": { "csi": csi } });
    has_no_secret::<VolumeAttachment>(&json!({ "metadata": metadata, "spec": { "source": source } }));
    has_no_secret::<Node>(&json!({ "metadata": metadata }));
}
