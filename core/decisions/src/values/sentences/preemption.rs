//! What came of looking for pods to preempt.

use std::fmt;
use std::fmt::Display;

use super::{Out, counts};
use crate::values::gang_preemption::{GangPreemption, Helpless};
use crate::values::pod_refusal::PodRefusal;
use crate::values::preemption::{Hopeless, Ineligible, PodPreemption};
use crate::values::reason::PreemptionReason;

impl Display for PreemptionReason {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        out.write_str(match self {
            PreemptionReason::NoVictims => "No preemption victims found for incoming pod",
            PreemptionReason::NotTried => "reached the search limit for pods to preempt",
            PreemptionReason::NotHelpful => "Preemption is not helpful for scheduling",
        })
    }
}

impl Display for PodPreemption {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            PodPreemption::NotEligible(why) => why.fmt(out),
            PodPreemption::Hopeless(why) => why.fmt(out),
            PodPreemption::Found { node, victims } => write!(
                out,
                "found a potential placement for pod on node {node}, preempting {victims} victims"
            ),
        }
    }
}

impl Display for Ineligible {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        out.write_str(match self {
            Ineligible::Never => "not eligible due to preemptionPolicy=Never.",
            Ineligible::Releasing => {
                "not eligible due to devices of a preempted pod that are yet to be released."
            }
        })
    }
}

impl Display for Hopeless {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        let reasons = self.reasons.iter().map(|(reason, count)| (reason, *count));
        write!(out, "0/{} nodes are available: {}.", self.nodes, counts(reasons))
    }
}

impl Display for GangPreemption {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            GangPreemption::ClaimsGiveBack { claims } => {
                write!(out, "{claims} unused claims are deallocated")
            }
            GangPreemption::NotEligible => Ineligible::Never.fmt(out),
            GangPreemption::Hopeless(why) => why.fmt(out),
            GangPreemption::Ongoing => write!(out, "ongoing preemption on nominated nodes"),
            GangPreemption::Found { victims } => {
                write!(out, "found a placement for podgroup, preempting {victims} victims")
            }
        }
    }
}

impl Display for Helpless {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            Helpless::NoVictims => write!(out, "no pod can be preempted"),
            Helpless::Lacks(miss) => write!(out, "even if all lower priority pods are preempted, {miss}"),
            Helpless::LimitReached => write!(out, "reached the search limit for pods to preempt"),
        }
    }
}

impl PodRefusal {
    /// Why a pod has no place, and what came of looking for pods to preempt.
    #[must_use]
    pub fn with_preemption(&self, preemption: Option<&PodPreemption>) -> String {
        preemption.map_or_else(|| self.to_string(), |preemption| format!("{self} preemption: {preemption}"))
    }
}
