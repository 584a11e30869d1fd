//! Volumes that are there, or should be.

use model::node::{NodeTerm, Operator, Requirement};
use model::pod::OwnVolumeClaim;
use model::volume::{StorageClass, VolumeClaimId};

use super::*;
use crate::sample::{labels, node, shape};

fn claim(name: &str, volume: Option<&str>, bound: bool, class: &str) -> VolumeClaim {
    VolumeClaim {
        id: VolumeClaimId { namespace: "ns".into(), name: name.into() },
        volume: volume.map(Into::into),
        bound,
        lost: name == "lost",
        deleting: name == "deleting",
        owner: (name == "p-scratch").then(|| "u".into()),
        class: Some(class.into()),
        ..VolumeClaim::default()
    }
}

fn volumes() -> Volumes {
    let mut volumes = Volumes::default();
    for (name, volume, bound, class) in [
        ("local", Some("on-a"), true, "slow"),
        ("p-scratch", Some("on-a"), true, "slow"),
        ("zonal", Some("in-z1"), true, "slow"),
        ("old", Some("in-old"), true, "slow"),
        ("lost", Some("gone"), true, "slow"),
        ("dangling", Some("gone"), true, "slow"),
        ("deleting", Some("on-a"), true, "slow"),
        ("wish", Some("on-a"), false, "waiting"),
        ("fresh", None, false, "slow"),
        ("unknown", None, false, "none"),
        ("waiting", None, false, "waiting"),
    ] {
        volumes.apply_claim(claim(name, volume, bound, class));
    }
    let requirement = Requirement { key: "host".into(), operator: Operator::In, values: vec!["a".into()] };
    let term = NodeTerm { fields: Vec::new(), labels: vec![requirement] };
    let nodes = Some(NodeSelector { terms: vec![term] });
    volumes.apply_volume(Volume { name: "on-a".into(), nodes, ..Volume::default() });
    let zoned =
        |name: &str, text: &str| Volume { name: name.into(), labels: labels(text), ..Volume::default() };
    volumes.apply_volume(zoned("in-z1", "topology.kubernetes.io/zone=z1__z2"));
    volumes.apply_volume(zoned("in-old", "failure-domain.beta.kubernetes.io/zone=z1"));
    for (name, waits_for_pod) in [("slow", false), ("waiting", true)] {
        volumes.apply_class(StorageClass { name: name.into(), waits_for_pod, ..StorageClass::default() });
    }
    volumes
}

/// What a pod with these claims is told by a node with these labels.
fn answer(claims: &[&str], node_labels: &str) -> String {
    answer_without(&[], claims, node_labels)
}

/// The same with some filters off.
fn answer_without(off: &[Filter], claims: &[&str], node_labels: &str) -> String {
    let settings = FilterSettings { off: off.iter().copied().collect(), ..FilterSettings::default() };
    let mut shape = shape("");
    shape.volume_claims = claims.iter().map(|name| (*name).into()).collect();
    let volumes = volumes();
    let mounts = Mounts::new(&Arc::new(shape), &volumes, &settings);
    let answer = mounts.and_then(|mounts| mounts.check_reach(&node("n", node_labels), &volumes));
    answer.map_or_else(|refusal| refusal.to_string(), |()| "fits".to_owned())
}

#[test]
fn claims_must_have_a_volume() {
    let table = [
        ("none", "persistentvolumeclaim \"none\" not found"),
        ("lost", "persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"gone\""),
        ("dangling", "persistentvolume \"gone\" not found"),
        ("deleting", "persistentvolumeclaim \"deleting\" is being deleted"),
        ("wish", "pod has unbound immediate PersistentVolumeClaims"),
        ("fresh", "pod has unbound immediate PersistentVolumeClaims"),
        ("unknown", "pod has unbound immediate PersistentVolumeClaims"),
    ];
    for (claim, expected) in table {
        assert_eq!(answer(&[claim], "host=a"), expected);
    }
    assert_eq!(answer(&["waiting"], "host=a"), "node(s) didn't find available persistent volumes to bind");
    assert_eq!(answer(&["waiting", "fresh"], "host=a"), table[5].1);
    assert_eq!(answer(&["waiting", "none"], "host=a"), table[0].1);
}

#[test]
fn a_volume_is_used_from_nodes_that_reach_it() {
    assert_eq!(answer(&["local"], "host=a"), "fits");
    assert_eq!(answer(&["local"], "host=b"), "node(s) didn't match PersistentVolume's node affinity");
    assert_eq!(answer(&[], "host=b"), "fits");
}

#[test]
fn a_volume_is_used_in_its_zones() {
    let refused = "node(s) had no available volume zone";
    assert_eq!(answer(&["zonal"], "topology.kubernetes.io/zone=z2"), "fits");
    assert_eq!(answer(&["zonal"], "topology.kubernetes.io/zone=z3"), refused);
    assert_eq!(answer(&["zonal"], "topology.kubernetes.io/region=r1"), refused);
    assert_eq!(answer(&["zonal"], "host=a"), "fits");
    assert_eq!(answer(&["old"], "topology.kubernetes.io/zone=z1"), "fits");
    assert_eq!(answer(&["old"], "failure-domain.beta.kubernetes.io/zone=z2"), refused);
}

#[test]
fn reach_and_zones_can_be_switched_off_one_by_one() {
    let elsewhere = "topology.kubernetes.io/zone=z9";
    assert_eq!(answer_without(&[Filter::Volumes], &["local", "waiting", "none"], elsewhere), "fits");
    let refused = "node(s) had no available volume zone";
    assert_eq!(answer_without(&[Filter::Volumes], &["zonal"], elsewhere), refused);
    assert_eq!(answer_without(&[Filter::VolumeZones], &["zonal"], elsewhere), "fits");
    let unreached = "node(s) didn't match PersistentVolume's node affinity";
    assert_eq!(answer_without(&[Filter::VolumeZones], &["local"], elsewhere), unreached);
    assert_eq!(answer_without(&[Filter::Volumes, Filter::VolumeZones], &["zonal"], elsewhere), "fits");
}

#[test]
fn a_claim_that_is_made_for_the_pod_must_be_its_own() {
    let told = |claim: &str, pod_uid: &str| {
        let own = OwnVolumeClaim { claim: claim.into(), pod: "p".into(), pod_uid: pod_uid.into() };
        let mut shape = shape("");
        shape.volume_claims = vec![claim.into()];
        shape.own_volume_claims = vec![own];
        let mounts = Mounts::new(&Arc::new(shape), &volumes(), &FilterSettings::default());
        mounts.map_or_else(|refusal| refusal.to_string(), |_| "fits".to_owned())
    };
    assert_eq!(told("p-scratch", "u"), "fits");
    let foreign = "PVC ns/p-scratch was not created for pod ns/p (pod is not owner)";
    assert_eq!(told("p-scratch", "another"), foreign);
    let missing = "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-tmp\"";
    assert_eq!(told("p-tmp", "u"), missing);
}
