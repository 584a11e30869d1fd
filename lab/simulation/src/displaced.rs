//! Pods that others displaced: what becomes of their claims, as controllers would see to it, and what is told of them.

use cluster::change::Change;
use controllers::claims::{self, ClaimAction};
use model::group::GroupId;
use model::pod::PodId;
use objects::Object;
use objects::resource::claim::ResourceClaim;
use objects::supercargo::control;
use scheduler::engine::Input;
use serde_json::{Value, json};

use crate::outcome::PodOutcome;
use crate::shelf::Key;
use crate::simulation::{PodObject, Simulation};

impl Simulation {
    /// A pod is gone: the engine hears of it, claims that were made for it go with it, and others that nobody uses any
    /// more give their devices back.
    pub(crate) fn pod_went(&mut self, pod: &PodObject) {
        let uid = pod.metadata.uid.as_str();
        self.tell(Input::Changed(Change::PodGone(uid.into())));
        self.release_claims_of(uid);
    }

    /// Claims that were made for a pod go, and others that it used and that nobody uses any more give their devices back.
    pub(crate) fn release_claims_of(&mut self, uid: &str) {
        let uses = |claim: &Value| {
            let users = claim["status"]["reservedFor"].as_array().into_iter().flatten();
            users.into_iter().any(|user| user["uid"] == uid)
        };
        let claims: Vec<(Key, Value)> = self
            .shelf
            .all::<ResourceClaim>()
            .filter(|(_, claim)| is_owned(claim, uid) || uses(claim))
            .map(|(key, claim)| (key.clone(), claim.clone()))
            .collect();
        for (key, claim) in claims {
            let given =
                ResourceClaim::read_value(&claim).is_ok_and(|one| !control::controller(&one).is_empty());
            if given {
                self.ask_back(&key, &claim, uid);
            } else if is_owned(&claim, uid) {
                self.remove_claim(&key, claim);
            } else {
                self.release_claim(&key, claim, uid);
            }
        }
    }

    /// What becomes of a claim that a driver gave devices: they are asked back. There is no driver here that would take them.
    fn ask_back(&mut self, key: &Key, before: &Value, uid: &str) {
        let around = claims::Around { is_gone: &|user| user.uid == uid, is_wanted: true };
        while let Some(claim) = self.shelf.read::<ResourceClaim>(&key.namespace, &key.name) {
            let done = match claims::decide(&claim, &around) {
                ClaimAction::Leave | ClaimAction::Unprotect => break,
                ClaimAction::Release(released) => self.shelf.replace(key, json!(released), Some("status")),
                ClaimAction::AskBack(asked) => self.shelf.replace(key, json!(asked), None),
                ClaimAction::Delete => {
                    self.shelf.delete(key);
                    Ok(())
                }
            };
            if done.is_err() {
                break;
            }
        }
        match (self.shelf.get(key), convert::change::gone(before)) {
            (None, Ok(Some(change))) => self.tell(Input::Changed(change)),
            _ => self.tell_of(key),
        }
    }

    fn remove_claim(&mut self, key: &Key, mut claim: Value) {
        // What protects a claim is the claim controller's, which lets go of one that has no owner.
        claim["metadata"]["finalizers"] = json!([]);
        if self.shelf.replace(key, claim.clone(), None).is_err() {
            return;
        }
        self.shelf.delete(key);
        if let Ok(Some(change)) = convert::change::gone(&claim) {
            self.tell(Input::Changed(change));
        }
    }

    fn release_claim(&mut self, key: &Key, mut claim: Value, uid: &str) {
        let status = &mut claim["status"];
        if let Some(users) = status["reservedFor"].as_array_mut() {
            users.retain(|user| user["uid"] != uid);
        }
        let is_unused = status["reservedFor"].as_array().is_none_or(Vec::is_empty);
        if let Some(status) = status.as_object_mut().filter(|_| is_unused) {
            for field in ["reservedFor", "allocation", "devices"] {
                status.remove(field);
            }
        }
        if self.shelf.replace(key, claim, Some("status")).is_ok() {
            self.tell_of(key);
        }
    }

    /// Keeps who displaced a pod.
    pub(crate) fn note_displaced(&mut self, pod: &PodId, by: &PodId, group: Option<&GroupId>, node: &str) {
        let key = Key::of::<PodObject>(&pod.namespace, &pod.name);
        let reason = match group {
            Some(group) => format!("it was preempted by pod group {group}, which goes to {node}"),
            None => {
                format!("it was preempted by pod {}/{}, which goes to node {node}", by.namespace, by.name)
            }
        };
        self.displaced.insert(key, reason);
    }

    /// What is told of pods that are gone.
    pub(crate) fn displaced_outcomes(&self) -> impl Iterator<Item = PodOutcome> {
        let gone = self.displaced.iter().filter(|(key, _)| self.shelf.get(key).is_none());
        gone.map(|(key, reason)| PodOutcome {
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            node: None,
            reason: Some(reason.clone()),
            ended: None,
        })
    }
}

/// Whether a claim was made for a pod.
fn is_owned(claim: &Value, uid: &str) -> bool {
    let mut owners = claim["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.any(|owner| owner["uid"] == uid)
}
