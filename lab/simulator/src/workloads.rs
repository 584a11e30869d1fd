//! Pods that wait for a workload of our own kind, or for others of their group.

use objects::supercargo::annotations::{POD_GROUP_LABEL, REPLICA_LABEL, WORKLOAD_LABEL};
use objects::supercargo::workload::{PodGroup, Workload};
use serde_json::Value;

use crate::simulation::{PodObject, Simulation};

/// The value of a label.
fn label<'o>(object: &'o Value, key: &str) -> Option<&'o str> {
    object["metadata"]["labels"][key].as_str().filter(|value| !value.is_empty())
}

impl Simulation {
    /// Why a pod that names a workload is not looked at.
    pub(crate) fn lacks_workload(&self, object: &Value) -> Option<String> {
        let (name, group) = (label(object, WORKLOAD_LABEL)?, label(object, POD_GROUP_LABEL)?);
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let Some(workload) = self.shelf.read::<Workload>(namespace, name) else {
            return Some(format!("it waits for workload {name}, which is not here"));
        };
        let Some(known) = workload.spec.pod_groups.iter().find(|known| known.name == group) else {
            return Some(format!("workload {name} has no group {group}"));
        };
        let replica = label(object, REPLICA_LABEL).unwrap_or("0");
        let replicas = known.replicas.unwrap_or(1);
        if !replica.parse::<i32>().is_ok_and(|number| (0..replicas).contains(&number)) {
            return Some(format!(
                "group {group} of workload {name} has {replicas} replicas, and no {replica}"
            ));
        }
        self.lacks_members(namespace, name, known, replica)
    }

    fn lacks_members(&self, namespace: &str, name: &str, group: &PodGroup, replica: &str) -> Option<String> {
        let needed = group.policy.gang.as_ref().map_or(1, |gang| gang.min_count);
        let is_member = |pod: &Value| {
            pod["metadata"]["namespace"] == namespace
                && label(pod, WORKLOAD_LABEL) == Some(name)
                && label(pod, POD_GROUP_LABEL) == Some(group.name.as_str())
                && label(pod, REPLICA_LABEL).unwrap_or("0") == replica
        };
        let members = self.shelf.all::<PodObject>().filter(|(_, pod)| is_member(pod)).count();
        let group = &group.name;
        (members < usize::try_from(needed).unwrap_or(0)).then(|| {
            format!("replica {replica} of group {group} needs {needed} pods at once, and has {members}")
        })
    }
}
