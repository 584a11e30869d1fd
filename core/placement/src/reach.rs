//! Where devices can be used that a gang is to share.

use std::collections::BTreeSet;

use cluster::nodes::NodeIdx;

use crate::generator::{Domain, PlacementGenerator};

/// The part of each domain that a set of devices reaches.
#[derive(Clone, Debug)]
pub struct ReachGenerator<'r> {
    /// What people call the set.
    pub name: &'r str,
    /// The nodes that can use its devices.
    pub nodes: &'r BTreeSet<NodeIdx>,
}

impl PlacementGenerator for ReachGenerator<'_> {
    fn generate(&self, within: &[Domain]) -> Vec<Domain> {
        let narrowed = |parent: &Domain| {
            let seen = parent.nodes.iter().zip(&parent.parts).filter(|(node, _)| self.nodes.contains(node));
            let (nodes, parts): (Vec<NodeIdx>, Vec<u32>) = seen.map(|(node, part)| (*node, *part)).unzip();
            let name = parent.name.with(self.name);
            (!nodes.is_empty()).then(|| Domain { name, nodes, parts, ..parent.clone() })
        };
        within.iter().filter_map(narrowed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain_name::DomainName;

    #[test]
    fn what_devices_do_not_reach_is_left_out() {
        let domain = |name: DomainName, nodes: &[u32]| Domain {
            name,
            parts: nodes.to_vec(),
            ..Domain::whole(nodes.iter().map(|at| NodeIdx(*at)).collect())
        };
        let rack = |name: &str, nodes: &[u32]| domain(DomainName::Part(name.into()), nodes);
        let reached = BTreeSet::from([NodeIdx(1), NodeIdx(2)]);
        let generator = ReachGenerator { name: "pool a/b", nodes: &reached };
        let found =
            generator.generate(&[rack("r0", &[0, 1]), rack("r1", &[3]), domain(DomainName::Cluster, &[2])]);
        let told: Vec<(Option<&str>, &[u32])> =
            found.iter().map(|one| (one.name.part(), &*one.parts)).collect();
        assert_eq!(told, [(Some("r0 with pool a/b"), &[1][..]), (Some("pool a/b"), &[2][..])]);
    }
}
