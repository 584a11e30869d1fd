//! The claims that this node holds: for which pods, and what their drivers made of them.

use std::collections::{BTreeMap, BTreeSet};

/// A claim by namespace and name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ClaimKey {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// All claims that are prepared, or that a driver may have begun to prepare.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Held(pub(crate) BTreeMap<ClaimKey, HeldClaim>);

/// One claim and what became of it here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HeldClaim {
    pub(crate) uid: String,
    /// The uids of the pods that use it.
    pub(crate) pods: BTreeSet<String>,
    /// Every driver that has a part in the claim, whether or not it gave devices.
    pub(crate) drivers: BTreeMap<String, DriverPart>,
    pub(crate) stage: HeldClaimStage,
}

/// How far a claim is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeldClaimStage {
    /// Drivers may have been asked; nobody knows what came of it. So it is with every claim after a start.
    Unsure,
    /// Every driver said that it is ready.
    Prepared,
    /// It is being taken back, and nobody new may use it.
    Unpreparing,
}

/// What one driver has to do with a claim.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct DriverPart {
    pub(crate) devices: Vec<HeldDevice>,
    /// Calls that the driver does without: `NodePrepareResources`, `NodeUnprepareResources`, or `*`.
    pub(crate) skips: Vec<String>,
}

/// A device as its driver described it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct HeldDevice {
    pub(crate) pool: String,
    pub(crate) device: String,
    pub(crate) share: Option<String>,
    /// The requests that it is for; all, if there are none.
    pub(crate) requests: Vec<String>,
    pub(crate) cdi_ids: Vec<String>,
}

/// One call to one driver, about all claims of a pod that it has a part in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Errand {
    pub(crate) driver: String,
    /// The claims with their uids.
    pub(crate) claims: Vec<(ClaimKey, String)>,
}

/// The word for every call that can be skipped.
const EVERY_CALL: &str = "*";

impl DriverPart {
    /// Whether the driver does without a call.
    pub(crate) fn skips(&self, call: &str) -> bool {
        self.skips.iter().any(|skipped| skipped == EVERY_CALL || skipped == call)
    }
}

impl HeldDevice {
    /// Whether the device is for a request, or for any if none is named.
    pub(crate) fn serves(&self, request: &str) -> bool {
        request.is_empty() || self.requests.is_empty() || self.requests.iter().any(|served| served == request)
    }
}

impl Held {
    /// How many claims are prepared, by driver, and how many there are in all.
    pub(crate) fn in_use(&self) -> (BTreeMap<String, usize>, usize) {
        let prepared = || self.0.values().filter(|claim| claim.stage == HeldClaimStage::Prepared);
        let mut counts = BTreeMap::new();
        for driver in prepared().flat_map(|claim| claim.drivers.keys()) {
            *counts.entry(driver.clone()).or_insert(0) += 1;
        }
        (counts, prepared().count())
    }

    /// The pods that something is held for.
    pub(crate) fn pods(&self) -> BTreeSet<String> {
        self.0.values().flat_map(|claim| claim.pods.iter().cloned()).collect()
    }
}

/// The calls about the claims of a pod.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Calls {
    /// One for each driver.
    pub(crate) errands: Vec<Errand>,
    /// The drivers that do without, once for each claim.
    pub(crate) skipped: Vec<String>,
}

/// Puts calls together: one for each driver.
#[derive(Default)]
pub(crate) struct Errands {
    by_driver: BTreeMap<String, Vec<(ClaimKey, String)>>,
    skipped: Vec<String>,
}

impl Errands {
    /// Adds a claim to the calls of all its drivers, but for those that do without this call.
    pub(crate) fn add(&mut self, call: &str, key: &ClaimKey, claim: &HeldClaim) {
        for (driver, part) in &claim.drivers {
            if part.skips(call) {
                self.skipped.push(driver.clone());
            } else {
                self.by_driver.entry(driver.clone()).or_default().push((key.clone(), claim.uid.clone()));
            }
        }
    }

    pub(crate) fn into_calls(self) -> Calls {
        let errands = self.by_driver.into_iter().map(|(driver, claims)| Errand { driver, claims });
        Calls { errands: errands.collect(), skipped: self.skipped }
    }
}
