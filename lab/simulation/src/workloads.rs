//! Pods of workloads, made as their controllers would make them: Deployments, replica sets and replication controllers, stateful
//! sets, daemon sets and cron jobs. Jobs themselves are in `jobs.rs`, since they live on as their pods end.
//!
//! Invariant: pods that were given and belong to a workload count as its pods, so that the objects of a whole cluster are not
//! multiplied.

mod cron_jobs;
mod daemons;
mod replicas;
mod sets;

use std::collections::BTreeMap;

use objects::Object;
use objects::apps::{ReplicaSet, StatefulSet};
use objects::batch::Job;
use objects::core::kinds::ReplicationController;
use objects::kept::{CronJob, DaemonSet, Deployment};
use serde_json::{Value, json};

use crate::manifest::{BadInput, Manifest, Place};
use crate::shelf::{Key, kind_of};
use crate::simulation::{PodObject, Simulation};

/// The kinds that are pods or that pods are made for.
pub const POD_KINDS: [&str; 8] = [
    PodObject::KIND,
    Deployment::KIND,
    StatefulSet::KIND,
    DaemonSet::KIND,
    Job::KIND,
    CronJob::KIND,
    ReplicaSet::KIND,
    ReplicationController::KIND,
];

/// How many pods are made for workloads at most: as many as Kubernetes supports in a cluster.
const PODS_MAX: usize = 150_000;

/// Whether a manifest is a pod, or a workload that pods are made for.
#[must_use]
pub fn makes_pods(manifest: &Manifest) -> bool {
    names_pods(manifest) && kind_of(&manifest.value).is_ok()
}

/// Whether a manifest has the name of such a kind, in whatever version.
#[must_use]
pub fn names_pods(manifest: &Manifest) -> bool {
    manifest.value["kind"].as_str().is_some_and(|kind| POD_KINDS.contains(&kind))
}

/// What became of workloads.
#[derive(Default)]
pub(crate) struct Workloads {
    /// Where each was written.
    places: BTreeMap<Key, Place>,
    /// How many pods were made for each.
    made: BTreeMap<Key, usize>,
    /// The workload that another was made for: a Deployment for a ReplicaSet, and a CronJob for a Job.
    parents: BTreeMap<Key, Key>,
}

impl Workloads {
    /// A workload was given.
    pub(crate) fn take_in(&mut self, key: &Key, place: &Place) {
        if key.kind != PodObject::KIND && POD_KINDS.contains(&key.kind.as_str()) {
            self.places.insert(key.clone(), place.clone());
        }
    }

    /// Pods were made for a workload.
    pub(crate) fn count(&mut self, key: &Key, pods: usize) {
        let workload = self.parents.get(key).unwrap_or(key).clone();
        *self.made.entry(workload).or_default() += pods;
    }

    fn bad(&self, key: &Key, what: &str) -> BadInput {
        let written = self.parents.get(key).unwrap_or(key);
        let place = self.places.get(written).cloned();
        let place = place.unwrap_or_else(|| Place { file: named(written), line: 1 });
        BadInput::at(place, format!("{}: {what}", named(written)))
    }

    /// Fails if so many more pods are too many.
    fn check_count(&self, key: &Key, pods: usize) -> Result<(), BadInput> {
        let made: usize = self.made.values().sum();
        if made.saturating_add(pods) <= PODS_MAX {
            return Ok(());
        }
        let hint = format!(
            "a simulation makes at most {PODS_MAX} pods for workloads, as many as a cluster can have"
        );
        Err(self.bad(key, &format!("too many pods: {pods}; hint: {hint}")))
    }
}

/// A workload as people name it.
fn named(key: &Key) -> String {
    format!("{} {}/{}", key.kind, key.namespace, key.name)
}

