//! Who keeps a claim and its devices, by table.

use serde_json::{Value, json};

use super::*;

fn claim(metadata: &Value, status: &Value) -> ResourceClaim {
    let mut metadata = metadata.clone();
    metadata["name"] = json!("c");
    serde_json::from_value(json!({ "metadata": metadata, "status": status })).expect("a claim")
}

fn used_by(uids: &[&str]) -> Value {
    let users = uids.iter().map(|uid| json!({ "resource": "pods", "name": uid, "uid": uid }));
    json!({ "allocation": { "devices": {} }, "devices": [{ "driver": "d" }], "reservedFor": users.collect::<Vec<_>>() })
}

fn used_by_group(name: &str) -> Value {
    let group =
        json!({ "apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": name, "uid": name });
    json!({ "allocation": { "devices": {} }, "reservedFor": [group] })
}

fn protected() -> Value {
    json!({ "finalizers": [PROTECTION] })
}

fn going() -> Value {
    json!({ "finalizers": [PROTECTION], "deletionTimestamp": "2026-01-02T03:04:05Z" })
}

fn made_for(api_version: &str, kind: &str, name: &str) -> ResourceClaim {
    let owner =
        json!({ "apiVersion": api_version, "kind": kind, "name": name, "uid": name, "controller": true });
    claim(&json!({ "ownerReferences": [owner] }), &json!({}))
}

/// Decides, while those are gone whose name says so.
fn decided(claim: &ResourceClaim) -> ClaimAction {
    decide(claim, &Around { is_gone: &|user| user.name.starts_with("gone"), is_wanted: true })
}

fn released(claim: &ResourceClaim) -> ResourceClaim {
    match decided(claim) {
        ClaimAction::Release(claim) => *claim,
        other => panic!("{other:?} is no release"),
    }
}

#[test]
fn who_is_gone_uses_a_claim_no_more() {
    let left = released(&claim(&protected(), &used_by(&["a", "gone1", "gone2"])));
    assert_eq!(left.status.reserved_for.iter().map(|one| one.uid.as_str()).collect::<Vec<_>>(), ["a"]);
    assert!(left.status.allocation.is_some() && !left.status.devices.is_empty());
    assert_eq!(decided(&left), ClaimAction::Leave);
}

#[test]
fn the_last_user_gives_the_devices_back() {
    for status in [used_by(&["gone"]), used_by_group("gone")] {
        let left = released(&claim(&protected(), &status));
        assert!(left.status.allocation.is_none() && left.status.devices.is_empty());
        let free = unprotected(&left).expect("nothing is allocated");
        assert!(free.metadata.finalizers.is_empty());
        assert_eq!((unprotected(&free), decided(&free)), (None, ClaimAction::Leave));
    }
}

#[test]
fn a_claim_that_nobody_uses_yet_keeps_its_devices_unless_it_goes() {
    assert_eq!(decided(&claim(&protected(), &used_by(&[]))), ClaimAction::Leave);
    assert!(released(&claim(&going(), &used_by(&[]))).status.allocation.is_none());
    assert_eq!(decided(&claim(&going(), &json!({}))), ClaimAction::Unprotect);
    assert_eq!(decided(&claim(&going(), &used_by(&["a"]))), ClaimAction::Leave);
}

#[test]
fn protection_that_was_left_over_goes_once_nobody_wants_the_claim() {
    let unwanted = |claim: &ResourceClaim| decide(claim, &Around { is_gone: &|_| false, is_wanted: false });
    let left = claim(&protected(), &json!({}));
    assert_eq!((unwanted(&left), decided(&left)), (ClaimAction::Unprotect, ClaimAction::Leave));
    assert_eq!(
        unwanted(&claim(&protected(), &used_by(&[]))),
        ClaimAction::Leave,
        "the devices are for a pod"
    );
    let mut made = made_for("v1", "Pod", "a");
    made.metadata.finalizers.push(PROTECTION.to_owned());
    assert_eq!(unwanted(&made), ClaimAction::Leave, "it will be wanted as soon as it is noted");
}

#[test]
fn what_is_allocated_at_once_stays_so_until_it_goes() {
    let mut immediate = claim(&protected(), &used_by(&["gone"]));
    immediate.spec.allocation_mode = "Immediate".to_owned();
    let left = released(&immediate);
    assert!(left.status.reserved_for.is_empty() && left.status.allocation.is_some());
    assert_eq!(decided(&left), ClaimAction::Leave);
    let mut going = claim(&going(), &used_by(&[]));
    going.spec.allocation_mode = "Immediate".to_owned();
    assert!(released(&going).status.allocation.is_none());
}

#[test]
fn devices_of_a_drivers_controller_are_asked_back_and_not_taken() {
    let mut theirs =
        claim(&json!({ "finalizers": ["driver.example.com/deletion-protection"] }), &used_by(&["gone"]));
    theirs.status.controller_name = "driver.example.com".to_owned();
    let left = released(&theirs);
    assert!(left.status.allocation.is_some() && left.status.deallocation_requested);
    assert!(left.status.reserved_for.is_empty());
    assert_eq!((decided(&left), unprotected(&left)), (ClaimAction::Leave, None));
}

