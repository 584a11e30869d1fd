//! What a cluster does by itself besides its controllers: what belongs to somebody who is gone goes too.
//!
//! It is done at one moment, without faults: it is not this that is tried here.

use controllers::garbage::{self, Action};
use serde_json::Value;

use super::api::{Api, Listed, text};
use super::dice::Dice;
use super::extras::OWNERS;
use super::shown::Shown;

/// Claims go with the pods that they were made for, and pods with their owners.
pub(crate) fn collect_garbage(api: &mut Api) {
    let kinds = ["Pod", "ResourceClaim"].into_iter().chain(OWNERS.map(|(kind, ..)| kind));
    let lists: Vec<Listed> = kinds.map(|kind| api.list(kind)).collect();
    let all: Vec<&Shown> = lists.iter().flat_map(|list| list.iter()).map(|(_, object)| &**object).collect();
    // Of who belongs to nobody and stays, it only matters that it is there.
    let has_ties =
        |meta: &Value| ["ownerReferences", "deletionTimestamp"].iter().any(|name| meta.get(name).is_some());
    let ties = |object: &&Shown| {
        let meta = &object["metadata"];
        let metadata = if has_ties(meta) { meta.clone() } else { Value::Null };
        garbage::Object { uid: text(&meta["uid"]).to_owned(), metadata }
    };
    let objects: Vec<garbage::Object> = all.iter().map(ties).collect();
    for (at, action) in garbage::collect(&objects) {
        let meta = &all[at]["metadata"];
        if action == Action::Delete {
            let place = (text(&meta["namespace"]), text(&meta["name"]));
            let _ = api.delete(text(&all[at]["kind"]), place, None, None);
        }
    }
}

/// Pods go with their nodes, after a while.
pub(crate) fn remove_stranded(api: &mut Api, dice: &mut Dice, calm: bool) {
    for (key, pod) in &*api.list("Pod") {
        let node = text(&pod["spec"]["nodeName"]);
        let is_stranded = !node.is_empty() && api.get("Node", "", node).is_none();
        if is_stranded && (calm || dice.per_mille(100)) {
            let _ = api.delete("Pod", (&key.namespace, &key.name), Some(0), None);
        }
    }
}
