//! What a pod's claims ask of a node.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::claims::ClaimState;
use model::claim::{Claim, ClaimId};
use model::identity::ConsumerUid;
use model::pod::Shape;

use crate::values::pending::Pending;

/// What is needed besides devices to tell what they take of a node.
#[derive(Clone, Debug)]
pub struct Footing {
    pub(crate) shape: Arc<Shape>,
    /// Which containers use which claims.
    pub(crate) users: BTreeMap<ClaimId, Vec<Arc<str>>>,
}

/// What a pod's claims ask of a node.
#[derive(Clone, Debug, Default)]
pub struct PodClaims {
    /// Claims that have devices: where they can be used, and what is left to write.
    pub settled: Vec<Arc<ClaimState>>,
    /// Claims that need devices.
    pub open: Vec<Arc<ClaimState>>,
    /// The uid of the pod's group, for claims that the group uses in its stead.
    pub group_users: BTreeMap<ClaimId, ConsumerUid>,
    /// Claims that drivers' controllers are to give devices.
    pub pending: Vec<Pending>,
    /// What the pod asks for by name, if devices may stand for any of it.
    pub named: Option<Arc<Shape>>,
    /// What is needed to tell what devices take of the node, if that counts.
    pub footing: Option<Footing>,
}

impl PodClaims {
    /// Claims that need devices.
    pub fn own(&self) -> Vec<ClaimId> {
        self.open.iter().map(|state| state.wish.id.clone()).collect()
    }

    /// Whether those that need devices ask for the same as these, in the same order.
    pub(crate) fn ask_for(&self, wishes: &[Arc<Claim>]) -> bool {
        let same = |(state, wish): (&Arc<ClaimState>, &Arc<Claim>)| state.wish.spec == wish.spec;
        self.open.len() == wishes.len() && self.open.iter().zip(wishes).all(same)
    }

    /// Whether devices are to be found.
    pub fn need_devices(&self) -> bool {
        !self.open.is_empty() || self.named.is_some()
    }
}
