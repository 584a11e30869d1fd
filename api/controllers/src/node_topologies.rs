//! What topologies find on nodes, as their status says it.
//!
//! Invariant: a node that lacks a label, or whose domain contradicts the order of levels, is told and never put anywhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::topologies::{Survey, Torn};
use model::timestamp::Timestamp;
use objects::Time;
use objects::core::node::Node;
use objects::meta::Condition;
use objects::supercargo::node_topology::{
    NodeTopology, NodeTopologyStatus, TopologyContradiction, TopologyLevelStatus,
};

/// Labels of a node.
type Labels = BTreeMap<Arc<str>, Arc<str>>;

/// How many nodes, or domains, of a kind are named; the count tells of the others.
const NAMED_MAX: usize = 100;

/// Whether all nodes of the topology are in a domain of each level.
pub const WHOLE: &str = "Whole";

/// The status of a topology, if it is another than it has.
pub fn status<'n>(
    topology: &NodeTopology,
    nodes: impl IntoIterator<Item = &'n Node>,
    now: Timestamp,
) -> Option<NodeTopologyStatus> {
    let known = convert::node_topology(topology).ok()?;
    let shared = |node: &Node| -> Labels {
        let labels = node.metadata.labels.iter();
        labels.map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect()
    };
    let labelled: Vec<(&str, Labels)> =
        nodes.into_iter().map(|node| (node.metadata.name.as_str(), shared(node))).collect();
    let surveys = known.survey(labelled.iter().map(|(name, labels)| (*name, labels)));
    let mut found = NodeTopologyStatus {
        conditions: topology.status.conditions.clone(),
        levels: surveys.iter().map(level).collect(),
        observed_generation: topology.metadata.generation,
        ..NodeTopologyStatus::default()
    };
    note(&mut found, now);
    (found != topology.status).then_some(found)
}

fn level(survey: &Survey<&str>) -> TopologyLevelStatus {
    let mut unlabelled: Vec<String> = survey.unlabelled.iter().map(|name| (*name).to_owned()).collect();
    unlabelled.sort_unstable();
    let count = unlabelled.len();
    unlabelled.truncate(NAMED_MAX);
    let contradiction = |(domain, torn): (&Arc<str>, &Torn<&str>)| TopologyContradiction {
        coarser: torn.coarser.to_string(),
        domain: domain.to_string(),
        nodes: torn.nodes.len() as i64,
        within: torn.within.iter().map(ToString::to_string).take(NAMED_MAX).collect(),
        ..TopologyContradiction::default()
    };
    TopologyLevelStatus {
        contradictions: survey.torn.iter().map(contradiction).take(NAMED_MAX).collect(),
        contradictions_count: survey.torn.len() as i64,
        domains: survey.domains.len() as i64,
        name: survey.level.to_string(),
        nodes_without_label: unlabelled,
        nodes_without_label_count: count as i64,
        ..TopologyLevelStatus::default()
    }
}

/// Says whether the topology is whole, and since when.
fn note(status: &mut NodeTopologyStatus, now: Timestamp) {
    let torn = status.levels.iter().find_map(|level| Some((level, level.contradictions.first()?)));
    let bare = status.levels.iter().find(|level| level.nodes_without_label_count > 0);
    let (reason, message) = match (torn, bare) {
        (Some((level, torn)), _) => {
            let TopologyContradiction { coarser, domain, within, .. } = torn;
            let within = within.join(", ");
            let message = format!(
                "{} {domain} is in several domains of {coarser}: {within}; its nodes are ignored",
                level.name
            );
            ("Contradictory", message)
        }
        (None, Some(level)) => {
            let count = level.nodes_without_label_count;
            let first = level.nodes_without_label.first().map_or("", String::as_str);
            let message =
                format!("{count} nodes lack the label of level {}, for example {first}", level.name);
            ("LabelsMissing", message)
        }
        (None, None) => ("Labelled", "every node is in exactly one domain of each level".to_owned()),
    };
    let verdict = if reason == "Labelled" { "True" } else { "False" };
    let mut condition = Condition {
        last_transition_time: Some(Time(now)),
        message,
        observed_generation: status.observed_generation,
        reason: reason.to_owned(),
        status: verdict.to_owned(),
        type_: WHOLE.to_owned(),
        ..Condition::default()
    };
    match status.conditions.iter_mut().find(|known| known.type_ == WHOLE) {
        Some(known) => {
            if known.status == condition.status {
                condition.last_transition_time = known.last_transition_time;
            }
            *known = condition;
        }
        None => status.conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn topology() -> NodeTopology {
        let levels =
            json!([{ "name": "block", "nodeLabel": "e/block" }, { "name": "rack", "nodeLabel": "e/rack" }]);
        let object = json!({ "metadata": { "name": "t", "generation": 3 }, "spec": { "levels": levels } });
        serde_json::from_value(object).expect("a topology")
    }

    fn node(name: &str, labels: &Value) -> Node {
        let object = json!({ "metadata": { "name": name, "labels": labels } });
        serde_json::from_value(object).expect("a node")
    }

    fn told(topology: &NodeTopology, nodes: &[Node], second: i64) -> Option<NodeTopologyStatus> {
        status(topology, nodes, Timestamp::from_micros(second * 1_000_000))
    }

    #[test]
    fn domains_are_counted_and_what_is_wrong_is_named() {
        let nodes = [
            node("a", &json!({ "e/block": "b1", "e/rack": "r1" })),
            node("b", &json!({ "e/block": "b2", "e/rack": "r1" })),
            node("c", &json!({ "e/block": "b2" })),
            node("d", &json!({ "e/block": "b2", "e/rack": "r2" })),
        ];
        let found = told(&topology(), &nodes, 1).expect("there was none");
        assert_eq!((found.levels[0].domains, found.levels[1].domains), (2, 1));
        assert_eq!(found.levels[1].nodes_without_label, ["c"]);
        let torn = &found.levels[1].contradictions[0];
        assert_eq!((&*torn.domain, &*torn.coarser, torn.nodes), ("r1", "block", 2));
        assert_eq!(found.observed_generation, 3);
        let condition = &found.conditions[0];
        assert_eq!((&*condition.status, &*condition.reason), ("False", "Contradictory"));
        assert_eq!(
            condition.message,
            "rack r1 is in several domains of block: b1, b2; its nodes are ignored"
        );
    }

    #[test]
    fn a_status_is_written_only_when_it_changes() {
        let mut topology = topology();
        let nodes = [node("a", &json!({ "e/block": "b1", "e/rack": "r1" }))];
        topology.status = told(&topology, &nodes, 1).expect("there was none");
        assert_eq!(topology.status.conditions[0].status, "True");
        assert_eq!(told(&topology, &nodes, 2), None);
        let more = told(&topology, &[nodes[0].clone(), node("b", &json!({}))], 3).expect("one lacks labels");
        assert_eq!(more.conditions[0].message, "1 nodes lack the label of level block, for example b");
        assert_eq!(more.conditions[0].last_transition_time, Some(Time(Timestamp::from_micros(3_000_000))));
    }
}
