//! What became of our own workloads, as their status says it.
//!
//! Invariant: only pods that have not ended are counted, and only by their labels. Where they are is read from the labels of
//! their nodes, and why others wait from what the scheduler has noted on them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::topologies::NodeTopology;
use model::timestamp::Timestamp;
use objects::Time;
use objects::core::node::Node;
use objects::core::pod::{Pod, PodCondition};
use objects::meta::Condition;
use objects::supercargo::annotations::{POD_GROUP_LABEL, REPLICA_LABEL, WORKLOAD_LABEL};
use objects::supercargo::workload::{
    PodGroup, PodGroupStatus, ReplicaDomain, ReplicaStatus, Workload, WorkloadStatus,
};

/// Whether every replica of a group has as many pods on nodes as it needs, and whether every group of a workload is placed.
pub const PLACED: &str = "Placed";

/// How many replicas of a group are told of one by one, and how many domains of a level.
const TOLD_MAX: usize = 16;

/// How much is told of why a replica waits.
const MESSAGE_MAX: usize = 512;

/// Labels of a node.
type Labels = BTreeMap<Arc<str>, Arc<str>>;

/// Where nodes are.
pub struct Map<'a> {
    nodes: &'a dyn Fn(&str) -> Option<&'a Node>,
    topologies: Vec<NodeTopology>,
}

/// The workload of our own kind that a pod belongs to, and its group there.
pub fn workload_of(pod: &Pod) -> Option<(&str, &str)> {
    joined_by(&pod.metadata.labels)
}

/// The workload of our own kind that pods with these labels join, and their group there.
pub(crate) fn joined_by(labels: &BTreeMap<String, String>) -> Option<(&str, &str)> {
    let label = |key: &str| labels.get(key).map(String::as_str).filter(|text| !text.is_empty());
    Some((label(WORKLOAD_LABEL)?, label(POD_GROUP_LABEL)?))
}

/// What is there of one replica.
#[derive(Default)]
struct Replica<'p> {
    bound: i32,
    waiting: i32,
    nodes: BTreeSet<&'p str>,
    /// The first pod that was told why it waits, and why.
    why: Option<(&'p str, &'p str)>,
}

/// Replicas by group and by number.
type Replicas<'p> = BTreeMap<(&'p str, i32), Replica<'p>>;

/// The status of a workload, if it is another than it has.
pub fn status<'p>(
    workload: &Workload,
    pods: impl IntoIterator<Item = &'p Pod>,
    map: &Map<'_>,
    now: Timestamp,
) -> Option<WorkloadStatus> {
    let mut replicas = Replicas::new();
    for pod in pods {
        let is_over = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
        let is_here = pod.metadata.namespace == workload.metadata.namespace;
        let Some((name, group)) = workload_of(pod).filter(|_| is_here && !is_over) else { continue };
        let number = pod.metadata.labels.get(REPLICA_LABEL).map_or(Ok(0), |number| number.parse());
        if let (true, Ok(number)) = (name == workload.metadata.name, number) {
            replicas.entry((group, number)).or_default().count(pod);
        }
    }
    let groups = workload.spec.pod_groups.iter();
    let pod_groups: Vec<PodGroupStatus> =
        groups.map(|group| group_status(workload, group, &replicas, map, now)).collect();
    let is_placed = |group: &&PodGroupStatus| {
        group.conditions.iter().any(|one| one.type_ == PLACED && one.status == "True")
    };
    let placed = pod_groups.iter().filter(is_placed).count();
    let verdict = Verdict {
        reason: if placed == pod_groups.len() { "Placed" } else { "Waiting" },
        message: format!("{placed} of {} pod groups have their pods on nodes", pod_groups.len()),
    };
    let found = WorkloadStatus {
        observed_generation: workload.metadata.generation,
        conditions: noted(workload, &workload.status.conditions, verdict, now),
        pod_groups,
        ..workload.status.clone()
    };
    (found != workload.status).then_some(found)
}

