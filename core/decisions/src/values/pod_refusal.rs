//! Why no node will do for a pod.

use std::collections::BTreeMap;
use std::sync::Arc;

use allocation::Refusal;
use cluster::nodes::NodeIdx;
use model::claim::ClaimId;
use model::identity::NodeName;

use crate::values::certainty::Certainty;
use crate::values::filter_set::{Filter, FilterSet};
use crate::values::in_the_way::InTheWay;
use crate::values::node_refusal::NodeRefusal;
use crate::values::pod_claims::PodClaims;
use crate::values::reason::{ClaimReason, Reason};
use crate::values::renaming::Renaming;
use crate::values::wake::Wakes;

/// Why no node will do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodRefusal {
    pub(crate) nodes: usize,
    /// The node that the pod is on already, and that alone was looked at.
    pub(crate) bound_to: Option<NodeName>,
    /// A reason that has nothing to do with nodes.
    pub(crate) everywhere: Option<Reason>,
    /// The claims of the pod that need devices.
    pub(crate) own: Vec<ClaimId>,
    /// The nodes that each reason removes.
    pub(crate) reasons: BTreeMap<Reason, Removed>,
    /// What came closest for devices.
    pub(crate) nearest: Option<Nearest>,
    /// A claim that has to give up its devices for the pod.
    pub(crate) in_the_way: Option<InTheWay>,
    /// The nodes on which it could help if pods went, in order.
    pub(crate) curable: Vec<NodeIdx>,
    /// The filters that say so.
    pub(crate) filters: FilterSet,
    pub(crate) wakes_on: Wakes,
    pub(crate) certainty: Certainty,
}

/// The nodes that a reason removes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Removed {
    /// How many.
    pub nodes: usize,
    /// The name of the first of them.
    pub example: NodeName,
    /// What is particular to that one, with its numbers; nothing if it is about devices.
    pub detail: Option<NodeRefusal>,
}

/// What came closest for devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Nearest {
    /// Some are missing on this node.
    Refused {
        /// The node.
        node: NodeName,
        /// What is missing.
        refusal: Box<Refusal>,
    },
    /// The search did not end on this node.
    LimitReached {
        /// The node.
        node: NodeName,
    },
    /// The driver's controller that is to give a claim devices has none for this node, or may not be asked about it.
    Unsuitable {
        /// The node.
        node: NodeName,
        /// The pod's name for the claim.
        entry: Arc<str>,
        /// The driver.
        driver: Arc<str>,
        /// The class does not allow the node.
        by_class: bool,
    },
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

    /// A reason that has nothing to do with nodes.
    pub fn everywhere(&self) -> Option<&Reason> {
        self.everywhere.as_ref()
    }

    /// The nodes that each reason removes.
    pub fn removed(&self) -> impl Iterator<Item = (&Reason, &Removed)> {
        self.reasons.iter()
    }

    /// The codes of what removes nodes, the most frequent first.
    #[must_use]
    pub fn codes(&self) -> Vec<&'static str> {
        if let Some(reason) = self.everywhere() {
            return vec![reason.code()];
        }
        let mut counted: Vec<(usize, &'static str)> =
            self.removed().map(|(reason, removed)| (removed.nodes, reason.code())).collect();
        counted.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(other.1)));
        let mut codes: Vec<&'static str> = Vec::new();
        counted.into_iter().for_each(|(_, code)| {
            if !codes.contains(&code) {
                codes.push(code);
            }
        });
        codes
    }

    /// What came closest for devices.
    pub fn nearest(&self) -> Option<&Nearest> {
        self.nearest.as_ref()
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
        self.wakes_on.clone()
    }

    /// Whether the pod waits for nothing but the answer to a write of ours, which gives a claim of it devices.
    #[must_use]
    pub fn awaits_write(&self) -> bool {
        matches!(&self.everywhere, Some(Reason::Claim(ClaimReason::BeingAllocated(_))))
    }

    /// Whether the pod waits for others, and not for what becomes of a claim of its own in a moment.
    #[must_use]
    pub fn is_up_to_others(&self) -> bool {
        self.everywhere.as_ref().is_none_or(|reason| !reason.is_passing())
    }

    /// The claim that has to give up its devices for the pod.
    pub fn in_the_way(&self) -> Option<InTheWay> {
        self.in_the_way.clone()
    }

    /// The same refusal for a pod with other claims that ask for the same.
    pub(crate) fn for_claims(mut self: Box<Self>, claims: &PodClaims) -> Box<Self> {
        let own = claims.own();
        let names = Renaming { before: &self.own, after: &own };
        let renamed = |(mut reason, removed): (Reason, Removed)| {
            reason.rename(names);
            (reason, removed)
        };
        self.reasons = std::mem::take(&mut self.reasons).into_iter().map(renamed).collect();
        if let Some(Nearest::Refused { refusal, .. }) = &mut self.nearest
            && let Some(miss) = &mut refusal.nearest
            && let Some(claim) = miss.claim.claim_mut()
        {
            names.apply(claim);
        }
        self.wakes_on.rename(names);
        self.own = own;
        self
    }

    /// The same refusal, with a claim that has to give up its devices, and other changes that could undo it.
    pub(crate) fn because_of(mut self, in_the_way: Option<InTheWay>, wakes_on: Wakes) -> Self {
        (self.in_the_way, self.wakes_on) = (in_the_way, wakes_on);
        self
    }

    pub(crate) fn of_all_nodes(
        nodes: usize,
        reason: impl Into<Reason>,
        filter: Option<Filter>,
        wakes_on: Wakes,
    ) -> Box<PodRefusal> {
        Box::new(PodRefusal {
            nodes,
            bound_to: None,
            everywhere: Some(reason.into()),
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
