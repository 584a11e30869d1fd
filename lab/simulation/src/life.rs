//! What happens around the scheduler as time goes on: pods that are to end start and end, and what that touches follows.
//!
//! Invariant: everything that happens has a moment, and what happens at one moment happens in the order of names. Pods of
//! whose end nobody told keep their places, and take no time.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use controllers::simulated::phases::{self, Deed};
use controllers::simulated::{EXIT_CODE, FAULT, RUN_SECONDS, Times, readiness, report};
use convert::change;
use model::timestamp::Timestamp;
use objects::Object;
use objects::apps::StatefulSet;
use objects::batch::Job;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use scheduler::engine::Input;
use scheduling::request::{ApiCall, Verb};
use serde::Deserialize;
use serde_json::Value;

use crate::shelf::Key;
use crate::simulation::{START, Simulation};
use crate::workloads::controller;

/// What is to be looked at, now and later.
pub(crate) struct Life {
    pub(crate) times: Times,
    touched: BTreeSet<Key>,
    due: BTreeSet<(Timestamp, Key)>,
    /// When each is due, to find it in `due`.
    due_at: BTreeMap<Key, Timestamp>,
    /// Pods by the uid of the job or stateful set that controls them.
    pub(crate) pods_of: BTreeMap<String, BTreeSet<Key>>,
}

impl Life {
    pub(crate) fn new(times: Times) -> Life {
        let (due, due_at) = (BTreeSet::new(), BTreeMap::new());
        Life { times, touched: BTreeSet::new(), due, due_at, pods_of: BTreeMap::new() }
    }

    /// Something happened to an object.
    pub(crate) fn touch(&mut self, key: &Key) {
        self.touched.insert(key.clone());
    }

    /// An object is to be looked at by then.
    pub(crate) fn by(&mut self, key: &Key, time: Timestamp) {
        if self.due_at.get(key).is_some_and(|known| *known <= time) {
            return;
        }
        self.forget(key);
        self.due_at.insert(key.clone(), time);
        self.due.insert((time, key.clone()));
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.due.first().map(|(time, _)| *time)
    }

    fn forget(&mut self, key: &Key) {
        if let Some(time) = self.due_at.remove(key) {
            self.due.remove(&(time, key.clone()));
        }
    }

    fn begin(&mut self, now: Timestamp) -> Option<Key> {
        let (_, key) = self.due.first().filter(|(time, _)| *time <= now)?.clone();
        self.forget(&key);
        Some(key)
    }
}

impl Simulation {
    /// Does what there is to do by now; says whether there was something.
    pub(crate) fn live(&mut self) -> bool {
        let mut was_busy = false;
        while let Some(key) = self.life.begin(self.shelf.now) {
            was_busy = true;
            if key.is::<Pod>() { self.act(&key) } else { self.life.touch(&key) }
        }
        let mut owners = BTreeSet::new();
        for key in std::mem::take(&mut self.life.touched) {
            if key.is::<Pod>() {
                owners.extend(self.plan_pod(&key));
            } else {
                owners.insert(key);
            }
        }
        for owner in owners {
            was_busy |= if owner.is::<Job>() { self.look_at_job(&owner) } else { self.look_at_set(&owner) };
        }
        was_busy
    }

    /// Plans what is next for a pod, and gives the workload that may have something to do now.
    fn plan_pod(&mut self, key: &Key) -> Option<Key> {
        let object = self.shelf.get(key)?;
        let owner = followed_owner(object);
        if owner.is_none() && !self.concerns(object) {
            return None;
        }
        let pod = Pod::read_value(object).ok()?;
        if let Some((wait, _)) = self.next_of(&pod) {
            let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
            self.life.by(key, self.shelf.now.plus_millis(millis));
        }
        let (owner, uid) = owner?;
        self.life.pods_of.entry(uid).or_default().insert(key.clone());
        Some(owner)
    }

    /// Whether something happens to a pod by itself.
    fn concerns(&self, pod: &Value) -> bool {
        let annotations = &pod["metadata"]["annotations"];
        let is_told = [RUN_SECONDS, EXIT_CODE, FAULT].iter().any(|name| annotations[name].is_string());
        let has_node = pod["spec"]["nodeName"].is_string();
        has_node && (is_told || self.life.times.run.is_some())
    }

