//! Nodes that will not do for a pod, counted by reason, and what could undo that.

use model::identity::NodeName;
use std::collections::BTreeMap;

use cluster::nodes::NodeIdx;

use crate::devices::wakes::{Breadth, add_node};
use crate::values::certainty::Certainty;
use crate::values::filter_set::{Filter, FilterSet};
use crate::values::in_the_way::InTheWay;
use crate::values::no_devices::NoDevices;
use crate::values::node_refusal::NodeRefusal;
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::{Nearest, PodRefusal, Removed};
use crate::values::reason::Reason;
use crate::values::wake::Wakes;

/// Counts why nodes are out of the question.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) nodes: usize,
    pub(crate) reasons: BTreeMap<Reason, Removed>,
    pub(crate) nearest: Option<Nearest>,
    pub(crate) curable: Vec<NodeIdx>,
    pub(crate) filters: FilterSet,
    /// Which devices matter, if some are missing.
    pub(crate) devices: Option<Breadth>,
    pub(crate) wakes_on: Wakes,
    pub(crate) certainty: Certainty,
}

impl Tally {
    /// Counts a node that a filter refuses.
    pub(crate) fn refuse(&mut self, at: NodeIdx, node: &NodeName, refusal: &NodeRefusal) {
        if !refusal.is_final() {
            self.curable.push(at);
        }
        refusal.filter().into_iter().for_each(|filter| self.filters.insert(filter));
        refusal.each_reason(|reason| self.count(reason, node, Some(refusal)));
        refusal.add_wakes(node, &mut self.wakes_on);
    }

    /// Counts a node that has no devices.
    pub(crate) fn refuse_devices(
        &mut self,
        at: NodeIdx,
        node: &NodeName,
        none: NoDevices,
        claims: &PodClaims,
    ) {
        self.filters.insert(Filter::Devices);
        self.devices = self.devices.max(Some(none.reason.breadth()));
        self.count(none.reason.into(), node, None);
        add_node(&mut self.wakes_on, node, claims);
        self.curable.push(at);
        self.nearest = self.nearest.take().or(none.nearest);
        self.certainty = self.certainty.and(none.certainty);
    }

    /// Counts the nodes of another, which come after those of this one.
    pub(crate) fn extend(&mut self, other: Tally) {
        self.nodes += other.nodes;
        for (reason, Removed { nodes, example, detail }) in other.reasons {
            let first = || Removed { nodes: 0, example, detail };
            self.reasons.entry(reason).or_insert_with(first).nodes += nodes;
        }
        self.nearest = self.nearest.take().or(other.nearest);
        self.curable.extend(other.curable);
        self.filters = self.filters.or(other.filters);
        self.devices = self.devices.max(other.devices);
        self.wakes_on.extend(&other.wakes_on);
        self.certainty = self.certainty.and(other.certainty);
    }

    fn count(&mut self, reason: Reason, node: &NodeName, detail: Option<&NodeRefusal>) {
        let first = || Removed { nodes: 0, example: node.clone(), detail: detail.cloned() };
        self.reasons.entry(reason).or_insert_with(first).nodes += 1;
    }

    pub(crate) fn refusal(self, claims: &PodClaims, in_the_way: Option<InTheWay>) -> Box<PodRefusal> {
        let Tally { nodes, reasons, nearest, mut curable, filters, wakes_on, certainty, .. } = self;
        curable.sort_unstable();
        let (bound_to, everywhere) = (None, None);
        Box::new(PodRefusal {
            nodes,
            bound_to,
            everywhere,
            own: claims.own(),
            reasons,
            nearest,
            in_the_way,
            curable,
            filters,
            wakes_on,
            certainty,
        })
    }
}
