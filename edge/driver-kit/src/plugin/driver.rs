//! What a driver does for a node, and the words in which it is asked.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use futures_util::Stream;
use objects::resource::allocation::DeviceRequestAllocationResult;
use objects::resource::claim::ResourceClaim;

use crate::plugin::trouble::Trouble;

/// Why something could not be done. Anything that is an error will do; people read it in an event of their pod.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A driver of devices.
///
/// The kubelet calls again until it succeeds, also after a restart of the driver or of itself. So preparing a claim that
/// is prepared must give the same answer, and unpreparing one that is not must succeed. Nothing but disk survives a
/// restart. Unless the [options](crate::PluginOptions) say otherwise, one call is made at a time. A call is carried to its
/// end even if the kubelet has stopped waiting, which it does after 45 seconds.
pub trait Driver: Send + Sync + 'static {
    /// Makes the devices of a claim ready for the containers of a pod.
    ///
    /// The claim was just read, has the uid that the kubelet means, and holds at least one device of this driver, or a handle
    /// that the driver's controller left for it ([`crate::controller::handles`]); others may be of other drivers
    /// ([`own_results`] leaves them out). The answer names each own device, with the CDI ids that bring it into a container.
    fn prepare(
        &self,
        claim: &ResourceClaim,
    ) -> impl Future<Output = Result<Vec<PreparedDevice>, Failure>> + Send;

    /// Undoes that. The claim itself may be gone, so that its name and uid must do.
    fn unprepare(&self, claim: &ClaimReference) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Reports how devices are, whenever that changes and before the last report is too old; none if that is not known.
    ///
    /// Each report names every device. The kubelet shows it in the status of pods.
    fn health(&self) -> Option<HealthReports> {
        None
    }

    /// Hears what goes wrong in the background. Whatever it is, the kit goes on.
    fn trouble(&self, trouble: &Trouble);
}

/// How devices are, report after report.
pub type HealthReports = Pin<Box<dyn Stream<Item = Vec<DeviceHealth>> + Send>>;

/// A claim by its names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimReference {
    /// The namespace.
    pub namespace: String,
    /// The name, which another claim may have later.
    pub name: String,
    /// The uid, which no other claim has.
    pub uid: String,
}

impl ClaimReference {
    /// The names of a claim.
    pub fn of(claim: &ResourceClaim) -> Self {
        let metadata = &claim.metadata;
        Self { namespace: metadata.namespace.clone(), name: metadata.name.clone(), uid: metadata.uid.clone() }
    }
}

impl fmt::Display for ClaimReference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.namespace, self.name)
    }
}

/// A device that is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreparedDevice {
    /// The requests of the claim that it was allocated for; none means all.
    pub requests: Vec<String>,
    /// Its pool.
    pub pool: String,
    /// Its name.
    pub device: String,
    /// Which share of it, if it is allocated several times.
    pub share_id: Option<String>,
    /// The CDI devices that containers need for it: `vendor.com/class=name`.
    pub cdi_ids: Vec<String>,
}

impl PreparedDevice {
    /// The device of an allocation result, with its CDI ids.
    pub fn of(result: &DeviceRequestAllocationResult, cdi_ids: Vec<String>) -> Self {
        Self {
            requests: vec![main_request(&result.request).to_owned()],
            pool: result.pool.clone(),
            device: result.device.clone(),
            share_id: result.share_id.clone(),
            cdi_ids,
        }
    }
}

/// The devices of a claim that are one driver's.
pub fn own_results<'c>(
    claim: &'c ResourceClaim,
    driver: &str,
) -> impl Iterator<Item = &'c DeviceRequestAllocationResult> {
    let results = claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results);
    results.filter(move |result| result.driver == driver)
}

/// The name of a request without the alternative that was chosen: containers speak of requests only.
pub(crate) fn main_request(request: &str) -> &str {
    request.split_once('/').map_or(request, |(request, _)| request)
}

/// How a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceHealth {
    /// Its pool.
    pub pool: String,
    /// Its name.
    pub device: String,
    /// How it is.
    pub health: Health,
    /// When that was found out.
    pub at: SystemTime,
    /// For how long this holds if nothing new is said; zero leaves it to the kubelet, which takes 30 seconds.
    pub valid_for: Duration,
    /// For people.
    pub message: String,
}

/// Whether a device works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Nobody knows.
    Unknown,
    /// It does.
    Healthy,
    /// It does not.
    Unhealthy,
}
