//! Pods that are all alike: a Deployment has a ReplicaSet, which has pods with made-up names.

use std::collections::BTreeMap;

use objects::Object;
use objects::apps::ReplicaSet;
use serde_json::{Value, json};

use super::{controller, hash_of, is_active, or_empty, owned_by, pod_of};
use crate::manifest::BadInput;
use crate::shelf::Key;
use crate::simulation::Simulation;

/// The label that tells the pods of one template from those of another.
const TEMPLATE_HASH: &str = "pod-template-hash";

impl Simulation {
    /// Makes the ReplicaSet of a Deployment, unless it was given one.
    pub(super) fn make_replica_set(&mut self, key: &Key) -> Result<(), BadInput> {
        let Some(deployment) = self.shelf.get(key).cloned() else { return Ok(()) };
        let uid = &deployment["metadata"]["uid"];
        let is_own = |set: &Value| controller(set).is_some_and(|owner| owner["uid"] == *uid);
        let given: Vec<Key> = self
            .shelf
            .all::<ReplicaSet>()
            .filter(|(_, set)| is_own(set))
            .map(|(key, _)| key.clone())
            .collect();
        if !given.is_empty() {
            self.workloads.parents.extend(given.into_iter().map(|set| (set, key.clone())));
            return Ok(());
        }
        let mut template = deployment["spec"]["template"].clone();
        let hash = hash_of(&template);
        let mut selector = or_empty(&deployment["spec"]["selector"]);
        selector["matchLabels"][TEMPLATE_HASH] = json!(hash);
        template["metadata"]["labels"][TEMPLATE_HASH] = json!(hash);
        let set = json!({
            "apiVersion": ReplicaSet::API_VERSION,
            "kind": ReplicaSet::KIND,
            "metadata": {
                "name": format!("{}-{hash}", key.name),
                "namespace": key.namespace,
                "labels": template["metadata"]["labels"],
                "ownerReferences": [owned_by(key, &deployment)],
            },
            "spec": {
                "replicas": deployment["spec"]["replicas"].as_i64().unwrap_or(1),
                "selector": selector,
                "template": template,
            },
        });
        let set = self.make_for(key, set)?;
        self.workloads.parents.insert(set, key.clone());
        Ok(())
    }

    /// Makes the pods that a ReplicaSet or ReplicationController lacks.
    pub(super) fn make_replicas(
        &mut self,
        key: &Key,
        pods: &BTreeMap<String, Vec<Key>>,
    ) -> Result<(), BadInput> {
        let Some(set) = self.shelf.get(key).cloned() else { return Ok(()) };
        let uid = set["metadata"]["uid"].as_str().unwrap_or_default();
        let given = pods.get(uid).into_iter().flatten().filter_map(|pod| self.shelf.get(pod));
        let given = given.filter(|pod| is_active(pod)).count();
        let wanted = set["spec"]["replicas"].as_u64().unwrap_or(1);
        let missing = usize::try_from(wanted).unwrap_or(usize::MAX).saturating_sub(given);
        self.workloads.check_count(key, missing)?;
        let mut pod = pod_of(key, &set, &set["spec"]["template"]);
        pod["metadata"]["generateName"] = json!(format!("{}-", key.name));
        for _ in 0..missing {
            self.make_for(key, pod.clone())?;
        }
        self.workloads.count(key, missing);
        Ok(())
    }
}
