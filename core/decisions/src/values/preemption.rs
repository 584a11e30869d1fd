//! What came of looking for pods to preempt for a pod, as it is told.

use std::collections::BTreeMap;

use model::claim::ClaimId;
use model::identity::NodeName;

use crate::values::reason::Reason;
use crate::values::renaming::Renaming;
use crate::values::wake::Wakes;

/// What came of looking for pods to preempt for a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PodPreemption {
    /// The pod may not preempt, or not now.
    NotEligible(Ineligible),
    /// It would not help.
    Hopeless(Hopeless),
    /// Pods are preempted, or were and are still there.
    Found {
        /// The node.
        node: NodeName,
        /// How many pods.
        victims: usize,
    },
}

/// Why a pod may not preempt others, or not now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ineligible {
    /// Its policy says so.
    Never,
    /// Devices of pods that it preempted are not free yet.
    Releasing,
}

/// Why preemption would not help a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hopeless {
    /// How many nodes there are.
    pub nodes: usize,
    /// How many have which reason.
    pub reasons: BTreeMap<Reason, usize>,
    /// What could give hope, besides what undoes the refusal.
    pub wakes_on: Wakes,
    /// The claims of the pod that need devices.
    pub(crate) own: Vec<ClaimId>,
}

impl Hopeless {
    /// The same for a pod whose claims ask for the same.
    pub(crate) fn for_claims(mut self, own: Vec<ClaimId>) -> Hopeless {
        let names = Renaming { before: &self.own, after: &own };
        let renamed = |(mut reason, count): (Reason, usize)| {
            reason.rename(names);
            (reason, count)
        };
        self.reasons = std::mem::take(&mut self.reasons).into_iter().map(renamed).collect();
        self.wakes_on.rename(names);
        Hopeless { own, ..self }
    }
}