impl Simulation {
    /// Makes the pods of all workloads that make them at once, and has the others looked at.
    pub(crate) fn begin_workloads(&mut self) -> Result<(), BadInput> {
        for key in self.shelf.in_order() {
            if key.is::<Deployment>() {
                self.make_replica_set(&key)?;
            } else if key.is::<CronJob>() {
                self.make_job(&key)?;
            }
        }
        let pods = self.pods_by_owner();
        for key in self.shelf.in_order() {
            if key.is::<ReplicaSet>() || key.is::<ReplicationController>() {
                self.make_replicas(&key, &pods)?;
            } else if key.is::<DaemonSet>() {
                self.make_daemons(&key, &pods)?;
            } else if key.is::<StatefulSet>() {
                self.begin_set(&key)?;
            } else if key.is::<Job>() {
                let object = self.shelf.get(&key);
                let at_once =
                    object.map(|job| job["spec"]["parallelism"].as_u64().unwrap_or(1)).unwrap_or_default();
                let all = object.and_then(|job| job["spec"]["completions"].as_u64()).unwrap_or(at_once);
                self.workloads.check_count(&key, usize::try_from(at_once.min(all)).unwrap_or(usize::MAX))?;
            }
        }
        Ok(())
    }

    /// The pods that were given, by the uid of their controller.
    fn pods_by_owner(&self) -> BTreeMap<String, Vec<Key>> {
        let mut pods: BTreeMap<String, Vec<Key>> = BTreeMap::new();
        for (key, object) in self.shelf.all::<PodObject>() {
            if let Some(uid) = controller(object).and_then(|owner| owner["uid"].as_str()) {
                pods.entry(uid.to_owned()).or_default().push(key.clone());
            }
        }
        pods
    }

    /// Stores an object that a workload needs.
    fn make_for(&mut self, workload: &Key, object: Value) -> Result<Key, BadInput> {
        // A moment passes, so that who comes first is first in line.
        self.shelf.now = self.shelf.now.plus_millis(1);
        self.shelf.create(object, Vec::new()).map_err(|what| self.workloads.bad(workload, &what))
    }

    /// What is told of the workloads in the end: how many pods were made for each.
    pub(crate) fn notes_of_workloads(&self) -> Vec<String> {
        let note = |key: &Key| {
            let made = self.workloads.made.get(key).copied().unwrap_or_default();
            let mut note = format!("{made} {} from {}", if made == 1 { "pod" } else { "pods" }, named(key));
            let object = self.shelf.get(key);
            if object.is_some_and(|object| object["spec"]["suspend"] == true) {
                note.push_str(", which is suspended");
            } else if key.is::<CronJob>() {
                note.push_str(", for one run of it");
            } else if let Some(next) = object.and_then(|set| self.next_of_set(key, set)) {
                note.push_str(&next);
            }
            note
        };
        self.workloads
            .places
            .keys()
            .filter(|key| !self.workloads.parents.contains_key(key))
            .map(note)
            .collect()
    }
}

/// The reference to the controller of an object.
pub(crate) fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

/// A reference to the controller that an object is for.
fn owned_by(key: &Key, object: &Value) -> Value {
    json!({
        "apiVersion": key.api_version, "kind": key.kind, "name": key.name, "uid": object["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// A pod as a template says, with an owner.
fn pod_of(key: &Key, owner: &Value, template: &Value) -> Value {
    let meta = &template["metadata"];
    json!({
        "apiVersion": PodObject::API_VERSION,
        "kind": PodObject::KIND,
        "metadata": {
            "namespace": key.namespace,
            "labels": or_empty(&meta["labels"]),
            "annotations": or_empty(&meta["annotations"]),
            "finalizers": meta["finalizers"].as_array().cloned().unwrap_or_default(),
            "ownerReferences": [owned_by(key, owner)],
        },
        "spec": template["spec"],
    })
}

fn or_empty(map: &Value) -> Value {
    if map.is_object() { map.clone() } else { json!({}) }
}

/// Whether a pod counts as one that its workload has.
fn is_active(pod: &Value) -> bool {
    let is_over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    !is_over && !pod["metadata"]["deletionTimestamp"].is_string()
}

/// A short text that follows from a template, in the letters that Kubernetes uses for names.
fn hash_of(template: &Value) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    // FNV-1a of 32 bits. Kubernetes takes the same sum, of another text.
    let mix = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let sum = template.to_string().bytes().fold(0x811c_9dc5, mix);
    let letter = |digit: u8| char::from(LETTERS[usize::from(digit) % LETTERS.len()]);
    sum.to_string().bytes().map(letter).collect()
}
