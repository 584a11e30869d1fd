//! What a cluster does by itself: claims are made from templates and given back, and pods run, end and go.
//!
//! They look at the API and write to it at one moment, without faults: it is not them that is tried here.

use std::collections::BTreeMap;
use std::sync::Arc;

use controllers::claim_templates::{self, Around, Step};
use controllers::garbage::{self, Action};
use convert::change::CLAIM_FINALIZER;
use objects::Object;
use objects::core::pod::Pod;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use objects::scheduling::pod_group::PodGroup;
use serde::Deserialize;
use serde_json::{Value, json};
use store::Key;

use super::api::{Api, text};
use super::dice::Dice;

/// Makes claims from templates, and gives back what nobody uses.
pub(crate) fn tend(api: &mut Api) {
    make_claims(api);
    collect_garbage(api);
    let pods: BTreeMap<String, Arc<Value>> =
        api.list("Pod").into_iter().map(|(_, pod)| (text(&pod["metadata"]["uid"]).to_owned(), pod)).collect();
    for (_, claim) in api.list("ResourceClaim") {
        give_back(api, &claim, &pods);
    }
}

fn make_claims(api: &mut Api) {
    for (key, pod) in api.list("Pod") {
        if lacks_claims(api, &key.namespace, &pod) {
            make_claims_of(api, &key, &pod);
        }
    }
}

/// Whether a claim is to be made for a pod that is not over, or one that was made is gone.
fn lacks_claims(api: &mut Api, namespace: &str, pod: &Value) -> bool {
    let entries = pod["spec"]["resourceClaims"].as_array().into_iter().flatten();
    let wanted = entries.filter(|entry| entry.get("resourceClaimTemplateName").is_some()).count();
    let noted = pod["status"]["resourceClaimStatuses"].as_array().into_iter().flatten();
    let names: Vec<&str> = noted.map(|status| text(&status["resourceClaimName"])).collect();
    let is_there = |name: &&str| api.get("ResourceClaim", namespace, name).is_some();
    !is_over(pod) && names.into_iter().filter(is_there).count() < wanted
}

fn make_claims_of(api: &mut Api, key: &Key, pod: &Value) {
    let Ok(pod) = Pod::deserialize(pod) else { return };
    let claims: Vec<ResourceClaim> = read_all(api, "ResourceClaim").into_values().collect();
    let templates: BTreeMap<Key, ResourceClaimTemplate> = read_all(api, "ResourceClaimTemplate");
    let groups: BTreeMap<Key, PodGroup> = read_all(api, "PodGroup");
    let is_owner = |claim: &ResourceClaim, uid: &str| {
        claim.metadata.owner_references.iter().any(|owner| owner.uid == uid)
    };
    let around = Around {
        template: &|name| templates.get(&Key::new(&key.namespace, name)),
        owned: &|uid| claims.iter().filter(|claim| is_owner(claim, uid)).collect(),
        group: &|name| groups.get(&Key::new(&key.namespace, name)),
        gates: api.gates(),
    };
    let mut made = Vec::new();
    for step in claim_templates::steps_for_pod(&pod, &around) {
        match step {
            Step::Note { entry, claim } => made.push((entry, claim)),
            Step::Make { entry, claim, .. } => {
                let claim = api.create(&json!(claim)).expect("a template makes good claims");
                made.push((entry, text(&claim["metadata"]["name"]).to_owned()));
            }
            Step::Wait { .. } => {}
        }
    }
    if made.is_empty() {
        return;
    }
    let mut noted = json!(pod);
    noted["status"]["resourceClaimStatuses"] = claim_templates::statuses(&pod, &made);
    api.update("Pod", &noted, true).expect("a pod may name its claims");
}

fn read_all<K: Object>(api: &mut Api, kind: &str) -> BTreeMap<Key, K> {
    let all = api.list(kind).into_iter();
    all.filter_map(|(key, object)| Some((key, K::deserialize(&*object).ok()?))).collect()
}

/// Claims go with the pods that they were made for.
fn collect_garbage(api: &mut Api) {
    let all: Vec<Arc<Value>> =
        api.list("Pod").into_iter().chain(api.list("ResourceClaim")).map(|(_, object)| object).collect();
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

/// Takes reservations of pods that are gone or over from a claim, and its devices once nobody uses it.
fn give_back(api: &mut Api, claim: &Value, pods: &BTreeMap<String, Arc<Value>>) {
    let uses = |consumer: &Value| {
        let pod = pods.get(text(&consumer["uid"]));
        pod.is_some_and(|pod| !is_over(pod) && !is_stopped(pod))
    };
    let consumers = claim["status"]["reservedFor"].as_array().cloned().unwrap_or_default();
    let left: Vec<Value> = consumers.iter().filter(|consumer| uses(consumer)).cloned().collect();
    let is_allocated = claim["status"].get("allocation").is_some();
    let mut claim = claim.clone();
    if left.len() < consumers.len() || (left.is_empty() && is_allocated) {
        if let Some(status) = claim["status"].as_object_mut() {
            status.insert("reservedFor".to_owned(), Value::Array(left.clone()));
            if left.is_empty() {
                status.remove("allocation");
            }
        }
        let written = api.update("ResourceClaim", &claim, true).expect("devices may be given back");
        claim = Value::clone(&written);
    }
    let is_free = claim["status"].get("allocation").is_none();
    if is_free && claim["metadata"].get("finalizers").is_some() && is_settled(&claim) {
        let finalizers = claim["metadata"]["finalizers"].as_array_mut();
        finalizers.into_iter().for_each(|list| list.retain(|one| one != CLAIM_FINALIZER));
        api.update("ResourceClaim", &claim, false).expect("the finalizer may go");
    }
}

/// Whether nobody is about to give the claim devices: the finalizer of one that stays is left alone.
fn is_settled(claim: &Value) -> bool {
    claim["metadata"].get("deletionTimestamp").is_some()
}

/// Runs the pods of nodes: they start, some end, and those that are deleted stop.
pub(crate) fn run_pods(api: &mut Api, dice: &mut Dice, calm: bool) {
    for (key, pod) in api.list("Pod") {
        let node = text(&pod["spec"]["nodeName"]);
        if node.is_empty() {
            continue;
        }
        let stays = api.get("Node", "", node).is_some();
        let deleting = pod["metadata"].get("deletionTimestamp").is_some();
        if deleting || (!stays && (calm || dice.per_mille(300))) {
            let _ = api.delete("Pod", (&key.namespace, &key.name), Some(0), None);
            continue;
        }
        let phase = match text(&pod["status"]["phase"]) {
            "Pending" => "Running",
            "Running" if !calm && dice.per_mille(60) => "Succeeded",
            _ => continue,
        };
        let mut pod = Value::clone(&pod);
        pod["status"]["phase"] = json!(phase);
        api.update("Pod", &pod, true).expect("a pod may run and end");
    }
}

/// The pod has ended.
pub(crate) fn is_over(pod: &Value) -> bool {
    matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed")
}

/// The pod is being deleted and was never on a node.
fn is_stopped(pod: &Value) -> bool {
    pod["metadata"].get("deletionTimestamp").is_some() && text(&pod["spec"]["nodeName"]).is_empty()
}
