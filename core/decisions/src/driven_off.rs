//! Whether a pod that is on its way to a node may still go there, and with the devices that it has: the node may be deleted, cordoned
//! or tainted meanwhile, and so may the devices.
//!
//! Invariant: only what came after the decision counts, and only as far as the pod's profile heeds it. Labels that changed do not
//! drive a pod off, as they would not drive it off once it runs.

use cluster::facts::Facts;
use gates::{Gate, Gates};
use model::claim::ClaimId;
use model::device::TaintEffect;
use model::identity::NodeName;
use model::node::{NodeTaint, NodeTaintEffect};
use model::pod::Shape;

use crate::filters::{Filter, FilterSettings, tolerates, unschedulable};
use crate::values::not_bound::DrivenOff;
use crate::values::reason::TaintedDevice;

/// What drives a pod off its node, if something does.
#[must_use]
pub fn off_node(
    facts: &Facts,
    settings: &FilterSettings,
    shape: &Shape,
    name: &NodeName,
) -> Option<DrivenOff> {
    let node = facts.nodes.find(name).and_then(|at| facts.nodes.get(at).node.as_ref());
    let Some(node) = node else { return Some(DrivenOff::NodeGone(name.clone())) };
    // A taint weighs more: it ends what a cordon does not, once the volumes of a pod are being bound there.
    let is_tolerated = |taint: &NodeTaint| {
        shape.tolerations.iter().any(|toleration| tolerates(toleration, taint, settings.compares_taints))
    };
    let mut taints = node.taints.iter().filter(|taint| taint.effect == NodeTaintEffect::NoExecute);
    if settings.has(Filter::Taints)
        && let Some(taint) = taints.find(|taint| !is_tolerated(taint))
    {
        return Some(DrivenOff::NodeTainted { node: name.clone(), taint: taint.clone() });
    }
    let is_cordoned = settings.has(Filter::Unschedulable) && unschedulable(shape, node, settings).is_err();
    is_cordoned.then(|| DrivenOff::Cordoned(name.clone()))
}

/// A device of a claim with a taint by which pods are evicted, and that its request does not bear. No pod goes to a node with such a
/// device: neither one that is on its way there, nor one whose claim has the device from before.
#[must_use]
pub fn off_devices(facts: &Facts, gates: &Gates, claim: &ClaimId) -> Option<TaintedDevice> {
    if !gates.enabled(Gate::DRADeviceTaints) {
        return None;
    }
    let held = facts.claims.allocation(claim)?.held.iter();
    held.filter_map(|held| Some((held, facts.slices.device(&held.device)?))).find_map(|(held, device)| {
        let mut taints = device.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute);
        let taint = taints.find(|taint| !held.tolerations.iter().any(|one| one.bears(taint)))?;
        let (claim, device) = (claim.clone(), held.device.clone());
        Some(TaintedDevice { claim, device, key: taint.key.clone(), value: taint.value.clone() })
    })
}
