//! What would be lacking on nodes if pods were preempted there, counted.

use std::collections::BTreeMap;

use crate::devices::wakes::Breadth;
use crate::preempt::lack::Lack;
use crate::values::pod_refusal::PodRefusal;
use crate::values::preemption::Hopeless;
use crate::values::reason::{PreemptionReason, Reason};
use crate::values::wake::Wakes;

/// What would be lacking still if pods went.
#[derive(Default)]
pub(crate) struct Lacks {
    /// On how many nodes there is no pod that could go.
    pub(crate) without: usize,
    /// On how many others it would not be enough, by reasons.
    pub(crate) reasons: BTreeMap<Reason, usize>,
    /// On how many others it was not tried any more.
    pub(crate) not_tried: usize,
    pub(crate) wakes_on: Wakes,
    /// Which devices matter, if some are missing.
    pub(crate) devices: Option<Breadth>,
}

impl Lacks {
    pub(crate) fn add(&mut self, lack: Lack) {
        lack.reasons.into_iter().for_each(|reason| *self.reasons.entry(reason).or_default() += 1);
        self.wakes_on.extend(&lack.wakes_on);
        self.devices = self.devices.max(lack.devices);
    }

    /// Why preemption would not help. Nodes that are neither without victims nor lack something are out of the question anyway.
    pub(crate) fn hopeless(self, refusal: &PodRefusal) -> Hopeless {
        let Lacks { without, mut reasons, not_tried, wakes_on, .. } = self;
        let nodes = refusal.nodes();
        let not_helpful = nodes - refusal.curable().len();
        let counts = [
            (PreemptionReason::NoVictims, without),
            (PreemptionReason::NotTried, not_tried),
            (PreemptionReason::NotHelpful, not_helpful),
        ];
        for (reason, count) in counts {
            if count > 0 {
                reasons.insert(Reason::Preemption(reason), count);
            }
        }
        Hopeless { nodes, reasons, wakes_on, own: Vec::new() }
    }
}