impl<'p> Replica<'p> {
    fn count(&mut self, pod: &'p Pod) {
        if !pod.spec.node_name.is_empty() {
            self.bound += 1;
            self.nodes.insert(&pod.spec.node_name);
            return;
        }
        self.waiting += 1;
        let is_refused = |known: &&PodCondition| known.type_ == "PodScheduled" && known.status == "False";
        let said = pod.status.conditions.iter().find(is_refused).map(|known| known.message.as_str());
        let said =
            said.filter(|message| !message.is_empty()).map(|message| (pod.metadata.name.as_str(), message));
        // Whatever the order in which pods are told of, the same one is asked.
        self.why = self.why.into_iter().chain(said).min();
    }
}

/// Whether something is placed, and why not.
struct Verdict {
    reason: &'static str,
    message: String,
}

fn group_status(
    workload: &Workload,
    group: &PodGroup,
    replicas: &Replicas<'_>,
    map: &Map<'_>,
    now: Timestamp,
) -> PodGroupStatus {
    let wanted = group.replicas.unwrap_or(1);
    let needed = group.policy.gang.as_ref().map_or(1, |gang| gang.min_count);
    let none = Replica::default();
    let of = |number: i32| replicas.get(&(group.name.as_str(), number)).unwrap_or(&none);
    let (placed, waiting): (Vec<i32>, Vec<i32>) = (0..wanted).partition(|number| of(*number).bound >= needed);
    let first = waiting.first().map(|number| (number, why_waiting(of(*number), needed)));
    let mut message = format!("{} of {wanted} replicas have {needed} pods on nodes", placed.len());
    if let Some((number, (_, why))) = first.as_ref().filter(|(_, (_, why))| !why.is_empty()) {
        message = format!("{message}; replica {number}: {why}");
    }
    let verdict = Verdict { reason: first.map_or("Placed", |(_, (reason, _))| reason), message };
    let known = workload.status.pod_groups.iter().find(|known| known.name == group.name);
    let known = known.map_or(&[][..], |known| &known.conditions);
    // Those that lack nothing more and have everybody on nodes are of the least interest.
    let (full, joining): (Vec<i32>, Vec<i32>) =
        placed.iter().copied().partition(|number| of(*number).waiting == 0);
    let told = waiting.into_iter().chain(joining).chain(full).filter(|number| of(*number).is_there());
    PodGroupStatus {
        bound: (0..wanted).map(|number| of(number).bound).sum(),
        conditions: noted(workload, known, verdict, now),
        name: group.name.clone(),
        placed_replicas: i32::try_from(placed.len()).unwrap_or(i32::MAX),
        replicas: told
            .take(TOLD_MAX)
            .map(|number| replica_status(number, of(number), group, needed, map))
            .collect(),
        ..PodGroupStatus::default()
    }
}

impl Replica<'_> {
    fn is_there(&self) -> bool {
        self.bound + self.waiting > 0
    }
}

/// Why a replica has too few pods on nodes, in a word and in a sentence.
fn why_waiting(replica: &Replica<'_>, needed: i32) -> (&'static str, String) {
    let there = replica.bound + replica.waiting;
    match replica.why {
        _ if there < needed => ("TooFewPods", format!("{there} pods exist, and {needed} are needed")),
        Some((_, why)) => ("Unschedulable", shortened(why)),
        None => ("Waiting", String::new()),
    }
}

fn shortened(text: &str) -> String {
    text[..text.floor_char_boundary(MESSAGE_MAX)].to_owned()
}

