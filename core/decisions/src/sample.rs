//! Nodes and pods for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::nodes::{NodeIdx, NodeState, Nodes};
use model::node::{Node, NodeTaint, NodeTaintEffect, Operator, Requirement};
use model::pod::{LabelSelector, Pod, PodId, PodTerm, Resources, Shape, Spread};

/// Labels written as `key=value`, separated by spaces.
pub fn labels(text: &str) -> BTreeMap<Arc<str>, Arc<str>> {
    let pairs = text.split_whitespace().map(|pair| pair.split_once('=').expect("key=value"));
    pairs.map(|(key, value)| (key.into(), value.into())).collect()
}

/// Picks objects with these labels.
pub fn selector(text: &str) -> LabelSelector {
    let one = |(key, value)| Requirement { key, operator: Operator::In, values: vec![value] };
    LabelSelector::All(labels(text).into_iter().map(one).collect())
}

/// A node with labels and room for ten pods.
pub fn node(name: &str, text: &str) -> Node {
    Node { name: name.into(), labels: labels(text), pods_max: 10, ..Node::default() }
}

/// A taint, written as `key=value:Effect`.
pub fn taint(text: &str) -> NodeTaint {
    let (pair, effect) = text.split_once(':').expect("an effect");
    let (key, value) = pair.split_once('=').expect("key=value");
    NodeTaint { key: key.into(), value: value.into(), effect: NodeTaintEffect::named(effect) }
}

/// A shape in namespace `ns` with labels.
pub fn shape(text: &str) -> Shape {
    Shape { namespace: "ns".into(), labels: labels(text), ..Shape::default() }
}

/// A pod on a node.
pub fn pod(name: &str, node: &str, shape: Shape) -> Pod {
    Pod {
        id: PodId { namespace: shape.namespace.clone(), name: name.into() },
        uid: name.into(),
        scheduler: "".into(),
        node: Some(node.into()),
        nominated_node: None,
        running: false,
        finished: false,
        deleting: false,
        priority: 0,
        preempts: true,
        created: None,
        started: None,
        gates: Vec::new(),
        claims: Vec::new(),
        group: None,
        landing: None,
        shape: Arc::new(shape),
    }
}

/// Nodes with pods on them.
pub fn nodes(all: impl IntoIterator<Item = Node>, pods: impl IntoIterator<Item = Pod>) -> Nodes {
    let mut nodes = Nodes::default();
    for node in all {
        nodes.apply(node);
    }
    for pod in pods {
        nodes.apply_pod(Arc::new(pod));
    }
    nodes
}

/// A node by name.
pub fn state<'a>(nodes: &'a Nodes, name: &str) -> &'a NodeState {
    nodes.get(at(nodes, name))
}

/// A node's number.
pub fn at(nodes: &Nodes, name: &str) -> NodeIdx {
    nodes.find(name).expect("the node exists")
}

/// The names of the nodes that pass.
pub fn passing<E>(nodes: &Nodes, check: impl Fn(&NodeState) -> Result<(), E>) -> String {
    let names = nodes.iter().filter(|(_, state)| check(state).is_ok());
    names.map(|(_, state)| &*state.node.as_ref().expect("it exists").name).collect::<Vec<_>>().join(" ")
}

/// Amounts of processor, memory and something else.
pub fn resources(cpu_milli: i64, memory: i64, others: &[(&str, i64)]) -> Resources {
    let others = others.iter().map(|(name, amount)| ((*name).into(), *amount)).collect();
    Resources { cpu_milli, memory, ephemeral_storage: 0, others }
}

/// Pods with these labels, in the pod's own namespace, by a node label.
pub fn term(text: &str, key: &str) -> PodTerm {
    let namespaces = vec!["ns".into()];
    PodTerm { selector: selector(text), namespaces, namespace_selector: None, key: key.into() }
}

/// Spreads pods with these labels by a node label.
pub fn spread(max_skew: i32, key: &str, text: &str) -> Spread {
    Spread {
        max_skew,
        key: key.into(),
        required: true,
        selector: selector(text),
        min_domains: 1,
        honor_affinity: true,
        honor_taints: false,
    }
}
