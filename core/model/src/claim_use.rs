//! What an allocated claim says to people, beyond what decisions need: its users by name, since when it has its devices, and
//! which devices it looks after.

use std::sync::Arc;

use crate::device::DeviceId;
use crate::request_name::RequestName;
use crate::timestamp::Timestamp;

/// The users and the devices of a claim, as they are shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimUse {
    /// When the claim got its devices, if the claim says so.
    pub since: Option<Timestamp>,
    /// The objects for which the claim is reserved.
    pub users: Vec<ClaimUser>,
    /// The devices, in the order of the allocation.
    pub devices: Vec<UsedDevice>,
}

/// An object that uses a claim.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ClaimUser {
    /// The name of its kind in addresses of the API, such as `pods`.
    pub resource: Arc<str>,
    /// Its name; its namespace is that of the claim.
    pub name: Arc<str>,
}

/// A device of a claim, or a share of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsedDevice {
    /// The device.
    pub device: DeviceId,
    /// The request that it was allocated for.
    pub request: RequestName,
    /// The claim has administrative access: it looks after the device and holds nothing of it.
    pub admin: bool,
}
