//! What is wrong with a whole cluster is noticed, and only that.

use crate::scene::{Scene, read, scene};
use invariants::{Evidence, GroupsFrom, Violation, check_state};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use serde_json::json;

/// What was done, and all that the checker must say.
type Row = (&'static str, fn(&mut Scene), &'static [&'static str]);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("nothing", |_| {}, &[]),
    ("a device in two claims", |s| s.held("gpu-user").device = "gpu-1".into(),
        &["gpu.example.com/p1/gpu-1 is allocated to before/gpu-user and to new/train"]),
    ("a device twice in one claim", |s| s.result("train", 0).device = "gpu-1".into(),
        &["gpu.example.com/p1/gpu-1 is allocated to new/train and to new/train"]),
    ("a device in a claim and in one with admin access", |s| s.held("gpu-user").admin_access = Some(true), &[]),
    ("a device as a whole and in shares", |s| s.held("nic-user").share_id = None,
        &["nic.example.com/net/nic-0 is allocated as a whole to before/nic-user and in shares to new/net"]),
    ("one id for two shares", |s| s.held("nic-user").share_id = Some("share-1".into()),
        &["nic.example.com/net/nic-0: two shares have the id share-1"]),
    ("a capacity that shrank", |s| s.device("nics", "nic-0").capacity.get_mut("bandwidth").unwrap().value = read(json!("9")),
        &["nic.example.com/net/nic-0: 10 of bandwidth are consumed, the device has 9"]),
    ("a device that draws too much", |s| s.result("train", 2).device = "mig-2".into(),
        &["part.example.com/mig: 50 of g0/memory are consumed, the pool has 40"]),
    ("a device that is shared and draws once", |s| {
        s.device("parts", "mig-1").allow_multiple_allocations = Some(true);
        s.result("train", 2).share_id = Some("share-7".into());
        let mut twin = s.holders["part-user"].clone();
        twin.metadata.name = "twin".into();
        let result = &mut twin.status.allocation.as_mut().unwrap().devices.results[0];
        (result.device, result.share_id) = ("mig-1".into(), Some("share-8".into()));
        s.holders.insert("twin".into(), twin);
    }, &[]),
    ("groups that were not common at the time", |s| { s.held("part-user").compatibility_groups.insert("g0".into(), vec!["vgpu".into()]); },
        &["part.example.com/mig: the devices that draw from g0 have no compatibility group in common: mig-0, mig-1"]),
    ("groups that were changed later", |s| s.device("parts", "mig-0").consumes_counters[0].compatibility_groups = vec!["vgpu".into()], &[]),
    ("groups that were changed later and that nobody noted", |s| {
        s.held("part-user").compatibility_groups.clear();
        s.device("parts", "mig-0").consumes_counters[0].compatibility_groups = vec!["vgpu".into()];
    }, &["part.example.com/mig: the devices that draw from g0 have no compatibility group in common: mig-0, mig-1"]),
    ("groups that were changed later and are read now", |s| {
        s.groups = GroupsFrom::Slices;
        s.device("parts", "mig-0").consumes_counters[0].compatibility_groups = vec!["vgpu".into()];
    }, &["part.example.com/mig: the devices that draw from g0 have no compatibility group in common: mig-0, mig-1"]),
    ("groups of devices whose pool is gone", |s| {
        s.slices.remove("parts");
        s.held("part-user").compatibility_groups.insert("g0".into(), vec!["vgpu".into()]);
    }, &["part.example.com/mig: the devices that draw from g0 have no compatibility group in common: mig-0, mig-1"]),
];

#[test]
fn what_is_wrong_with_a_cluster_is_said() {
    for (what, damage, expected) in ROWS {
        let mut scene = scene();
        damage(&mut scene);
        let said: Vec<String> = scene.state_violations().iter().map(ToString::to_string).collect();
        assert_eq!(said, *expected, "{what}");
    }
}

fn reservations(claim: serde_json::Value, pods: Option<serde_json::Value>) -> Vec<Violation> {
    let claims: Vec<ResourceClaim> = vec![read(claim)];
    let pods: Option<Vec<Pod>> = pods.map(read);
    let evidence = Evidence {
        gates: gates::Gates::default(),
        slices: &[],
        classes: &[],
        claims: &claims,
        groups: GroupsFrom::Results,
    };
    check_state(&evidence, pods.as_deref())
}

#[test]
fn a_claim_is_reserved_only_while_it_is_allocated() {
    let consumer = json!({"resource": "pods", "name": "p", "uid": "1"});
    let metadata = json!({"name": "c", "namespace": "n"});
    let claim = json!({"metadata": metadata, "status": {"reservedFor": [consumer]}});
    let violations = reservations(claim, None);
    assert!(
        matches!(violations[..], [Violation::ReservedUnallocated { consumers: 1, .. }]),
        "{violations:?}"
    );
}

#[test]
fn a_claim_has_at_most_256_consumers() {
    let consumer = |n: u32| json!({"resource": "pods", "name": "p", "uid": n.to_string()});
    let claim = |count: u32| {
        let consumers: Vec<_> = (0..count).map(consumer).collect();
        json!({"metadata": {"name": "c"}, "status": {"allocation": {}, "reservedFor": consumers}})
    };
    assert_eq!(reservations(claim(256), None), []);
    let violations = reservations(claim(257), None);
    assert!(matches!(violations[..], [Violation::TooManyConsumers { found: 257, .. }]), "{violations:?}");
}

#[test]
fn a_new_pod_with_the_name_of_a_consumer_is_not_the_consumer() {
    let consumers = json!([
        {"resource": "pods", "name": "p", "uid": "1"},
        {"resource": "podgroups", "apiGroup": "scheduling.k8s.io", "name": "g", "uid": "9"},
    ]);
    let metadata = json!({"name": "c", "namespace": "n"});
    let claim = json!({"metadata": metadata, "status": {"allocation": {}, "reservedFor": consumers}});
    let pod = |uid: &str| json!([{"metadata": {"name": "p", "namespace": "n", "uid": uid}}]);
    assert_eq!(reservations(claim.clone(), Some(pod("1"))), []);
    let said: Vec<_> = reservations(claim, Some(pod("2"))).iter().map(ToString::to_string).collect();
    assert_eq!(said, ["n/c: is reserved for pod p with uid 1, which is gone"]);
}