#[test]
fn what_a_driver_gave_and_nobody_uses_or_wants_is_asked_back() {
    let unwanted = |claim: &ResourceClaim| decide(claim, &Around { is_gone: &|_| false, is_wanted: false });
    let finalizers = json!({ "finalizers": ["driver.example.com/deletion-protection"] });
    let mut theirs = claim(&finalizers, &used_by(&[]));
    theirs.status.controller_name = "driver.example.com".to_owned();
    assert_eq!(decided(&theirs), ClaimAction::Leave, "a pod may be about to use it");
    let ClaimAction::Release(asked) = unwanted(&theirs) else { panic!("it is nobody's") };
    assert!(asked.status.deallocation_requested && asked.status.allocation.is_some());
    assert_eq!(unwanted(&asked), ClaimAction::Leave, "once is enough");
    let mut noted = claim(&finalizers, &used_by(&[]));
    control::describe(&mut noted, "driver.example.com", false, &[]);
    assert!(matches!(unwanted(&noted), ClaimAction::AskBack(asked) if control::is_leaving(&asked)));
    let mut about_to_be_given = noted;
    about_to_be_given.status.allocation = None;
    assert_eq!(unwanted(&about_to_be_given), ClaimAction::Leave, "there is nothing to ask for");
    let mut immediate = theirs.clone();
    immediate.spec.allocation_mode = "Immediate".to_owned();
    assert_eq!(unwanted(&immediate), ClaimAction::Leave, "it has them for good");
    let mut used = theirs;
    used.status.reserved_for = claim(&json!({}), &used_by(&["a"])).status.reserved_for;
    assert_eq!(unwanted(&used), ClaimAction::Leave);
}

#[test]
fn a_claim_that_was_made_for_somebody_goes_with_them() {
    let table =
        [("v1", "Pod"), ("scheduling.k8s.io/v1beta1", "PodGroup"), ("scheduling.k8s.io/v1", "PodGroup")];
    for (version, kind) in table {
        assert_eq!(decided(&made_for(version, kind, "a")), ClaimAction::Leave, "{kind}");
        assert_eq!(decided(&made_for(version, kind, "gone")), ClaimAction::Delete, "{kind}");
        assert_eq!(users(&made_for(version, kind, "a")).len(), 1, "{kind}");
    }
    assert_eq!(decided(&made_for("example.com/v1", "Pod", "gone")), ClaimAction::Leave);
    let mut shared = made_for("v1", "Pod", "gone");
    shared.status = claim(&json!({}), &used_by(&["a"])).status;
    assert_eq!(decided(&shared), ClaimAction::Leave, "another pod uses it");
}

#[test]
fn others_than_pods_and_groups_are_left_alone() {
    let other = json!({ "apiGroup": "example.com", "resource": "pods", "name": "gone", "uid": "gone" });
    let shared = claim(&protected(), &json!({ "allocation": { "devices": {} }, "reservedFor": [other] }));
    assert_eq!((decided(&shared), users(&shared).len()), (ClaimAction::Leave, 0));
}

#[test]
fn a_claim_that_was_made_twice_is_too_many_once() {
    let notes = |value: Value| serde_json::from_value::<Pod>(value).expect("a pod");
    let pod = |status: Value| notes(json!({ "metadata": { "name": "p", "uid": "p" }, "status": status }));
    let made = |annotation: &str, value: &str| {
        let mut claim = made_for("v1", "Pod", "p");
        claim.metadata.annotations.insert(annotation.to_owned(), value.to_owned());
        claim
    };
    let noted =
        |claim: &str| json!({ "resourceClaimStatuses": [{ "name": "gpu", "resourceClaimName": claim }] });
    let extended = |claim: &str| json!({ "extendedResourceClaimStatus": { "resourceClaimName": claim } });
    let table = [
        (made(ENTRY, "gpu"), noted("other"), true),
        (made(ENTRY, "gpu"), noted("lost"), false),
        (made(ENTRY, "gpu"), noted("c"), false),
        (made(ENTRY, "gpu"), json!({}), false),
        (made(ENTRY, "nic"), noted("other"), false),
        (made(EXTENDED, "true"), extended("other"), true),
        (made(EXTENDED, "true"), extended("c"), false),
        (made(EXTENDED, "true"), json!({}), false),
        (made_for("v1", "Pod", "somebody"), noted("other"), false),
    ];
    for (claim, status, expected) in table {
        let found = is_surplus(&claim, &Owner::Pod(&pod(status.clone())), &|name| name == "other");
        assert_eq!(found, expected, "{:?} {status}", claim.metadata.annotations);
    }
}

#[test]
fn a_pod_that_is_deleted_before_it_has_a_node_is_done() {
    let pod = |value: Value| serde_json::from_value::<Pod>(value).expect("a pod");
    let going = json!({ "deletionTimestamp": "2026-01-02T03:04:05Z" });
    assert!(is_done(&pod(json!({ "metadata": going }))));
    assert!(!is_done(&pod(json!({ "metadata": going, "spec": { "nodeName": "n" } }))));
    assert!(is_done(&pod(json!({ "status": { "phase": "Failed" } }))));
    assert!(!is_done(&pod(json!({ "status": { "phase": "Running" } }))));
}
