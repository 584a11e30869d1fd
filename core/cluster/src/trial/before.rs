//! What a step of a trial changes, as it was before: debug builds compare it when the step is undone.
//!
//! Invariant: only what the step touches is looked at, so that a trial does not become slower with the size of a cluster. Numbers that
//! count changes, and grow with each, are no part of it.

use std::collections::{BTreeMap, BTreeSet};

use model::device::DeviceId;
use model::group::GroupId;
use model::identity::PodUid;
use model::pod::{HostPort, Pod, Resources};
use model::volume::VolumeClaimId;

use crate::claims::Held;
use crate::facts::Facts;
use crate::ledger::Holdings;
use crate::nodes::{NodeIdx, NodeState};
use crate::volumes::VolumeChoice;

/// What a step changes, as it was before.
#[derive(PartialEq, Debug)]
pub(super) enum Before {
    /// What is taken of devices.
    Devices(Vec<(DeviceId, Option<Holdings>)>),
    /// A pod and the node that it names.
    Pod(Box<Place>),
    /// How a claim is to get a volume, and the pods that it is for.
    Plan(VolumeClaimId, Option<(VolumeChoice, BTreeSet<PodUid>)>),
}

/// A pod and the node that it names.
#[derive(PartialEq, Debug)]
pub(super) struct Place {
    /// Where the pod is, and the group that it is seated in.
    at: Option<NodeIdx>,
    group: Option<GroupId>,
    /// How many pods the node has, and what they use.
    pods: usize,
    used: Resources,
    used_scored: Resources,
    ports: BTreeMap<HostPort, u32>,
    /// Pods with rules there, and everywhere.
    with_rules: (u32, usize),
    priority_min: Option<i32>,
}

impl Before {
    /// What is about to be taken or given back.
    pub fn devices(held: &[Held], facts: &Facts) -> Before {
        let holdings = |device: &DeviceId| facts.claims.ledger().holdings(device).cloned();
        Before::Devices(held.iter().map(|one| (one.device.clone(), holdings(&one.device))).collect())
    }

    /// A pod that is about to come or to go.
    pub fn pod(pod: &Pod, facts: &Facts) -> Before {
        Before::Pod(Box::new(Place::of(pod, facts)))
    }

    /// A claim that is about to get a volume.
    pub fn plan(claim: &VolumeClaimId, facts: &Facts) -> Before {
        Before::Plan(claim.clone(), facts.volumes.plan_of(claim))
    }
}

impl Place {
    fn of(pod: &Pod, facts: &Facts) -> Place {
        let nodes = &facts.nodes;
        let state = pod.node.as_ref().and_then(|name| nodes.find(name)).map(|at| nodes.get(at));
        let used = |used: fn(&NodeState) -> &Resources| state.map(used).cloned().unwrap_or_default();
        Place {
            at: nodes.pod(&pod.uid).map(|(at, _)| at),
            group: facts.groups.of_seated(&pod.uid).cloned(),
            pods: state.map_or(0, |state| state.pods.len()),
            used: used(|state| &state.used),
            used_scored: used(|state| &state.used_scored),
            ports: state.map(|state| state.ports.clone()).unwrap_or_default(),
            with_rules: (state.map_or(0, |state| state.pods_with_rules), nodes.pods_with_rules()),
            priority_min: nodes.priority_min(),
        }
    }
}
