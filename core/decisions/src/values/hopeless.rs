//! Why the preemption of other pods would not help a pod.

use std::collections::BTreeMap;

use model::claim::ClaimId;

use crate::values::reason::Reason;
use crate::values::wake::Wakes;

/// Why preemption would not help a pod.
#[derive(Clone, Debug)]
pub struct Hopeless {
    /// How many nodes there are.
    pub(crate) nodes: usize,
    /// How many have which reason.
    pub(crate) reasons: BTreeMap<Reason, usize>,
    /// What could give hope, besides what undoes the refusal.
    pub(crate) wakes_on: Wakes,
}

impl Hopeless {
    /// Why preemption would not help a pod with these claims that need devices, in Kubernetes' words.
    pub(crate) fn told(&self, own: &[ClaimId]) -> String {
        let told = |(reason, count): (&Reason, &usize)| format!("{count} {}", reason.told(own));
        let mut lines: Vec<String> = self.reasons.iter().map(told).collect();
        lines.sort_unstable();
        format!("0/{} nodes are available: {}.", self.nodes, lines.join(", "))
    }
}
