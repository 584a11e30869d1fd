//! Pods on their way to nodes, and what is being written for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decisions::cycle::Underway;
use model::claim::ClaimId;
use model::timestamp::Timestamp;
use rustc_hash::FxHashMap;

use crate::claim_waits::ClaimWaits;
use crate::engine::{Forlorn, OpenClaim, Placing};
use crate::rivals::Rivals;
use crate::write::{Consumer, WriteId};

/// What is being written for pods.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    /// Pods on their way, by uid.
    pub placing: FxHashMap<Arc<str>, Placing>,
    /// Writes for claims of pods that are gone, with the claim and its user; their devices stay taken until the answer.
    pub abandoned: FxHashMap<WriteId, (OpenClaim, Consumer)>,
    /// Pods that wait for something of a claim.
    pub waits: ClaimWaits,
    /// Claims with devices that nobody uses.
    pub forlorn: Forlorn,
    /// Schedulers besides us that give out devices.
    pub rivals: Rivals,
    /// When a list told of a claim the last time.
    pub claims_listed: Option<Timestamp>,
    /// Pods whose claims are written, by the time until which rivals or news are waited for.
    pub settling: BTreeSet<(Timestamp, Arc<str>)>,
    /// Claims that are about to lose their devices, or to go, and the pod for which they do.
    pub giving_up: BTreeMap<WriteId, (Vec<ClaimId>, Arc<str>)>,
    /// Claims that are being made for what pods ask for by name, by the pod's uid: the names under which their devices are held.
    pub unmade: FxHashMap<Arc<str>, ClaimId>,
}

impl Underway for Bindings {
    fn is_on_its_way(&self, pod: &str) -> bool {
        self.placing.contains_key(pod)
    }

    fn is_being_reserved(&self, claim: &ClaimId, besides: Option<&str>) -> bool {
        let is_other = |pod: &str| besides != Some(pod);
        let uses = |(uid, placing): (&Arc<str>, &Placing)| {
            let open = placing.open.values().map(|open| &open.claim);
            is_other(uid) && open.chain(&placing.reserved).any(|one| one == claim)
        };
        let is_written = |(open, user): &(OpenClaim, Consumer)| is_other(&user.uid) && open.claim == *claim;
        self.placing.iter().any(uses) || self.abandoned.values().any(is_written)
    }

    fn is_given_up(&self, claim: &ClaimId) -> bool {
        self.giving_up.values().any(|(known, _)| known.contains(claim))
    }

    fn is_being_made(&self, pod: &str) -> bool {
        self.unmade.contains_key(pod)
    }
}
