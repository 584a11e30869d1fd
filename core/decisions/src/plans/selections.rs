//! The node that is selected for each pod whose claims are negotiated about, and the pods of each node.

use model::identity::{NodeName, PodUid};
use std::collections::{BTreeMap, BTreeSet};

/// Nodes that are chosen, in contexts as the API has them or as they are being written.
#[derive(Clone, Debug, Default)]
pub struct Selections {
    /// The node of each pod, by its uid.
    of: BTreeMap<PodUid, NodeName>,
    /// Uids of pods by their node.
    at: BTreeMap<NodeName, BTreeSet<PodUid>>,
}

impl Selections {
    /// This node is chosen for a pod, or none.
    pub fn set(&mut self, pod: &PodUid, node: Option<&NodeName>) {
        if let Some(before) = self.of.remove(pod)
            && let Some(pods) = self.at.get_mut(&before)
        {
            pods.remove(pod);
            if pods.is_empty() {
                self.at.remove(&before);
            }
        }
        if let Some(node) = node {
            self.of.insert(pod.clone(), node.clone());
            self.at.entry(node.clone()).or_default().insert(pod.clone());
        }
    }

    /// The node that is chosen for a pod.
    pub fn of(&self, pod: &str) -> Option<&NodeName> {
        self.of.get(pod)
    }

    /// The nodes that are chosen for others than a pod, and for how many.
    pub(crate) fn counts<'s>(&'s self, pod: &'s str) -> impl Iterator<Item = (&'s NodeName, usize)> {
        let own = self.of.get(pod);
        self.at.iter().map(move |(node, pods)| (node, pods.len() - usize::from(own == Some(node))))
    }

    /// Uids of the other pods that a node is chosen for.
    pub(crate) fn others_at<'s>(&'s self, node: &str, pod: &'s str) -> impl Iterator<Item = &'s PodUid> {
        self.at.get(node).into_iter().flatten().filter(move |other| ***other != *pod)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_one_node_and_is_no_other_to_itself() {
        let mut selections = Selections::default();
        let mut choose = |pod: &str, node: Option<&str>| {
            let (pod, node) = (PodUid::from(pod), node.map(NodeName::from));
            selections.set(&pod, node.as_ref());
            let count = |node: &str| selections.others_at(node, "x").count();
            assert!(selections.counts("x").all(|(node, others)| others == count(node)));
            (selections.of(&pod).map(ToString::to_string), count("a"), count("b"))
        };
        assert_eq!(choose("p", Some("a")), (Some("a".to_owned()), 1, 0));
        assert_eq!(choose("p", Some("b")), (Some("b".to_owned()), 0, 1));
        assert_eq!(choose("q", Some("b")), (Some("b".to_owned()), 0, 2));
        assert_eq!(choose("x", Some("b")), (Some("b".to_owned()), 0, 2));
        for pod in ["p", "q", "x"] {
            choose(pod, None);
        }
        assert!(selections.of.is_empty() && selections.at.is_empty());
    }
}
