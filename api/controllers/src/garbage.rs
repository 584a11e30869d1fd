//! The garbage collector: dependents go when their owners are gone, or stay, as the owner's deletion said.
//!
//! Invariant: nothing is deleted while one of its owners is there and not waiting for it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// An object as the collector sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its uid.
    pub uid: String,
    /// Its metadata.
    pub metadata: Value,
}

/// What to do with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Its owners are gone: delete it.
    Delete,
    /// It outlives an owner: take these owners out of its references.
    Disown(Vec<String>),
    /// Its dependents are dealt with: take this finalizer away.
    Release(&'static str),
}

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

fn owners(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["ownerReferences"].as_array().into_iter().flatten()
}

fn has_finalizer(metadata: &Value, name: &str) -> bool {
    metadata["finalizers"].as_array().is_some_and(|list| list.iter().any(|have| have == name))
}

fn is_deleting(metadata: &Value, how: &str) -> bool {
    metadata.get("deletionTimestamp").is_some() && has_finalizer(metadata, how)
}

/// How an object is being deleted, if it is.
#[derive(Clone, Copy)]
struct Way {
    /// It waits for its dependents to go.
    waits: bool,
    /// Its dependents stay.
    orphans: bool,
}

impl Way {
    fn of(metadata: &Value) -> Self {
        Self { waits: is_deleting(metadata, FOREGROUND), orphans: is_deleting(metadata, ORPHAN) }
    }
}

/// Decides for all objects at once; the positions are those of `objects`.
pub fn collect(objects: &[Object]) -> Vec<(usize, Action)> {
    let by_uid: BTreeMap<&str, usize> =
        objects.iter().enumerate().map(|(at, object)| (object.uid.as_str(), at)).collect();
    // Looked at once for each object, because many may name the same owner.
    let ways: Vec<Way> = objects.iter().map(|object| Way::of(&object.metadata)).collect();
    let way_of = |uid: &str| by_uid.get(uid).map(|at| ways[*at]);
    let mut actions = Vec::new();
    let mut awaited: BTreeSet<&str> = BTreeSet::new();
    let mut holders: BTreeSet<&str> = BTreeSet::new();
    for (at, object) in objects.iter().enumerate() {
        let uids: Vec<&str> = owners(&object.metadata).filter_map(|owner| owner["uid"].as_str()).collect();
        let orphaners: Vec<&str> =
            uids.iter().copied().filter(|uid| way_of(uid).is_some_and(|way| way.orphans)).collect();
        if !orphaners.is_empty() {
            holders.extend(&orphaners);
            actions.push((at, Action::Disown(orphaners.iter().map(|uid| (*uid).to_owned()).collect())));
            continue;
        }
        let waiting = |uid: &str| way_of(uid).is_some_and(|way| way.waits);
        awaited.extend(uids.iter().copied().filter(|uid| waiting(uid)));
        let solid = uids.iter().any(|uid| way_of(uid).is_some() && !waiting(uid));
        if uids.is_empty() || object.metadata.get("deletionTimestamp").is_some() {
            continue;
        }
        if !solid {
            actions.push((at, Action::Delete));
            continue;
        }
        let gone: Vec<String> =
            uids.iter().filter(|uid| way_of(uid).is_none()).map(|uid| (*uid).to_owned()).collect();
        if !gone.is_empty() {
            actions.push((at, Action::Disown(gone)));
        }
    }
    for (at, (object, way)) in objects.iter().zip(&ways).enumerate() {
        if way.waits && !awaited.contains(object.uid.as_str()) {
            actions.push((at, Action::Release(FOREGROUND)));
        } else if way.orphans && !holders.contains(object.uid.as_str()) {
            actions.push((at, Action::Release(ORPHAN)));
        }
    }
    actions
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Action, Object, collect};

    fn object(uid: &str, metadata: Value) -> Object {
        Object { uid: uid.to_owned(), metadata }
    }

    fn owned_by(uids: &[&str]) -> Value {
        json!({"ownerReferences": uids.iter().map(|uid| json!({"uid": uid})).collect::<Vec<_>>()})
    }

    #[test]
    fn an_object_goes_when_its_last_owner_is_gone() {
        assert_eq!(collect(&[object("child", owned_by(&["gone"]))]), [(0, Action::Delete)]);
        let kept = [object("a", json!({})), object("child", owned_by(&["a", "gone"]))];
        assert_eq!(collect(&kept), [(1, Action::Disown(vec!["gone".to_owned()]))]);
        assert_eq!(collect(&[object("alone", json!({}))]), []);
    }

    #[test]
    fn a_foreground_deletion_waits_for_its_dependents() {
        let owner = object("a", json!({"deletionTimestamp": "t", "finalizers": ["foregroundDeletion"]}));
        let child = object("child", owned_by(&["a"]));
        assert_eq!(collect(&[owner.clone(), child]), [(1, Action::Delete)]);
        assert_eq!(collect(&[owner]), [(0, Action::Release("foregroundDeletion"))]);
    }

    #[test]
    fn orphans_are_disowned_before_their_owner_goes() {
        let owner = object("a", json!({"deletionTimestamp": "t", "finalizers": ["orphan"]}));
        let child = object("child", owned_by(&["a"]));
        assert_eq!(collect(&[owner.clone(), child]), [(1, Action::Disown(vec!["a".to_owned()]))]);
        assert_eq!(collect(&[owner, object("child", json!({}))]), [(0, Action::Release("orphan"))]);
    }
}