    /// What is next for a pod that has a node, if it is to end some day, or is on its way out.
    fn next_of(&self, pod: &Pod) -> Option<(std::time::Duration, Deed)> {
        let node: Node = self.shelf.read("", &pod.spec.node_name)?;
        let is_going = pod.metadata.deletion_timestamp.is_some();
        let is_told = [RUN_SECONDS, FAULT].iter().any(|name| pod.metadata.annotations.contains_key(*name));
        let matters = is_going || is_told || phases::ends_by_itself(pod, self.life.times);
        let lives = report::lives(&node) && matters;
        lives.then(|| phases::next(&as_of(self.shelf.now, pod), self.shelf.now, self.life.times)).flatten()
    }

    /// The time has come for a pod.
    fn act(&mut self, key: &Key) {
        let Some(pod) = self.shelf.get(key).and_then(|pod| Pod::deserialize(pod).ok()) else { return };
        let Some((wait, deed)) = self.next_of(&pod) else { return };
        if !wait.is_zero() && !deed.waits_from_now() {
            return self.life.touch(key);
        }
        if deed == Deed::Start && self.refusal(&pod).is_some() {
            // What frees or gives a claim touches the pods that it is for.
            return;
        }
        match phases::said(&pod, deed, self.shelf.now) {
            Some(said) => self.say(key, said),
            None => self.remove_pod(key),
        }
        if matches!(deed, Deed::End { .. } | Deed::Stop) {
            self.release_claims_of(&pod.metadata.uid);
        }
    }

    fn refusal(&self, pod: &Pod) -> Option<String> {
        let namespace = &pod.metadata.namespace;
        let names: Vec<&str> = readiness::claims_of(pod).collect();
        let claims: BTreeMap<&str, ResourceClaim> =
            names.iter().filter_map(|name| Some((*name, self.shelf.read(namespace, name)?))).collect();
        readiness::refusal(pod, &|name| claims.get(name))
    }

    /// Writes what a node says of a pod.
    fn say(&mut self, key: &Key, said: Value) {
        let call = ApiCall {
            verb: Verb::Patch,
            kind: Pod::KIND,
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            subresource: Some("status"),
            body: said,
        };
        match self.shelf.perform(call) {
            Ok(_) => self.tell_of(key),
            Err(what) => drop(self.troubles.insert(key.clone(), what)),
        }
    }

    /// A pod goes; one that something keeps is only told to.
    pub(crate) fn remove_pod(&mut self, key: &Key) {
        let Some(before) = self.shelf.get(key).cloned() else { return };
        self.shelf.delete(key);
        if self.shelf.get(key).is_some() {
            return self.tell_of(key);
        }
        if let Ok(Some(change)) = change::gone(&before) {
            self.tell(Input::Changed(change));
        }
        let Ok(pod) = Pod::read_value(&before) else { return };
        if let Some((owner, uid)) = followed_owner(&before) {
            self.life.touch(&owner);
            if let Some(pods) = self.life.pods_of.get_mut(&uid) {
                pods.remove(key);
            }
        }
        self.pod_went(&pod);
    }
}

/// The controller of a pod, with its uid, if it is one that does something when its pods change.
fn followed_owner(pod: &Value) -> Option<(Key, String)> {
    let owner = controller(pod)?;
    let (namespace, name) = (pod["metadata"]["namespace"].as_str()?, owner["name"].as_str()?);
    let key = match owner["kind"].as_str()? {
        Job::KIND => Key::of::<Job>(namespace, name),
        StatefulSet::KIND => Key::of::<StatefulSet>(namespace, name),
        _ => return None,
    };
    Some((key, owner["uid"].as_str()?.to_owned()))
}

/// A pod whose containers began to run, or crashed, in the time of the simulation: what a cluster noted, which has another clock,
/// counts as the beginning of the simulation.
fn as_of(now: Timestamp, pod: &Pod) -> Cow<'_, Pod> {
    let is_of_here = |time: &objects::Time| (START..=now).contains(&time.0);
    let Some(state) = pod.status.container_statuses.first().map(|container| &container.state) else {
        return Cow::Borrowed(pod);
    };
    let began = state.running.as_ref().and_then(|running| running.started_at).or(pod.status.start_time);
    if began.as_ref().is_none_or(is_of_here) {
        return Cow::Borrowed(pod);
    }
    let mut pod = pod.clone();
    for container in &mut pod.status.container_statuses {
        if let Some(running) = &mut container.state.running {
            running.started_at = Some(objects::Time(START));
        }
    }
    pod.status.start_time = Some(objects::Time(START));
    Cow::Owned(pod)
}
