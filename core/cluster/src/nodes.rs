//! Nodes with the pods on them.
//!
//! Invariant: sums are those of the pods listed. A pod is added once and taken away once, by its uid, so what is left over
//! after all pods went is nothing.

pub mod label_sets;
pub mod placed_terms;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use model::identity::{NodeName, PodUid};
use model::node::Node;
use model::pod::{HostPort, Pod, Resources};
use rustc_hash::FxHashMap;

pub use crate::node_idx::NodeIdx;
use crate::shared_list::SharedList;
use crate::shared_map::SharedMap;
use label_sets::LabelSets;
use placed_terms::PlacedTerms;

/// A node, and what the pods on it use.
#[derive(Clone, Debug, Default)]
pub struct NodeState {
    /// The node; absent while only pods on it are known.
    pub node: Option<Arc<Node>>,
    /// What its pods use.
    pub used: Resources,
    /// The same as scores count it.
    pub used_scored: Resources,
    /// The ports that are taken, and by how many pods.
    pub ports: BTreeMap<HostPort, u32>,
    /// The pods, by uid.
    pub pods: BTreeMap<PodUid, Arc<Pod>>,
    /// How many of them have rules about which pods they must be near or apart from.
    pub pods_with_rules: u32,
    /// Grows with every change of the node or of its pods.
    pub revision: u64,
}

impl NodeState {
    /// Adds a pod, wherever else it is.
    pub fn put(&mut self, pod: Arc<Pod>) {
        self.count(&pod, 1);
        self.pods.insert(pod.uid.clone(), pod);
    }

    /// Takes a pod away, if it is here.
    pub fn take(&mut self, uid: &str) -> Option<Arc<Pod>> {
        let pod = self.pods.remove(uid)?;
        self.count(&pod, -1);
        Some(pod)
    }

    fn count(&mut self, pod: &Pod, sign: i64) {
        self.used.add(&pod.shape.requests, sign);
        self.used_scored.add(&pod.shape.scored, sign);
        for port in &pod.shape.ports {
            let count = self.ports.entry(port.clone()).or_default();
            *count = count.saturating_add_signed(sign as i32);
            if *count == 0 {
                self.ports.remove(port);
            }
        }
        if has_rules(pod) {
            self.pods_with_rules = self.pods_with_rules.saturating_add_signed(sign as i32);
        }
    }

    fn is_empty(&self) -> bool {
        self.node.is_none() && self.pods.is_empty()
    }
}

/// Whether a pod has rules about which pods it must be near or apart from.
#[must_use]
pub fn has_rules(pod: &Pod) -> bool {
    let shape = &pod.shape;
    !(shape.near.is_empty() && shape.apart.is_empty() && shape.preferred_pods.is_empty())
}

/// All nodes by number.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    states: SharedList<NodeState>,
    names: Arc<FxHashMap<NodeName, NodeIdx>>,
    free: Vec<NodeIdx>,
    /// Where each pod is, by uid.
    places: SharedMap<PodUid, NodeIdx>,
    pods_with_rules: usize,
    /// The pods by their labels, and what they ask about others.
    label_sets: LabelSets,
    placed_terms: PlacedTerms,
    /// How many pods have which priority.
    priorities: BTreeMap<i32, usize>,
    revision: u64,
}

impl Nodes {
    /// How many nodes there are at the most: those that are gone count until others take their numbers.
    #[must_use]
    pub fn count_max(&self) -> usize {
        self.states.len()
    }

