//! Why a node has no devices for the claims of a pod.

use crate::values::certainty::Certainty;
use crate::values::pod_refusal::Nearest;
use crate::values::reason::DeviceReason;

/// Why a node has no devices for claims.
#[derive(Clone, Debug)]
pub struct NoDevices {
    pub reason: DeviceReason,
    /// What came closest.
    pub nearest: Option<Nearest>,
    pub certainty: Certainty,
}

impl From<DeviceReason> for NoDevices {
    fn from(reason: DeviceReason) -> NoDevices {
        NoDevices { reason, nearest: None, certainty: Certainty::Proved }
    }
}
