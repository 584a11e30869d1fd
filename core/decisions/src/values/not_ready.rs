//! What is the matter with devices that have to be made ready before a pod may use them.

use cluster::preparation::{Failed, Progress};
use model::claim::ClaimId;
use model::device::DeviceId;

/// Why the devices of a claim will not become ready.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NotReady {
    /// One failed.
    Failed {
        /// The claim.
        claim: ClaimId,
        /// The device.
        device: DeviceId,
        /// What was reported.
        failed: Failed,
    },
    /// One took too long.
    TimedOut {
        /// The claim.
        claim: ClaimId,
        /// The device, and what it lacks.
        device: Progress,
        /// How long it had.
        after_ms: i64,
    },
}

impl NotReady {
    /// The claim.
    #[must_use]
    pub fn claim(&self) -> &ClaimId {
        let (NotReady::Failed { claim, .. } | NotReady::TimedOut { claim, .. }) = self;
        claim
    }
}

/// A device that a pod waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Awaited {
    /// The claim.
    pub claim: ClaimId,
    /// The device, and what it lacks.
    pub device: Progress,
}

impl Awaited {
    /// Whether it is the same device, whatever it lacks by now.
    #[must_use]
    pub fn is_same_device(&self, other: &Awaited) -> bool {
        self.claim == other.claim && self.device.device == other.device.device
    }
}

/// What of the devices of a pod is not ready.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unready {
    /// A device that is being made ready.
    Awaited(Awaited),
    /// One that will not become ready.
    Broken(NotReady),
}

/// Why a claim of a pod on its way is of no use to it any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimLost {
    /// The claim is gone.
    Gone(ClaimId),
    /// It has no devices any more.
    Deallocated(ClaimId),
}
