//! Where a pod wants to be, and beside whom.

use crate::meta::LabelSelector;
use crate::wire::wire;

wire! {
    /// Attractions and repulsions of a pod.
    pub struct Affinity {
        node_affinity: Option<NodeAffinity> = "nodeAffinity",
        pod_affinity: Option<PodAffinity> = "podAffinity",
        pod_anti_affinity: Option<PodAntiAffinity> = "podAntiAffinity",
    }
}

wire! {
    /// Attraction to nodes.
    pub struct NodeAffinity {
        preferred_during_scheduling_ignored_during_execution: Vec<PreferredSchedulingTerm> = "preferredDuringSchedulingIgnoredDuringExecution",
        required_during_scheduling_ignored_during_execution: Option<NodeSelector> = "requiredDuringSchedulingIgnoredDuringExecution",
    }
}

wire! {
    /// A wish for nodes, with its weight.
    pub struct PreferredSchedulingTerm {
        preference: NodeSelectorTerm = "preference",
        weight: i32 = "weight",
    }
}

wire! {
    /// Nodes that match any of the terms.
    pub struct NodeSelector {
        node_selector_terms: Vec<NodeSelectorTerm> = "nodeSelectorTerms",
    }
}

impl NodeSelector {
    /// Picks a single node, by its name.
    #[must_use]
    pub fn only(node: &str) -> NodeSelector {
        let name = NodeSelectorRequirement {
            key: "metadata.name".to_owned(),
            operator: "In".to_owned(),
            values: vec![node.to_owned()],
            ..NodeSelectorRequirement::default()
        };
        let term = NodeSelectorTerm { match_fields: vec![name], ..NodeSelectorTerm::default() };
        NodeSelector { node_selector_terms: vec![term], ..NodeSelector::default() }
    }
}

wire! {
    /// Requirements on a node that must all hold.
    pub struct NodeSelectorTerm {
        match_expressions: Vec<NodeSelectorRequirement> = "matchExpressions",
        match_fields: Vec<NodeSelectorRequirement> = "matchFields",
    }
}

wire! {
    /// One requirement on a label or field of a node.
    pub struct NodeSelectorRequirement {
        key: String = "key",
        operator: String = "operator",
        values: Vec<String> = "values",
    }
}

wire! {
    /// Attraction to other pods.
    pub struct PodAffinity {
        preferred_during_scheduling_ignored_during_execution: Vec<WeightedPodAffinityTerm> = "preferredDuringSchedulingIgnoredDuringExecution",
        required_during_scheduling_ignored_during_execution: Vec<PodAffinityTerm> = "requiredDuringSchedulingIgnoredDuringExecution",
    }
}

wire! {
    /// Repulsion from other pods.
    pub struct PodAntiAffinity {
        preferred_during_scheduling_ignored_during_execution: Vec<WeightedPodAffinityTerm> = "preferredDuringSchedulingIgnoredDuringExecution",
        required_during_scheduling_ignored_during_execution: Vec<PodAffinityTerm> = "requiredDuringSchedulingIgnoredDuringExecution",
    }
}

wire! {
    /// Other pods, and the topology within which they count.
    pub struct PodAffinityTerm {
        label_selector: Option<LabelSelector> = "labelSelector",
        match_label_keys: Vec<String> = "matchLabelKeys",
        mismatch_label_keys: Vec<String> = "mismatchLabelKeys",
        namespace_selector: Option<LabelSelector> = "namespaceSelector",
        namespaces: Vec<String> = "namespaces",
        topology_key: String = "topologyKey",
    }
}

wire! {
    /// A wish about other pods, with its weight.
    pub struct WeightedPodAffinityTerm {
        pod_affinity_term: PodAffinityTerm = "podAffinityTerm",
        weight: i32 = "weight",
    }
}

wire! {
    /// How evenly pods are spread over the domains of a topology.
    pub struct TopologySpreadConstraint {
        label_selector: Option<LabelSelector> = "labelSelector",
        match_label_keys: Vec<String> = "matchLabelKeys",
        max_skew: i32 = "maxSkew",
        min_domains: Option<i32> = "minDomains",
        node_affinity_policy: Option<String> = "nodeAffinityPolicy",
        node_taints_policy: Option<String> = "nodeTaintsPolicy",
        topology_key: String = "topologyKey",
        when_unsatisfiable: String = "whenUnsatisfiable",
    }
}

wire! {
    /// Node taints that a pod bears.
    pub struct Toleration {
        effect: String = "effect",
        key: String = "key",
        operator: String = "operator",
        toleration_seconds: Option<i64> = "tolerationSeconds",
        value: String = "value",
    }
}
