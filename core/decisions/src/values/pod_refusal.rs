//! Why no node will do for a pod.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::claim::ClaimId;

use crate::values::certainty::Certainty;
use crate::values::filter_set::{Filter, FilterSet};
use crate::values::in_the_way::{InTheWay, Remedy};
use crate::values::pod_claims::PodClaims;
use crate::values::reason::Reason;
use crate::values::wake::Wakes;

/// Why no node will do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodRefusal {
    pub(crate) nodes: usize,
    /// The node that the pod is on already, and that alone was looked at.
    pub(crate) bound_to: Option<Arc<str>>,
    /// A reason that has nothing to do with nodes.
    pub(crate) everywhere: Option<String>,
    /// The claims of the pod that need devices, which reasons name by their places.
    pub(crate) own: Vec<ClaimId>,
    /// How many nodes have which reason.
    pub(crate) reasons: BTreeMap<Reason, usize>,
    /// What came closest for devices, in a sentence of ours.
    pub(crate) nearest: Option<Reason>,
    /// A claim that has to give up its devices for the pod.
    pub(crate) in_the_way: Option<InTheWay>,
    /// The nodes on which it could help if pods went, in order.
    pub(crate) curable: Vec<NodeIdx>,
    /// The filters that say so.
    pub(crate) filters: FilterSet,
    pub(crate) wakes_on: Wakes,
    pub(crate) certainty: Certainty,
}

impl PodRefusal {
    /// The filters that say so.
    pub fn filters(&self) -> FilterSet {
        self.filters
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The nodes on which it could help if pods went, in order.
    pub(crate) fn curable(&self) -> &[NodeIdx] {
        &self.curable
    }

    /// Whether there certainly is no place.
    pub fn certainty(&self) -> Certainty {
        self.certainty
    }

    /// The changes that could undo it.
    #[must_use]
    pub fn wakes_on(&self) -> Wakes {
        self.wakes_on
    }

    /// The claim that has to give up its devices for the pod.
    pub fn in_the_way(&self) -> Option<InTheWay> {
        self.in_the_way.clone()
    }

    /// The same refusal for a pod with other claims that ask for the same.
    pub(crate) fn for_claims(mut self: Box<Self>, claims: &PodClaims) -> Box<Self> {
        self.own = claims.own();
        self
    }

    /// The same refusal for every pod that is alike.
    pub(crate) fn for_all(&self) -> PodRefusal {
        PodRefusal { own: Vec::new(), ..self.clone() }
    }

    /// The same refusal, with a claim that has to give up its devices, and other changes that could undo it.
    pub(crate) fn because_of(mut self, in_the_way: Option<InTheWay>, wakes_on: Wakes) -> Self {
        (self.in_the_way, self.wakes_on) = (in_the_way, wakes_on);
        self
    }

    pub(crate) fn everywhere(
        nodes: usize,
        reason: String,
        filter: Option<Filter>,
        wakes_on: Wakes,
    ) -> Box<PodRefusal> {
        Box::new(PodRefusal {
            nodes,
            bound_to: None,
            everywhere: Some(reason),
            own: Vec::new(),
            reasons: BTreeMap::new(),
            nearest: None,
            in_the_way: None,
            curable: Vec::new(),
            filters: filter.into_iter().collect(),
            wakes_on,
            certainty: Certainty::Proved,
        })
    }
}

impl fmt::Display for PodRefusal {
    /// Kubernetes' sentence, which tools look for, and ours after it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bound_to {
            Some(node) => write!(out, "bound to node {node} without devices for its claims:")?,
            None if self.nodes == 0 => return write!(out, "no nodes available to schedule pods"),
            None => write!(out, "0/{} nodes are available:", self.nodes)?,
        }
        match &self.everywhere {
            Some(reason) => write!(out, " {reason}.")?,
            None => {
                let mut counted: Vec<String> = self
                    .reasons
                    .iter()
                    .map(|(reason, count)| format!("{count} {}", reason.told(&self.own)))
                    .collect();
                counted.sort_unstable();
                write!(out, " {}.", counted.join(", "))?;
            }
        }
        if let Some(nearest) = &self.nearest {
            write!(out, " {}.", nearest.told(&self.own))?;
        }
        match &self.in_the_way {
            Some(InTheWay { claim, remedy: Remedy::Deallocate, .. }) => {
                write!(out, " Claim {claim} gives its devices back, since nobody uses it.")
            }
            Some(InTheWay { claim, remedy: Remedy::Delete, .. }) => {
                write!(out, " Claim {claim}, which an earlier attempt left, is deleted.")
            }
            None => Ok(()),
        }
    }
}
