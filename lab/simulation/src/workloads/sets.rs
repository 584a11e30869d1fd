//! Pods of a StatefulSet: each has an ordinal in its name and PersistentVolumeClaims of its own, and unless the set is `Parallel` the
//! next is made when the one before has a node.

use std::collections::BTreeMap;

use objects::Object;
use objects::apps::StatefulSet;
use objects::core::kinds::PersistentVolumeClaim;
use serde_json::{Value, json};

use super::{is_active, named, or_empty, pod_of};
use crate::manifest::BadInput;
use crate::shelf::Key;
use crate::simulation::{PodObject, Simulation};

/// Labels of a pod with its name and its ordinal.
const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

impl Simulation {
    /// Has a set looked at, if it does not ask for too much.
    pub(super) fn begin_set(&mut self, key: &Key) -> Result<(), BadInput> {
        let Some(set) = self.shelf.get(key) else { return Ok(()) };
        self.workloads.check_count(key, replicas(set))?;
        self.life.touch(key);
        Ok(())
    }

    /// Makes the pods of a set that are to be made now; says whether there were any.
    pub(crate) fn look_at_set(&mut self, key: &Key) -> bool {
        let Some(set) = self.shelf.get(key).cloned() else { return false };
        let made: Vec<Key> = match self.due_of_set(key, &set) {
            // One that is refused would be again.
            _ if self.troubles.contains_key(key) => return false,
            due => due.into_iter().filter_map(|ordinal| self.make_member(key, &set, ordinal)).collect(),
        };
        self.workloads.count(key, made.len());
        self.make_claims_of(&made);
        for pod in &made {
            self.tell_claims_of(pod);
            self.tell_of(pod);
        }
        !made.is_empty()
    }

    /// The ordinals of the pods that are to be made now.
    fn due_of_set(&self, key: &Key, set: &Value) -> Vec<u64> {
        let ordered = set["spec"]["podManagementPolicy"] != "Parallel";
        let mut due = Vec::new();
        for ordinal in ordinals(set) {
            match self.shelf.get(&member(key, ordinal)) {
                None => due.push(ordinal),
                Some(pod) if has_node(pod) => continue,
                Some(_) => {}
            }
            if ordered {
                break;
            }
        }
        due
    }

    /// What is told of a set that could not make all of its pods.
    pub(super) fn next_of_set(&self, key: &Key, set: &Value) -> Option<String> {
        if !key.is::<StatefulSet>() {
            return None;
        }
        let pods = ordinals(set).map(|ordinal| member(key, ordinal));
        let missing = pods.clone().filter(|pod| self.shelf.get(pod).is_none()).count();
        let awaited = pods.into_iter().find(|pod| self.shelf.get(pod).is_some_and(|pod| !has_node(pod)))?;
        (missing > 0).then(|| {
            format!(", which makes {missing} more once pod {}/{} has a node", key.namespace, awaited.name)
        })
    }

    fn make_member(&mut self, key: &Key, set: &Value, ordinal: u64) -> Option<Key> {
        let name = member(key, ordinal).name;
        let mut pod = pod_of(key, set, &set["spec"]["template"]);
        let mut volumes: BTreeMap<String, Value> = BTreeMap::new();
        for template in set["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten() {
            let volume = template["metadata"]["name"].as_str().unwrap_or_default();
            let claim = format!("{volume}-{name}");
            let made = self.make_volume_claim(key, set, template, &claim);
            if let Err(what) = made {
                self.troubles.insert(key.clone(), what);
                return None;
            }
            let source = json!({ "name": volume, "persistentVolumeClaim": { "claimName": claim } });
            volumes.insert(volume.to_owned(), source);
        }
        let own = pod["spec"]["volumes"].as_array().cloned().unwrap_or_default();
        // A volume of the template with the name of a claim is replaced.
        let own = own
            .into_iter()
            .filter(|volume| !volume["name"].as_str().is_some_and(|name| volumes.contains_key(name)));
        let all: Vec<Value> = own.chain(volumes.values().cloned()).collect();
        if !all.is_empty() {
            pod["spec"]["volumes"] = json!(all);
        }
        pod["metadata"]["name"] = json!(name);
        pod["metadata"]["labels"][POD_NAME] = json!(name);
        pod["metadata"]["labels"][POD_INDEX] = json!(ordinal.to_string());
        pod["spec"]["hostname"] = json!(name);
        if set["spec"]["serviceName"].is_string() {
            pod["spec"]["subdomain"] = set["spec"]["serviceName"].clone();
        }
        self.shelf.now = self.shelf.now.plus_millis(1);
        match self.shelf.create(pod, Vec::new()) {
            Ok(made) => Some(made),
            Err(what) => {
                self.troubles.insert(key.clone(), format!("cannot make pod {name}: {what}"));
                None
            }
        }
    }

    /// Makes a PersistentVolumeClaim from a template, unless it is there.
    fn make_volume_claim(
        &mut self,
        key: &Key,
        set: &Value,
        template: &Value,
        name: &str,
    ) -> Result<(), String> {
        if self.shelf.get(&Key::of::<PersistentVolumeClaim>(&key.namespace, name)).is_some() {
            return Ok(());
        }
        let mut labels = or_empty(&template["metadata"]["labels"]);
        for (label, value) in set["spec"]["selector"]["matchLabels"].as_object().into_iter().flatten() {
            labels[label] = value.clone();
        }
        let claim = json!({
            "apiVersion": PersistentVolumeClaim::API_VERSION,
            "kind": PersistentVolumeClaim::KIND,
            "metadata": {
                "name": name,
                "namespace": key.namespace,
                "labels": labels,
                "annotations": or_empty(&template["metadata"]["annotations"]),
            },
            "spec": template["spec"],
        });
        let made = self.shelf.create(claim, Vec::new());
        let made = made
            .map_err(|what| format!("cannot make PersistentVolumeClaim {name} of {}: {what}", named(key)))?;
        self.tell_of(&made);
        Ok(())
    }
}

fn replicas(set: &Value) -> usize {
    let replicas = set["spec"]["replicas"].as_u64().unwrap_or(1);
    usize::try_from(replicas).unwrap_or(usize::MAX)
}

fn ordinals(set: &Value) -> impl Iterator<Item = u64> + Clone {
    let start = set["spec"]["ordinals"]["start"].as_u64().unwrap_or_default();
    start..start.saturating_add(replicas(set) as u64)
}

/// The pod of a set with an ordinal.
fn member(key: &Key, ordinal: u64) -> Key {
    Key::of::<PodObject>(&key.namespace, &format!("{}-{ordinal}", key.name))
}

fn has_node(pod: &Value) -> bool {
    is_active(pod) && pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty())
}