fn replica_status(
    number: i32,
    replica: &Replica<'_>,
    group: &PodGroup,
    needed: i32,
    map: &Map<'_>,
) -> ReplicaStatus {
    let constraints = group.scheduling_constraints.iter().flat_map(|known| &known.topology_constraints);
    let located = |level: &str| {
        let mut names: BTreeSet<String> =
            replica.nodes.iter().filter_map(|node| map.domain(level, &map.labels(node)?)).collect();
        while names.len() > TOLD_MAX {
            names.pop_last();
        }
        let names = names.into_iter().collect();
        ReplicaDomain { level: level.to_owned(), names, ..ReplicaDomain::default() }
    };
    let domains = constraints.map(|constraint| located(&constraint.level));
    let message = match replica.why {
        _ if replica.bound < needed => why_waiting(replica, needed).1,
        Some((_, why)) => shortened(why),
        None => String::new(),
    };
    ReplicaStatus {
        bound: replica.bound,
        domains: domains.filter(|known| !known.names.is_empty()).collect(),
        message,
        replica: number.to_string(),
        waiting: replica.waiting,
        ..ReplicaStatus::default()
    }
}

impl<'a> Map<'a> {
    /// A map of nodes, which are found by their names, and of how they are grouped.
    pub fn new(
        nodes: &'a dyn Fn(&str) -> Option<&'a Node>,
        topologies: impl IntoIterator<Item = &'a objects::supercargo::node_topology::NodeTopology>,
    ) -> Self {
        let topologies = topologies.into_iter().filter_map(|known| convert::node_topology(known).ok());
        Self { nodes, topologies: topologies.collect() }
    }

    fn labels(&self, node: &str) -> Option<Labels> {
        let labels = (self.nodes)(node)?.metadata.labels.iter();
        Some(labels.map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect())
    }

    /// The domain of a level that a node is in: a level of a topology by its name, or else the key of a label.
    fn domain(&self, level: &str, labels: &Labels) -> Option<String> {
        let named = |topology: &&NodeTopology| topology.levels.iter().any(|known| &*known.name == level);
        let topologies: Vec<&NodeTopology> = self.topologies.iter().filter(named).collect();
        if topologies.is_empty() {
            return labels.get(level).map(ToString::to_string);
        }
        topologies.iter().filter(|topology| topology.nodes.picks(labels)).find_map(|topology| {
            let key = &topology.levels.iter().find(|known| &*known.name == level)?.key;
            let domain = labels.get(key)?;
            // Racks of two topologies are two, whatever their names.
            Some(if topologies.len() == 1 {
                domain.to_string()
            } else {
                format!("{}:{domain}", topology.name)
            })
        })
    }
}

