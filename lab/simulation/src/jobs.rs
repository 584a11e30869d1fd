//! Jobs of a simulation: what controllers decide about them, done at once.
//!
//! Invariant: everything that was decided is done before the job is looked at again.

use controllers::jobs::group::{Grouping, grouping};
use controllers::jobs::{self, JobActions, PodName, TRACKING};
use controllers::pod_groups;
use gates::Gate;
use objects::Object;
use objects::batch::Job;
use objects::core::pod::Pod;
use objects::scheduling::pod_group::PodGroup;
use objects::scheduling::workload::Workload;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::shelf::Key;
use crate::simulation::Simulation;

impl Simulation {
    /// Makes the groups that workloads lack, and has every job looked at.
    pub(crate) fn begin_jobs(&mut self) {
        let groups = self.all::<PodGroup>("");
        for workload in self.all::<Workload>("") {
            for group in pod_groups::missing(&workload, &groups.iter().collect::<Vec<_>>()) {
                // Whoever took the name before keeps it.
                let _ = self.shelf.create(written(&group), Vec::new());
            }
        }
        let keys: Vec<Key> = self.shelf.keys().filter(|key| key.is::<Job>()).cloned().collect();
        keys.iter().for_each(|key| self.life.touch(key));
    }

    /// Does what there is to do for a job; says whether there was something.
    pub(crate) fn look_at_job(&mut self, key: &Key) -> bool {
        let Some(job) = self.shelf.read::<Job>(&key.namespace, &key.name) else { return false };
        let keys = self.life.pods_of.get(&job.metadata.uid).cloned().unwrap_or_default();
        let pods: Vec<Pod> =
            keys.iter().filter_map(|key| Pod::deserialize(self.shelf.get(key)?).ok()).collect();
        let pods: Vec<&Pod> = pods.iter().collect();
        let workloads = self.all::<Workload>(&key.namespace);
        let (workloads, groups) =
            (workloads.iter().collect::<Vec<_>>(), self.all::<PodGroup>(&key.namespace));
        let groups: Vec<&PodGroup> = groups.iter().collect();
        let step = if self.shelf.gates().enabled(Gate::WorkloadWithJob) && !jobs::is_finished(&job) {
            grouping(&job, &pods, &workloads, &groups)
        } else {
            Grouping::Settled(None)
        };
        let group = match step {
            Grouping::Settled(group) => group,
            Grouping::MakeWorkload(new) => return self.make_for_job(key, written(&*new)),
            Grouping::MakeGroup(new) => return self.make_for_job(key, written(&*new)),
            // Nobody changes the size of a gang while a simulation runs, and nobody's parent comes late.
            Grouping::ResizeWorkload(_) | Grouping::ResizeGroup(_) | Grouping::Wait => None,
        };
        let actions = jobs::reconcile(&job, &pods, group, self.shelf.now);
        if let Some(time) = actions.again_at {
            self.life.by(key, time);
        }
        let is_idle = actions == JobActions { again_at: actions.again_at, ..JobActions::default() };
        if !is_idle {
            self.carry_out_actions(key, actions);
        }
        !is_idle
    }

    fn make_for_job(&mut self, job: &Key, object: Value) -> bool {
        match self.shelf.create(object, Vec::new()) {
            Ok(made) => {
                self.tell_of(&made);
                self.make_claims_of(&[made]);
                self.life.touch(job);
            }
            Err(what) => drop(self.troubles.insert(job.clone(), what)),
        }
        true
    }

    fn carry_out_actions(&mut self, key: &Key, actions: JobActions) {
        let JobActions { discard, delete, make, status, release, events: _, expire, again_at: _ } = actions;
        let pod_key = |pod: &PodName| Key::of::<Pod>(&key.namespace, &pod.name);
        for pod in &discard {
            self.release_pod(&pod_key(pod));
        }
        discard.iter().chain(&delete).for_each(|pod| self.remove_pod(&pod_key(pod)));
        let is_good = self.make_pods(key, &make);
        if let Some(status) = status
            && let Some(mut job) = self.shelf.get(key).cloned()
        {
            job["status"] = serde_json::to_value(status).expect("a status can be written");
            if let Err(what) = self.shelf.replace(key, job, Some("status")) {
                self.troubles.insert(key.clone(), what);
                return;
            }
        }
        release.iter().for_each(|pod| self.release_pod(&pod_key(pod)));
        if expire {
            self.expire(key);
        } else if is_good {
            self.life.touch(key);
        }
    }

    /// Makes pods and their claims; says whether all could be made. One that is refused would be again.
    fn make_pods(&mut self, job: &Key, pods: &[Pod]) -> bool {
        let mut made = Vec::new();
        for pod in pods {
            // A moment passes, so that who comes first is first in line.
            self.shelf.now = self.shelf.now.plus_millis(1);
            match self.shelf.create(written(pod), Vec::new()) {
                Ok(key) => made.push(key),
                Err(what) => drop(self.troubles.insert(job.clone(), what)),
            }
        }
        self.workloads.count(job, made.len());
        self.make_claims_of(&made);
        for key in &made {
            self.tell_claims_of(key);
            self.tell_of(key);
        }
        made.len() == pods.len()
    }

    /// A pod is counted: what kept it is taken away, and if it was only kept it goes.
    fn release_pod(&mut self, key: &Key) {
        let Some(mut pod) = self.shelf.get(key).cloned() else { return };
        if let Some(finalizers) = pod["metadata"]["finalizers"].as_array_mut() {
            finalizers.retain(|finalizer| finalizer != TRACKING);
        }
        let goes = pod["metadata"].get("deletionTimestamp").is_some();
        if self.shelf.replace(key, pod, None).is_err() {
            return;
        }
        if goes { self.remove_pod(key) } else { self.tell_of(key) }
    }

    /// A job goes, and its pods with it.
    fn expire(&mut self, key: &Key) {
        let uid = self.shelf.get(key).and_then(|job| job["metadata"]["uid"].as_str().map(str::to_owned));
        let pods = uid.and_then(|uid| self.life.pods_of.remove(&uid)).unwrap_or_default();
        for pod in pods {
            self.release_pod(&pod);
            self.remove_pod(&pod);
        }
        self.shelf.delete(key);
    }

    /// All objects of a kind in a namespace, or everywhere if none is named.
    fn all<K: Object>(&self, namespace: &str) -> Vec<K> {
        let all = self.shelf.keys().filter(|key| key.is::<K>());
        let here = all.filter(|key| namespace.is_empty() || key.namespace == namespace);
        here.filter_map(|key| self.shelf.read(&key.namespace, &key.name)).collect()
    }
}

fn written<K: Object>(object: &K) -> Value {
    let mut value = object.write_value();
    value["apiVersion"] = json!(K::API_VERSION);
    value["kind"] = json!(K::KIND);
    value
}
