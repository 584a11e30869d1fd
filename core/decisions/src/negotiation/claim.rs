//! A claim that waits for devices from a driver's controller, and the nodes that are out of the question for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::nodes::NodeIdx;
use cluster::users::asks;
use gates::Gate;
use model::claim::Wish;
use model::node::{Node, NodeSelector};
use model::pod::{Pod, PodClaim};

use super::wish::mix;
use crate::cycle::Cycle;
use crate::filters::node_of;
use crate::giving_back::Why;
use crate::in_the_way::{InTheWay, Remedy};
use crate::pod::{Claims, PodRefusal};
use crate::wake::{Wake, Wakes};

/// A claim of a pod that a driver's controller is to give devices.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The pod's name for it, by which drivers answer.
    pub entry: Arc<str>,
    /// The driver.
    pub driver: Arc<str>,
    /// Every one of these has to pick a node.
    suitable: Vec<NodeSelector>,
    /// Nodes that the driver said will not do.
    unsuitable: BTreeSet<Arc<str>>,
}

/// Why a claim cannot be used now.
struct Withheld {
    reason: String,
    in_the_way: Option<InTheWay>,
}

impl From<String> for Withheld {
    fn from(reason: String) -> Withheld {
        Withheld { reason, in_the_way: None }
    }
}

impl Pending {
    /// Asks for no other node than this one.
    pub fn stay_on(&mut self, node: &Arc<str>) {
        self.suitable.push(NodeSelector::only(node));
    }

    /// Why a node is out of the question, in Kubernetes' words.
    pub fn refuses(&self, node: &Node) -> Option<&'static str> {
        if self.suitable.iter().any(|nodes| !nodes.picks(node).unwrap_or(false)) {
            return Some("excluded by device class node filter");
        }
        let is_out = self.unsuitable.contains(&node.name);
        is_out.then_some("resourceclaim cannot be allocated for the node (unsuitable)")
    }
}

impl Cycle<'_> {
    /// What is still to be negotiated about a claim of a pod, as [`Cycle::to_negotiate`], or why the pod is refused.
    pub(crate) fn pending(
        &self,
        pod: &Pod,
        entry: &PodClaim,
        state: &ClaimState,
        refused: &dyn Fn(String) -> Box<PodRefusal>,
    ) -> Result<Option<Pending>, Box<PodRefusal>> {
        self.to_negotiate(pod, entry, state).map_err(|withheld| {
            let wakes_on = Wakes::of(&[Wake::Class, Wake::OwnClaims]);
            let gives_back = |_: &InTheWay| self.gives_back(Why::DriverAsked, &state.wish.id, pod);
            let in_the_way = withheld.in_the_way.filter(gives_back);
            Box::new(refused(withheld.reason).because_of(in_the_way, wakes_on))
        })
    }

    /// What is still to be negotiated about a claim of a pod; nothing, if it has devices or gets them from us.
    fn to_negotiate(
        &self,
        pod: &Pod,
        entry: &PodClaim,
        state: &ClaimState,
    ) -> Result<Option<Pending>, Withheld> {
        let (id, control) = (&state.wish.id, &state.control);
        let name = &id.name;
        if !self.facts.is_controlled(state) {
            return Ok(None);
        }
        if !self.settings.gates.enabled(Gate::DRAControlPlaneController) {
            let why = "depends on disabled DRAControlPlaneController feature";
            return Err(format!("resourceclaim \"{name}\" {why}").into());
        }
        if control.leaving {
            // Whoever asked for it may have been stopped before the pod let go of it.
            let is_ours = pod.node.is_none() && state.reserved_for.iter().all(|user| *user == pod.uid);
            let is_held = is_ours && !state.reserved_for.is_empty();
            let one = InTheWay { claim: id.clone(), uid: state.uid.clone(), remedy: Remedy::Deallocate };
            let reason = format!("resourceclaim \"{name}\" must be reallocated");
            return Err(Withheld { reason, in_the_way: is_held.then_some(one) });
        }
        if state.allocation.is_some() {
            let is_others = !state.reserved_for.is_empty() && !state.reserved_for.contains(&pod.uid);
            if is_others && !control.shareable {
                return Err(format!("resourceclaim \"{name}\" is in use, and cannot be shared").into());
            }
            return Ok(None);
        }
        let driver = self.facts.controls(&state.wish).next().map(|control| control.controller.clone());
        let driver = driver.unwrap_or_default();
        let is_alike = self.facts.controls(&state.wish).count() == asks(&state.wish).count()
            && self.facts.controls(&state.wish).all(|control| control.controller == driver);
        let is_plain = state.wish.requests.iter().all(|one| matches!(one.wish, Wish::Exactly(_)));
        if !is_alike || !is_plain {
            let why = "asks for devices of a driver's controller and for others, which one claim cannot do";
            return Err(format!("resourceclaim \"{name}\" {why}").into());
        }
        if control.immediate {
            return Err(format!(
                "unallocated immediate resourceclaim \"{name}\": driver {driver} is to allocate it"
            )
            .into());
        }
        let suitable =
            self.facts.controls(&state.wish).filter_map(|control| control.suitable.clone()).collect();
        let answers = self.facts.context(pod).and_then(|context| context.answers.get(&entry.name));
        let unsuitable = answers.cloned().unwrap_or_default();
        Ok(Some(Pending { entry: entry.name.clone(), driver, suitable, unsuitable }))
    }
}

impl Cycle<'_> {
    /// One of the claims whose devices keep a pod off nodes that would do otherwise, or are of no use to it as things stand. Which one follows from the pod and the state of
    /// its claims only, and is another the next time: to ask for the same one over and over may lead nowhere.
    pub(crate) fn one_in_the_way(
        &mut self,
        pod: &Pod,
        idle: &[Arc<ClaimState>],
        open: &Claims,
        candidates: &[NodeIdx],
    ) -> Option<InTheWay> {
        let mut away: Vec<&Arc<ClaimState>> = Vec::new();
        for at in candidates {
            let node = node_of(self.facts.nodes.get(*at)).clone();
            let there: Vec<_> = idle.iter().filter(|state| !state.is_usable_on(&node)).collect();
            // Of no use if the pod's other claims find no devices there.
            if !there.is_empty() && self.devices_on(&node, open).is_ok() {
                away.extend(there);
            }
        }
        if away.is_empty() && !open.pending.is_empty() && !candidates.is_empty() {
            // What it has is of no use while the rest cannot be had anywhere, and others may wait for it while they have the
            // rest.
            away.extend(idle);
        }
        away.sort_by_key(|state| state.wish.id.clone());
        away.dedup_by_key(|state| state.wish.id.clone());
        let mut seed = vec![&*pod.uid];
        seed.extend(idle.iter().map(|state| &*state.version));
        let state = away.get((mix(&seed) % away.len().max(1) as u64) as usize)?;
        let (claim, uid) = (state.wish.id.clone(), state.uid.clone());
        Some(InTheWay { claim, uid, remedy: Remedy::Deallocate })
    }
}