    /// The nodes that exist, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (NodeIdx, &NodeState)> {
        self.within(0..self.states.len())
    }

    /// The nodes that exist with these numbers, in their order.
    pub fn within(&self, numbers: Range<usize>) -> impl Iterator<Item = (NodeIdx, &NodeState)> {
        let states = numbers.clone().zip(self.states.within(numbers));
        let numbered = states.map(|(at, state)| (NodeIdx(at as u32), state));
        numbered.filter(|(_, state)| state.node.is_some())
    }

    /// The pods that have a node, also if it does not exist any more.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.states.within(0..self.states.len()).flat_map(|state| state.pods.values())
    }

    /// A node by number.
    #[must_use]
    pub fn get(&self, at: NodeIdx) -> &NodeState {
        self.states.get(at.0 as usize)
    }

    /// A node's number.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NodeIdx> {
        self.names.get(name).copied().filter(|at| self.get(*at).node.is_some())
    }

    /// Whether a pod is on a node.
    #[must_use]
    pub fn has_pod(&self, uid: &str) -> bool {
        self.places.contains_key(uid)
    }

    /// How many pods have rules about which pods they must be near or apart from.
    #[must_use]
    pub fn pods_with_rules(&self) -> usize {
        self.pods_with_rules
    }

    /// The pods by their labels, also those whose node does not exist any more.
    #[must_use]
    pub fn label_sets(&self) -> &LabelSets {
        &self.label_sets
    }

    /// What the pods ask about others, also those whose node does not exist any more.
    #[must_use]
    pub fn placed_terms(&self) -> &PlacedTerms {
        &self.placed_terms
    }

    /// The priority of the least important pod.
    #[must_use]
    pub fn priority_min(&self) -> Option<i32> {
        self.priorities.keys().next().copied()
    }

    /// The priorities of pods, the lowest first.
    pub fn priorities(&self) -> impl Iterator<Item = i32> {
        self.priorities.keys().copied()
    }

    /// A pod with the number of its node.
    #[must_use]
    pub fn pod(&self, uid: &str) -> Option<(NodeIdx, &Arc<Pod>)> {
        let at = *self.places.get(uid)?;
        Some((at, &self.get(at).pods[uid]))
    }

    /// Adds or replaces a node, and tells its number.
    pub fn apply(&mut self, node: Node) -> NodeIdx {
        let at = self.place(&node.name.clone());
        self.touch(at).node = Some(Arc::new(node));
        at
    }

    /// Takes a node away. Pods on it stay until they go by themselves.
    pub fn remove(&mut self, name: &str) -> Option<NodeIdx> {
        let at = self.find(name)?;
        self.touch(at).node = None;
        self.forget_if_empty(at, name);
        Some(at)
    }

    /// Puts a pod on the node that it names, wherever it was, and tells the node's number. A pod that names none, or has
    /// finished, is taken away.
    pub fn apply_pod(&mut self, pod: Arc<Pod>) -> Option<NodeIdx> {
        self.remove_pod(&pod.uid);
        let node = pod.node.clone().filter(|_| !pod.finished)?;
        let at = self.place(&node);
        self.places.insert(pod.uid.clone(), at);
        self.label_sets.add(at, &pod);
        if has_rules(&pod) {
            self.placed_terms.add(at, &pod);
            self.pods_with_rules += 1;
        }
        *self.priorities.entry(pod.priority).or_default() += 1;
        self.touch(at).put(pod);
        Some(at)
    }

    /// Takes a pod away, and tells the number of the node that it was on.
    pub fn remove_pod(&mut self, uid: &str) -> Option<NodeIdx> {
        let at = self.places.remove(uid)?;
        let pod = self.touch(at).take(uid).expect("a pod is on the node that is its place");
        if let Some(count) = self.priorities.get_mut(&pod.priority) {
            *count -= 1;
            if *count == 0 {
                self.priorities.remove(&pod.priority);
            }
        }
        self.label_sets.remove(at, &pod);
        if has_rules(&pod) {
            self.placed_terms.remove(at, &pod);
            self.pods_with_rules -= 1;
        }
        if let Some(name) = &pod.node {
            self.forget_if_empty(at, name);
        }
        Some(at)
    }

    fn touch(&mut self, at: NodeIdx) -> &mut NodeState {
        self.revision += 1;
        let state = self.states.get_mut(at.0 as usize);
        state.revision = self.revision;
        state
    }

    fn place(&mut self, name: &NodeName) -> NodeIdx {
        if let Some(at) = self.names.get(name) {
            return *at;
        }
        let at = self.free.pop().unwrap_or_else(|| NodeIdx(self.states.push(NodeState::default()) as u32));
        Arc::make_mut(&mut self.names).insert(name.clone(), at);
        at
    }

    fn forget_if_empty(&mut self, at: NodeIdx, name: &str) {
        if self.get(at).is_empty() {
            *self.states.get_mut(at.0 as usize) = NodeState::default();
            Arc::make_mut(&mut self.names).remove(name);
            self.free.push(at);
        }
    }
}
