//! What became of our own workloads, as their status says it.
//!
//! Invariant: only pods that are bound and have not ended are counted, and only by their labels.

use std::collections::BTreeMap;

use model::timestamp::Timestamp;
use objects::Time;
use objects::core::pod::Pod;
use objects::meta::Condition;
use objects::supercargo::annotations::{POD_GROUP_LABEL, REPLICA_LABEL, WORKLOAD_LABEL};
use objects::supercargo::workload::{PodGroup, PodGroupStatus, Workload, WorkloadStatus};

/// Whether every replica of a group has as many pods on nodes as it needs.
pub const PLACED: &str = "Placed";

/// The workload of our own kind that a pod belongs to, and its group there.
pub fn workload_of(pod: &Pod) -> Option<(&str, &str)> {
    let label = |key: &str| pod.metadata.labels.get(key).map(String::as_str).filter(|text| !text.is_empty());
    Some((label(WORKLOAD_LABEL)?, label(POD_GROUP_LABEL)?))
}

/// The status of a workload, if it is another than it has.
pub fn status<'p>(
    workload: &Workload,
    pods: impl IntoIterator<Item = &'p Pod>,
    now: Timestamp,
) -> Option<WorkloadStatus> {
    let mut bound: BTreeMap<(&str, &str), i32> = BTreeMap::new();
    for pod in pods {
        let is_over = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
        let is_here = pod.metadata.namespace == workload.metadata.namespace;
        match workload_of(pod) {
            Some((name, group)) if name == workload.metadata.name && is_here && !is_over => {
                let replica = pod.metadata.labels.get(REPLICA_LABEL).map_or("0", String::as_str);
                *bound.entry((group, replica)).or_default() += i32::from(!pod.spec.node_name.is_empty());
            }
            _ => {}
        }
    }
    let group = |group: &PodGroup| group_status(workload, group, &bound, now);
    let found = WorkloadStatus {
        observed_generation: workload.metadata.generation,
        pod_groups: workload.spec.pod_groups.iter().map(group).collect(),
        ..workload.status.clone()
    };
    (found != workload.status).then_some(found)
}

fn group_status(
    workload: &Workload,
    group: &PodGroup,
    bound: &BTreeMap<(&str, &str), i32>,
    now: Timestamp,
) -> PodGroupStatus {
    let replicas = group.replicas.unwrap_or(1);
    let needed = group.policy.gang.as_ref().map_or(1, |gang| gang.min_count);
    let of_replica =
        |number: i32| bound.get(&(group.name.as_str(), number.to_string().as_str())).copied().unwrap_or(0);
    let placed = (0..replicas).filter(|number| of_replica(*number) >= needed).count();
    let known = workload.status.pod_groups.iter().find(|known| known.name == group.name);
    let mut conditions = known.map(|known| known.conditions.clone()).unwrap_or_default();
    let is_placed = placed == usize::try_from(replicas).unwrap_or(0);
    let before = conditions.iter().find(|known| known.type_ == PLACED);
    let status = if is_placed { "True" } else { "False" };
    let since = before.filter(|known| known.status == status).and_then(|known| known.last_transition_time);
    let condition = Condition {
        last_transition_time: since.or(Some(Time(now))),
        message: format!("{placed} of {replicas} replicas have {needed} pods on nodes"),
        observed_generation: workload.metadata.generation,
        reason: if is_placed { "Placed" } else { "Waiting" }.to_owned(),
        status: status.to_owned(),
        type_: PLACED.to_owned(),
        ..Condition::default()
    };
    conditions.retain(|known| known.type_ != PLACED);
    conditions.push(condition);
    PodGroupStatus {
        bound: (0..replicas).map(of_replica).sum(),
        conditions,
        name: group.name.clone(),
        ..PodGroupStatus::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workload() -> Workload {
        let group = json!({ "name": "g", "replicas": 2, "policy": { "gang": { "minCount": 2 } } });
        let object = json!({
            "metadata": { "name": "w", "namespace": "ns", "generation": 1 }, "spec": { "podGroups": [group] },
        });
        serde_json::from_value(object).expect("a workload")
    }

    fn pod(workload: &str, replica: Option<&str>, node: &str, phase: &str) -> Pod {
        let mut labels = json!({ WORKLOAD_LABEL: workload, POD_GROUP_LABEL: "g" });
        if let Some(replica) = replica {
            labels[REPLICA_LABEL] = json!(replica);
        }
        let metadata = json!({ "namespace": "ns", "labels": labels });
        let object =
            json!({ "metadata": metadata, "spec": { "nodeName": node }, "status": { "phase": phase } });
        serde_json::from_value(object).expect("a pod")
    }

    #[test]
    fn pods_on_nodes_are_counted_by_replica() {
        let mut workload = workload();
        let mut pods = vec![
            pod("w", None, "n", "Running"),
            pod("w", Some("0"), "n", "Pending"),
            pod("w", Some("1"), "n", "Running"),
            pod("w", Some("1"), "", "Pending"),
            pod("w", Some("1"), "n", "Failed"),
            pod("other", Some("1"), "n", "Running"),
        ];
        let now = Timestamp::from_micros(1_000_000);
        workload.status = status(&workload, &pods, now).expect("there was none");
        let group = &workload.status.pod_groups[0];
        assert_eq!((group.bound, &*group.conditions[0].status), (3, "False"));
        assert_eq!(group.conditions[0].message, "1 of 2 replicas have 2 pods on nodes");
        assert_eq!(status(&workload, &pods, Timestamp::from_micros(2_000_000)), None);
        pods.push(pod("w", Some("1"), "m", "Running"));
        let group = status(&workload, &pods, now).expect("one more").pod_groups.remove(0);
        assert_eq!((group.bound, &*group.conditions[0].status), (4, "True"));
    }
}
