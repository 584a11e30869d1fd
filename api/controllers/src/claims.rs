//! Claims whose users are done: reservations are released, devices are given back, claims made for a pod go with it.
//!
//! Invariant: a claim loses its devices only when its last user goes, or when it goes itself. One that nobody uses yet
//! keeps them, because whoever allocated it may be about to use it.

use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;

/// Keeps an allocated claim from going before its devices are given back.
pub const PROTECTION: &str = "resource.kubernetes.io/delete-protection";

/// A pod of the claim's namespace, as far as claims care.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Its uid.
    pub uid: String,
    /// It will run no more.
    pub is_done: bool,
}

impl User {
    /// What claims need to know of a pod.
    pub fn of(pod: &Pod) -> Self {
        Self { uid: pod.metadata.uid.clone(), is_done: is_done(pod) }
    }
}

/// What to do about a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing.
    Leave,
    /// Write this status; if nothing is allocated after that, take the protection away as well.
    Release(Box<ResourceClaim>),
    /// Take the protection away: nothing is allocated, and the claim is to go.
    Unprotect,
    /// Delete it: it was made for a pod that is done.
    Delete,
}

/// Whether a pod will run no more.
pub fn is_done(pod: &Pod) -> bool {
    let never_ran = pod.metadata.deletion_timestamp.is_some() && pod.spec.node_name.is_empty();
    matches!(pod.status.phase.as_str(), "Succeeded" | "Failed") || never_ran
}

/// The names of the pods that must be known to decide about a claim.
pub fn users(claim: &ResourceClaim) -> Vec<&str> {
    let reserved = claim.status.reserved_for.iter();
    let reserved = reserved.filter(|one| is_pod(&one.api_group, &one.resource)).map(|one| one.name.as_str());
    let mut names: Vec<&str> = reserved.chain(owner(claim).map(|(name, _)| name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Decides about a claim; `pod` tells of a pod by its name, and must know whether it is gone.
pub fn decide(claim: &ResourceClaim, pod: &dyn Fn(&str) -> Option<User>) -> Step {
    let uses = |name: &str, uid: &str| pod(name).is_some_and(|user| user.uid == uid && !user.is_done);
    // Who else than pods may use a claim is not known here, so others are left alone.
    let mut remaining = claim.status.reserved_for.clone();
    remaining.retain(|one| !is_pod(&one.api_group, &one.resource) || uses(&one.name, &one.uid));
    let is_protected = claim.metadata.finalizers.iter().any(|finalizer| finalizer == PROTECTION);
    let goes = claim.metadata.deletion_timestamp.is_some();
    let was_used = remaining.len() < claim.status.reserved_for.len();
    let is_free = remaining.is_empty() && is_protected && (was_used || goes);
    if was_used || (is_free && claim.status.allocation.is_some()) {
        let mut released = claim.clone();
        released.status.reserved_for = remaining;
        if is_free {
            released.status.allocation = None;
            // What drivers said about devices that are no longer the claim's means nothing.
            released.status.devices.clear();
        }
        return Step::Release(Box::new(released));
    }
    if is_free {
        return Step::Unprotect;
    }
    match owner(claim) {
        Some((name, uid)) if !goes && !uses(name, uid) => Step::Delete,
        _ => Step::Leave,
    }
}

/// The claim without its protection, if it has one and needs it no more.
pub fn unprotected(claim: &ResourceClaim) -> Option<ResourceClaim> {
    let is_protected = claim.metadata.finalizers.iter().any(|finalizer| finalizer == PROTECTION);
    (is_protected && claim.status.allocation.is_none()).then(|| {
        let mut free = claim.clone();
        free.metadata.finalizers.retain(|finalizer| finalizer != PROTECTION);
        free
    })
}

fn is_pod(group: &str, resource: &str) -> bool {
    group.is_empty() && resource == "pods"
}

/// The pod that the claim was made for, by name and uid.
fn owner(claim: &ResourceClaim) -> Option<(&str, &str)> {
    let owners = claim.metadata.owner_references.iter();
    let mut pods = owners
        .filter(|owner| owner.controller == Some(true) && owner.kind == "Pod" && owner.api_version == "v1");
    pods.next().map(|owner| (owner.name.as_str(), owner.uid.as_str()))
}

#[cfg(test)]
mod tests {
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

    fn protected() -> Value {
        json!({ "finalizers": [PROTECTION] })
    }

    /// Pods that are named after their uid: `done…` is done, `gone…` is not there.
    fn pod(name: &str) -> Option<User> {
        let user = User { uid: name.to_owned(), is_done: name.starts_with("done") };
        (!name.starts_with("gone")).then_some(user)
    }

    fn decided(claim: &ResourceClaim) -> Step {
        decide(claim, &pod)
    }

    fn released(claim: &ResourceClaim) -> ResourceClaim {
        match decided(claim) {
            Step::Release(claim) => *claim,
            other => panic!("{other:?} is no release"),
        }
    }

    #[test]
    fn who_is_done_or_gone_uses_a_claim_no_more() {
        let left = released(&claim(&protected(), &used_by(&["a", "done", "gone"])));
        assert_eq!(left.status.reserved_for.iter().map(|one| one.uid.as_str()).collect::<Vec<_>>(), ["a"]);
        assert!(left.status.allocation.is_some() && !left.status.devices.is_empty());
        assert_eq!(decided(&left), Step::Leave);
    }

    #[test]
    fn the_last_user_gives_the_devices_back() {
        let left = released(&claim(&protected(), &used_by(&["done"])));
        assert!(left.status.allocation.is_none() && left.status.devices.is_empty());
        let free = unprotected(&left).expect("nothing is allocated");
        assert!(free.metadata.finalizers.is_empty());
        assert_eq!((unprotected(&free), decided(&free)), (None, Step::Leave));
    }

    #[test]
    fn a_claim_that_nobody_uses_yet_keeps_its_devices_unless_it_goes() {
        assert_eq!(decided(&claim(&protected(), &used_by(&[]))), Step::Leave);
        let mut going = protected();
        going["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
        assert!(released(&claim(&going, &used_by(&[]))).status.allocation.is_none());
        assert_eq!(decided(&claim(&going, &json!({}))), Step::Unprotect);
        assert_eq!(decided(&claim(&going, &used_by(&["a"]))), Step::Leave);
    }

    #[test]
    fn a_claim_that_was_made_for_a_pod_goes_when_the_pod_is_done() {
        let made_for = |pod: &str| {
            let owner =
                json!({ "apiVersion": "v1", "kind": "Pod", "name": pod, "uid": pod, "controller": true });
            claim(&json!({ "ownerReferences": [owner] }), &json!({}))
        };
        assert_eq!(decided(&made_for("a")), Step::Leave);
        assert_eq!(decided(&made_for("done")), Step::Delete);
        assert_eq!(decided(&made_for("gone")), Step::Delete);
        assert_eq!(users(&made_for("a")), ["a"]);
    }

    #[test]
    fn others_than_pods_are_left_alone() {
        let group = json!({ "apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "gone", "uid": "gone" });
        let shared = claim(&protected(), &json!({ "allocation": { "devices": {} }, "reservedFor": [group] }));
        assert_eq!((decided(&shared), users(&shared)), (Step::Leave, Vec::new()));
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
}
