//! What a cluster does by itself besides its controllers: what belongs to somebody who is gone goes too.
//!
//! It is done at one moment, without faults: it is not this that is tried here.

use std::sync::Arc;

use controllers::garbage::{self, Action};
use serde_json::Value;

use super::api::{Api, text};
use super::dice::Dice;
use super::extras::OWNERS;

/// Claims go with the pods that they were made for, and pods with their owners.
pub(crate) fn collect_garbage(api: &mut Api) {
    let kinds = ["Pod", "ResourceClaim"].into_iter().chain(OWNERS.map(|(kind, ..)| kind));
    let all: Vec<Arc<Value>> = kinds.flat_map(|kind| api.list(kind)).map(|(_, object)| object).collect();
    let ties = |object: &Arc<Value>| garbage::Object {
        uid: text(&object["metadata"]["uid"]).to_owned(),
        metadata: object["metadata"].clone(),
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
    for (key, pod) in api.list("Pod") {
        let node = text(&pod["spec"]["nodeName"]);
        let is_stranded = !node.is_empty() && api.get("Node", "", node).is_none();
        if is_stranded && (calm || dice.per_mille(100)) {
            let _ = api.delete("Pod", (&key.namespace, &key.name), Some(0), None);
        }
    }
}
