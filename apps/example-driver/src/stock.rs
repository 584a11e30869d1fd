//! What the controller has to give, and how much of it is left.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::shelf::Shelf;

/// What can be had.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Kind {
    /// An accelerator that every node reaches over the network.
    Accelerator,
    /// An FPGA and a NIC of one node, joined.
    FpgaWithNic,
    /// Something of the network that one can do without: a claim gets nothing when there is nothing left.
    Optional,
    /// Something of one node.
    Local,
}

impl Kind {
    /// Whether it can be used on the node only that it was given for.
    pub(crate) fn is_local(self) -> bool {
        matches!(self, Kind::FpgaWithNic | Kind::Local)
    }
}

impl fmt::Display for Kind {
    /// The word that classes and claims have for it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Kind::Accelerator => "accelerator",
            Kind::FpgaWithNic => "fpgaWithNic",
            Kind::Optional => "optional",
            Kind::Local => "local",
        })
    }
}

/// What a claim was given; it is written into the claim's handle.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Given {
    pub(crate) kind: Kind,
    /// The node that it was given for; empty if it was for none.
    pub(crate) node: String,
    /// How many; none if there were none left and that is all right.
    pub(crate) count: u64,
}

impl fmt::Display for Given {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            0 => write!(out, "none of {}", self.kind),
            count => write!(out, "{count} of {}", self.kind),
        }?;
        if self.node.is_empty() { Ok(()) } else { write!(out, " for node {}", self.node) }
    }
}

/// What there is.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(crate) struct Stock {
    /// How many accelerators there are.
    pub(crate) accelerators: u64,
    /// How many optional ones there are.
    pub(crate) optional: u64,
    /// What nodes have that do not report it themselves.
    pub(crate) nodes: BTreeMap<String, Shelf>,
}

impl Stock {
    /// How many of a kind are left for a node that has this much, with what was given.
    pub(crate) fn left<'g>(
        &self,
        kind: Kind,
        (node, shelf): (&str, Shelf),
        given: impl Iterator<Item = &'g Given>,
    ) -> u64 {
        let all = match kind {
            Kind::Accelerator => self.accelerators,
            Kind::Optional => self.optional,
            Kind::Local => shelf.local,
            // One of each is needed, so that the fewer decide.
            Kind::FpgaWithNic => shelf.fpgas.min(shelf.nics),
        };
        let here = given.filter(|one| one.kind == kind && (!kind.is_local() || one.node == node));
        all.saturating_sub(here.map(|one| one.count).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(kind: Kind, node: &str, count: u64) -> Given {
        Given { kind, node: node.to_owned(), count }
    }

    #[test]
    fn what_is_given_is_missing_where_it_was_given() {
        let text = "accelerators: 3\nnodes: {a: {fpgas: 2, nics: 1, local: 4}, b: {local: 1}}\n";
        let stock: Stock = serde_saphyr::from_str(text).expect("a good stock");
        let taken = [given(Kind::Accelerator, "a", 2), given(Kind::Local, "a", 1)];
        let shelf = |node| stock.nodes.get(node).copied().unwrap_or_default();
        let left = |kind, node| stock.left(kind, (node, shelf(node)), taken.iter());
        assert_eq!(left(Kind::Accelerator, "b"), 1, "the network is one");
        assert_eq!((left(Kind::Local, "a"), left(Kind::Local, "b")), (3, 1));
        assert_eq!((left(Kind::FpgaWithNic, "a"), left(Kind::FpgaWithNic, "b")), (1, 0));
        assert_eq!((left(Kind::Optional, "a"), left(Kind::Local, "nowhere")), (0, 0));
    }
}
