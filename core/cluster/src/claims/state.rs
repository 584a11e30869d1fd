//! A claim as the API has it, and what is allocated to it.

use std::sync::Arc;

use model::claim::{Claim, ClaimControl, Toleration};
use model::device::DeviceId;
use model::identity::{ClaimUid, ConsumerUid, PodUid};
use model::node::{Node, NodeSelector};

use crate::ledger::{Holding, ShareId};
use crate::preparation::Preparation;

/// A claim as the API has it.
#[derive(Clone, PartialEq, Debug)]
pub struct ClaimState {
    /// Tells it from others that had or will have its name.
    pub uid: ClaimUid,
    /// Its version, for writes that must not overwrite what we have not seen.
    pub version: Arc<str>,
    /// What it asks for.
    pub wish: Arc<Claim>,
    /// What it has.
    pub allocation: Option<Arc<Allocated>>,
    /// The pods and groups that use it, by uid.
    pub reserved_for: Vec<ConsumerUid>,
    /// The uid of the pod or group that it was made for.
    pub owner: Option<ConsumerUid>,
    /// It was made by a scheduler for resources that its owner asks for by name.
    pub extended: bool,
    /// It is being deleted.
    pub deleting: bool,
    /// It cannot vanish while devices are allocated to it.
    pub protected: bool,
    /// How far its devices have come, if some have to be made ready before a pod is bound.
    pub preparation: Option<Arc<Preparation>>,
    /// How it stands with the controller of a driver.
    pub control: ClaimControl,
}

impl ClaimState {
    /// Whether it is reserved for a pod itself, and not for its group.
    #[must_use]
    pub fn is_reserved_for(&self, pod: &PodUid) -> bool {
        self.reserved_for.iter().any(|user| user.is(pod))
    }

    /// Whether the devices that it has can be used from a node. Without devices, it may get some.
    #[must_use]
    pub fn is_usable_on(&self, node: &Node) -> bool {
        let nodes = self.allocation.as_ref().and_then(|allocated| allocated.nodes.as_ref());
        nodes.is_none_or(|nodes| nodes.picks(node).unwrap_or(false))
    }

    /// Its version, if that is a number.
    pub(super) fn version_number(&self) -> Option<u64> {
        self.version.parse().ok()
    }

    /// Whether it came before another state of the same claim. Versions that are no numbers cannot be compared.
    pub(super) fn is_older_than(&self, known: &ClaimState) -> bool {
        let versions = self.version_number().zip(known.version_number());
        self.uid == known.uid && versions.is_some_and(|(this, that)| this < that)
    }
}

/// What is allocated to a claim.
#[derive(Clone, PartialEq, Debug)]
pub struct Allocated {
    /// The nodes that can use all of it; every node if absent.
    pub nodes: Option<NodeSelector>,
    /// The devices that it holds. Devices that it only looks after are not among them.
    pub held: Vec<Held>,
}

/// One device, or one share of it, that a claim holds.
#[derive(Clone, PartialEq, Debug)]
pub struct Held {
    /// The device.
    pub device: DeviceId,
    /// Which share.
    pub share: Option<ShareId>,
    /// As the ledger has it.
    pub holding: Holding,
    /// Taints that its request bears.
    pub tolerations: Vec<Toleration>,
}
