//! Nodes that will not do for a pod, counted by reason, and what could undo that.

use std::collections::BTreeMap;

use cluster::nodes::NodeIdx;

use crate::devices::search::{DEVICES, NoDevices, ROOM};
use crate::values::certainty::Certainty;
use crate::values::filter_set::{Filter, FilterSet};
use crate::values::in_the_way::InTheWay;
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::PodRefusal;
use crate::values::reason::Reason;
use crate::values::wake::Wakes;

/// Counts why nodes are out of the question.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) nodes: usize,
    pub(crate) reasons: BTreeMap<Reason, usize>,
    pub(crate) nearest: Option<Reason>,
    pub(crate) curable: Vec<NodeIdx>,
    pub(crate) filters: FilterSet,
    pub(crate) wakes_on: Wakes,
    pub(crate) certainty: Certainty,
}

impl Tally {
    pub(crate) fn refuse(
        &mut self,
        filter: Option<Filter>,
        reasons: impl IntoIterator<Item = impl Into<Reason>>,
        wakes_on: Wakes,
    ) {
        filter.into_iter().for_each(|filter| self.filters.insert(filter));
        reasons.into_iter().for_each(|reason| *self.reasons.entry(reason.into()).or_default() += 1);
        self.wakes_on = self.wakes_on.or(wakes_on);
    }

    /// Counts a node that has no devices.
    pub(crate) fn refuse_devices(&mut self, at: NodeIdx, none: NoDevices, claims: &PodClaims) {
        let room = if claims.footing.is_some() { ROOM } else { Wakes::NONE };
        self.refuse(Some(Filter::Devices), [none.reason], DEVICES.or(room));
        self.curable.push(at);
        self.nearest = self.nearest.take().or(none.nearest);
        self.certainty = self.certainty.and(none.certainty);
    }

    pub(crate) fn refusal(self, claims: &PodClaims, in_the_way: Option<InTheWay>) -> Box<PodRefusal> {
        let Tally { nodes, reasons, nearest, mut curable, filters, wakes_on, certainty } = self;
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
