//! How the nodes of a cluster are grouped.

use crate::meta::{Condition, LabelSelector, ObjectMeta};
use crate::wire::wire;

wire! {
    /// Levels of a topology, from the coarsest to the finest.
    pub object NodeTopology of "supercargo.dev/v1alpha1" {
        metadata: ObjectMeta = "metadata",
        spec: NodeTopologySpec = "spec",
        status: NodeTopologyStatus = "status",
    }
}

wire! {
    /// The levels and the nodes they are for.
    pub struct NodeTopologySpec {
        levels: Vec<TopologyLevel> = "levels",
        node_selector: Option<LabelSelector> = "nodeSelector",
    }
}

wire! {
    /// A level and the node label that says which domain a node is in.
    pub struct TopologyLevel {
        name: String = "name",
        node_label: String = "nodeLabel",
    }
}

wire! {
    /// What was found.
    pub struct NodeTopologyStatus {
        conditions: Vec<Condition> = "conditions",
        levels: Vec<TopologyLevelStatus> = "levels",
        observed_generation: i64 = "observedGeneration",
    }
}

wire! {
    /// Domains of a level, and nodes that are in none of them.
    pub struct TopologyLevelStatus {
        contradictions: Vec<TopologyContradiction> = "contradictions",
        contradictions_count: i64 = "contradictionsCount",
        domains: i64 = "domains",
        name: String = "name",
        nodes_without_label: Vec<String> = "nodesWithoutLabel",
        nodes_without_label_count: i64 = "nodesWithoutLabelCount",
    }
}

wire! {
    /// A domain that is in several domains of a coarser level.
    pub struct TopologyContradiction {
        coarser: String = "coarser",
        domain: String = "domain",
        nodes: i64 = "nodes",
        within: Vec<String> = "within",
    }
}