/// These conditions with the one that says whether something is placed; it keeps the time since when that is so.
fn noted(workload: &Workload, known: &[Condition], verdict: Verdict, now: Timestamp) -> Vec<Condition> {
    let status = if verdict.reason == "Placed" { "True" } else { "False" };
    let before = known.iter().find(|known| known.type_ == PLACED && known.status == status);
    let condition = Condition {
        last_transition_time: before.and_then(|known| known.last_transition_time).or(Some(Time(now))),
        message: verdict.message,
        observed_generation: workload.metadata.generation,
        reason: verdict.reason.to_owned(),
        status: status.to_owned(),
        type_: PLACED.to_owned(),
        ..Condition::default()
    };
    let others = known.iter().filter(|known| known.type_ != PLACED).cloned();
    others.chain([condition]).collect()
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
        workload.status = told(&workload, &pods, now).expect("there was none");
        let group = &workload.status.pod_groups[0];
        assert_eq!((group.bound, &*group.conditions[0].status), (3, "False"));
        assert_eq!(group.conditions[0].message, "1 of 2 replicas have 2 pods on nodes");
        assert_eq!((group.placed_replicas, &*group.conditions[0].reason), (1, "Waiting"));
        let whole = &workload.status.conditions[0];
        assert_eq!(
            (&*whole.type_, &*whole.status, &*whole.message),
            (PLACED, "False", "0 of 1 pod groups have their pods on nodes")
        );
        assert_eq!(told(&workload, &pods, Timestamp::from_micros(2_000_000)), None);
        pods.push(pod("w", Some("1"), "m", "Running"));
        let group = told(&workload, &pods, now).expect("one more").pod_groups.remove(0);
        assert_eq!((group.bound, &*group.conditions[0].status), (4, "True"));
    }

    /// Nodes n and m, which are in racks r0 and r1 of one block.
    fn told(workload: &Workload, pods: &[Pod], now: Timestamp) -> Option<WorkloadStatus> {
        let nodes = [("n", "r0"), ("m", "r1")].map(|(name, rack)| {
            let labels = json!({ "example.com/rack": rack, "block": "b" });
            let node = json!({ "metadata": { "name": name, "labels": labels } });
            serde_json::from_value::<Node>(node).expect("a node")
        });
        let levels = json!([{ "name": "rack", "nodeLabel": "example.com/rack" }]);
        let topology = json!({ "metadata": { "name": "floor" }, "spec": { "levels": levels } });
        let topology = serde_json::from_value(topology).expect("a topology");
        let find = |name: &str| nodes.iter().find(|node| node.metadata.name == name);
        status(workload, pods, &Map::new(&find, [&topology]), now)
    }

    #[test]
    fn a_replica_says_where_it_is_and_what_the_others_lack() {
        let mut workload = workload();
        let constraints = json!({ "topologyConstraints": [{ "level": "block" }, { "level": "rack" }] });
        workload.spec.pod_groups[0].scheduling_constraints =
            Some(serde_json::from_value(constraints).expect("constraints"));
        let waits = |name: &str, message: &str| {
            let mut waits = pod("w", Some("1"), "", "Pending");
            waits.metadata.name = name.to_owned();
            let condition = json!({ "type": "PodScheduled", "status": "False", "message": message });
            waits.status.conditions.push(serde_json::from_value(condition).expect("a condition"));
            waits
        };
        let sentence = "pod group is unschedulable, no rack has room: r0 comes closest";
        let mut pods = vec![
            pod("w", Some("0"), "n", "Running"),
            pod("w", Some("0"), "m", "Running"),
            waits("b", "an older one"),
            waits("a", sentence),
        ];
        let now = Timestamp::from_micros(1_000_000);
        let group = told(&workload, &pods, now).expect("there was none").pod_groups.remove(0);
        assert_eq!(group.conditions[0].reason, "Unschedulable");
        let message = format!("1 of 2 replicas have 2 pods on nodes; replica 1: {sentence}");
        assert_eq!(group.conditions[0].message, message);
        let said = serde_json::to_value(&group.replicas).expect("a status can be written");
        let domains = json!([
            { "level": "block", "names": ["b"] },
            { "level": "rack", "names": ["r0", "r1"] },
        ]);
        assert_eq!(
            said,
            json!([
                { "replica": "1", "waiting": 2, "message": sentence },
                { "replica": "0", "bound": 2, "domains": domains },
            ])
        );
        pods.pop();
        let group = told(&workload, &pods, now).expect("there was none").pod_groups.remove(0);
        assert_eq!(group.conditions[0].reason, "TooFewPods");
        assert_eq!(group.replicas[0].message, "1 pods exist, and 2 are needed");
    }

    #[test]
    fn of_many_replicas_those_that_wait_are_told_of() {
        let mut workload = workload();
        workload.spec.pod_groups[0].replicas = Some(40);
        let all = (0..40).flat_map(|number| {
            let node = if number < 39 { "n" } else { "" };
            [(); 2].map(|()| pod("w", Some(&number.to_string()), node, "Pending"))
        });
        let pods: Vec<Pod> = all.collect();
        let now = Timestamp::from_micros(1_000_000);
        let group = told(&workload, &pods, now).expect("there was none").pod_groups.remove(0);
        let numbers: Vec<i32> = group.replicas.iter().filter_map(|one| one.replica.parse().ok()).collect();
        assert_eq!((group.placed_replicas, group.bound), (39, 78));
        assert_eq!(numbers, [39].into_iter().chain(0..15).collect::<Vec<_>>());
    }
}
