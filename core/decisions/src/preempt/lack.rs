//! What a pod would lack on a node even if other pods were gone.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::device::PoolId;
use model::identity::NodeName;
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::devices::wakes::{Breadth, add_node};
use crate::filters::{Around, Mounts};
use crate::profile::Profile;
use crate::values::node_refusal::NodeRefusal;
use crate::values::pod_claims::PodClaims;
use crate::values::reason::{DeviceReason, Reason};
use crate::values::wake::Wakes;

/// What trials for one pod have in common.
pub(crate) struct Preemptor<'p> {
    pub pod: &'p Pod,
    pub profile: &'p Profile,
    pub claims: &'p PodClaims,
    /// What pods everywhere mean for it. A trial counts those that it takes away, and counts them again when it ends.
    pub around: Around,
    pub mounts: Mounts,
    pub now: Timestamp,
    /// The pods that hold devices which several nodes reach, by pool, as far as they were looked up.
    pub holders: BTreeMap<PoolId, Vec<(NodeIdx, Arc<Pod>)>>,
}

/// Why a pod would not fit even then.
#[derive(Debug)]
pub(crate) enum StillRefused {
    /// There is no pod that could go.
    NoVictims,
    /// This is lacking still.
    Lacks(Lack),
}

/// What is lacking on a node.
#[derive(Debug)]
pub(crate) struct Lack {
    pub reasons: Vec<Reason>,
    pub wakes_on: Wakes,
    /// Which devices matter, if some are missing.
    pub devices: Option<Breadth>,
    pub(crate) is_of_devices: bool,
}

impl Lack {
    pub(crate) fn room(refusal: &NodeRefusal, node: &NodeName) -> Lack {
        let mut wakes_on = Wakes::NONE;
        refusal.add_wakes(node, &mut wakes_on);
        Lack { reasons: refusal.reasons(), wakes_on, devices: None, is_of_devices: false }
    }

    /// The node has too little for what devices take of it.
    pub(crate) fn footing(reason: DeviceReason, node: &NodeName, claims: &PodClaims) -> Lack {
        Lack { is_of_devices: false, ..Lack::devices(reason, node, claims) }
    }

    pub(crate) fn devices(reason: DeviceReason, node: &NodeName, claims: &PodClaims) -> Lack {
        let mut wakes_on = Wakes::NONE;
        add_node(&mut wakes_on, node, claims);
        let devices = Some(reason.breadth());
        Lack { reasons: vec![reason.into()], wakes_on, devices, is_of_devices: true }
    }
}
