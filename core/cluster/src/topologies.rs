//! How nodes are grouped: what a topology finds when it looks at their labels.
//!
//! Invariant: only labels say where a node is. One that lacks the label of a level is in no domain of it, and neither is one
//! whose domain contradicts the order of levels; both are told, and nothing is guessed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::pod::LabelSelector;

/// Labels of a node.
type Labels = BTreeMap<Arc<str>, Arc<str>>;

/// Levels from the coarsest to the finest, and the nodes that they are for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeTopology {
    /// Its name.
    pub name: Arc<str>,
    /// The levels.
    pub levels: Vec<Level>,
    /// The nodes.
    pub nodes: LabelSelector,
}

/// A level of a topology.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Level {
    /// What constraints call it.
    pub name: Arc<str>,
    /// The key of the label that says in which domain a node is.
    pub key: Arc<str>,
}

/// What a topology finds at one of its levels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survey<N> {
    /// The level's name.
    pub level: Arc<str>,
    /// The domains and their nodes.
    pub domains: BTreeMap<Arc<str>, Vec<N>>,
    /// Nodes that lack the label.
    pub unlabelled: Vec<N>,
    /// Domains that are in several domains of a coarser level, so that it is not known where they are.
    pub torn: BTreeMap<Arc<str>, Torn<N>>,
}

/// A domain that contradicts the order of levels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Torn<N> {
    /// Its nodes, which are in no domain of the level.
    pub nodes: Vec<N>,
    /// The coarser level.
    pub coarser: Arc<str>,
    /// The domains of that level which it is in.
    pub within: BTreeSet<Arc<str>>,
}

impl NodeTopology {
    /// Looks at the labels of nodes, level by level from the coarsest. Nodes of others are left out.
    pub fn survey<'n, N: Copy>(&self, nodes: impl IntoIterator<Item = (N, &'n Labels)>) -> Vec<Survey<N>> {
        let own: Vec<(N, &Labels)> =
            nodes.into_iter().filter(|(_, labels)| self.nodes.picks(labels)).collect();
        let survey = |at: usize| {
            let Level { name, key } = &self.levels[at];
            let (mut domains, mut unlabelled) = (BTreeMap::<Arc<str>, Vec<N>>::new(), Vec::new());
            for (node, labels) in &own {
                match labels.get(key) {
                    Some(domain) => domains.entry(domain.clone()).or_default().push(*node),
                    None => unlabelled.push(*node),
                }
            }
            let mut torn = BTreeMap::new();
            for coarser in self.levels[..at].iter().rev() {
                for (domain, within) in self.split(&own, key, &coarser.key) {
                    if let Some(nodes) = domains.remove(&domain) {
                        torn.insert(domain, Torn { nodes, coarser: coarser.name.clone(), within });
                    }
                }
            }
            Survey { level: name.clone(), domains, unlabelled, torn }
        };
        (0..self.levels.len()).map(survey).collect()
    }

    /// Domains of a level that are in several of a coarser one.
    fn split<N>(
        &self,
        own: &[(N, &Labels)],
        key: &str,
        coarser: &str,
    ) -> Vec<(Arc<str>, BTreeSet<Arc<str>>)> {
        let mut within: BTreeMap<&Arc<str>, BTreeSet<Arc<str>>> = BTreeMap::new();
        for (_, labels) in own {
            if let (Some(fine), Some(coarse)) = (labels.get(key), labels.get(coarser)) {
                within.entry(fine).or_default().insert(coarse.clone());
            }
        }
        let several = within.into_iter().filter(|(_, within)| within.len() > 1);
        several.map(|(domain, within)| (domain.clone(), within)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(of: &[(&str, &str)]) -> Labels {
        of.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    fn topology() -> NodeTopology {
        let level = |name: &str| Level { name: name.into(), key: format!("example.com/{name}").into() };
        let levels = ["zone", "block", "rack"].map(level).to_vec();
        NodeTopology { name: "racks".into(), levels, nodes: LabelSelector::All(Vec::new()) }
    }

    fn survey(nodes: &[&[(&str, &str)]]) -> Vec<Survey<usize>> {
        let nodes: Vec<Labels> = nodes
            .iter()
            .map(|of| {
                let keys: Vec<(String, &str)> =
                    of.iter().map(|(level, domain)| (format!("example.com/{level}"), *domain)).collect();
                labels(&keys.iter().map(|(key, domain)| (&**key, *domain)).collect::<Vec<_>>())
            })
            .collect();
        topology().survey(nodes.iter().enumerate())
    }

    fn domains(survey: &Survey<usize>) -> Vec<(&str, &[usize])> {
        survey.domains.iter().map(|(domain, nodes)| (&**domain, &**nodes)).collect()
    }

    #[test]
    fn a_node_without_a_label_is_in_no_domain_of_the_level() {
        let found = survey(&[&[("block", "b"), ("rack", "r")], &[("block", "b")]]);
        assert_eq!(domains(&found[1]), [("b", &[0, 1][..])]);
        assert_eq!((domains(&found[2]), &*found[2].unlabelled), (vec![("r", &[0][..])], &[1][..]));
        assert_eq!((found[0].domains.len(), &*found[0].unlabelled), (0, &[0, 1][..]));
    }

    #[test]
    fn a_rack_in_two_blocks_is_told_and_is_no_domain() {
        let found = survey(&[
            &[("block", "b1"), ("rack", "r1")],
            &[("block", "b2"), ("rack", "r1")],
            &[("rack", "r1")],
            &[("block", "b2"), ("rack", "r2")],
        ]);
        assert_eq!(domains(&found[2]), [("r2", &[3][..])]);
        let torn = &found[2].torn["r1"];
        assert_eq!((&*torn.nodes, &*torn.coarser, torn.within.len()), (&[0, 1, 2][..], "block", 2));
        assert_eq!(domains(&found[1]), [("b1", &[0][..]), ("b2", &[1, 3][..])], "blocks are not in doubt");
    }

    #[test]
    fn levels_that_are_further_apart_are_compared_too() {
        let found = survey(&[&[("zone", "z1"), ("rack", "r")], &[("zone", "z2"), ("rack", "r")]]);
        assert_eq!(&*found[2].torn["r"].coarser, "zone");
    }

    #[test]
    fn nodes_of_others_are_left_out() {
        let mut topology = topology();
        topology.nodes = LabelSelector::Nothing;
        let labels = labels(&[("example.com/rack", "r")]);
        let found = topology.survey([((), &labels)]);
        assert!(found.iter().all(|survey| survey.domains.is_empty() && survey.unlabelled.is_empty()));
    }
}
