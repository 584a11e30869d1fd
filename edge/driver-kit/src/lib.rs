//! Everything that a driver of devices needs besides the devices.
//!
//! A driver for dynamic resource allocation does four things, and the kit does the part of each that is the same for all
//! drivers:
//!
//! | the driver | the kit |
//! |---|---|
//! | says which devices there are | [`Plugin::publish`] keeps the ResourceSlices of the node so: cut to size, counted, corrected, with the fewest writes. [`Publisher`] does the same for devices of a network |
//! | makes the devices of a claim ready | [`Plugin`] speaks with the kubelet, reads the claim, checks that it is the one that is meant, and hands it to [`Driver::prepare`]; [`CdiDir`] writes what the container runtime reads |
//! | takes them back | [`Driver::unprepare`] |
//! | says how devices are | [`Driver::health`] for the kubelet, taints in the published devices for schedulers, [`StatusReporter`] for the status of the claim |
//!
//! # A driver in fifty lines
//!
//! ```no_run
//! use driver_kit::api::{Device, ResourceClaim};
//! use driver_kit::{
//!     CDI_DIR, CdiDir, ClaimReference, Connection, ConnectionOptions, ContainerEdits, Describe, DeviceNode, Driver,
//!     Failure, Plugin, PluginOptions, Pool, PreparedDevice, Trouble, own_results,
//! };
//!
//! const DRIVER: &str = "gpu.example.com";
//!
//! struct Gpus {
//!     cdi: CdiDir,
//! }
//!
//! impl Driver for Gpus {
//!     async fn prepare(&self, claim: &ResourceClaim) -> Result<Vec<PreparedDevice>, Failure> {
//!         let results: Vec<_> = own_results(claim, DRIVER).collect();
//!         let edits = |device: &String| ContainerEdits {
//!             device_nodes: vec![DeviceNode { path: format!("/dev/{device}"), ..DeviceNode::default() }],
//!             ..ContainerEdits::default()
//!         };
//!         let devices: Vec<_> = results.iter().map(|one| (one.device.clone(), edits(&one.device))).collect();
//!         // The same claim gets the same file and the same ids, however often it is prepared.
//!         let ids = self.cdi.write(&claim.metadata.uid, &devices)?;
//!         Ok(results.iter().zip(ids).map(|(result, id)| PreparedDevice::of(result, vec![id])).collect())
//!     }
//!
//!     async fn unprepare(&self, claim: &ClaimReference) -> Result<(), Failure> {
//!         Ok(self.cdi.remove(&claim.uid)?)
//!     }
//!
//!     fn trouble(&self, trouble: &Trouble) {
//!         eprintln!("warning: {trouble}");
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Failure> {
//!     let node = std::env::var("NODE_NAME")?;
//!     let connection = Connection::in_cluster(&ConnectionOptions::default())?;
//!     let driver = Gpus { cdi: CdiDir::new(CDI_DIR, DRIVER, "gpu")? };
//!     let plugin = Plugin::start(connection, PluginOptions::new(DRIVER, &node), driver)?;
//!     let gpu = Device::named("gpu-0").attribute("model", "A100").capacity("memory", "40Gi")?;
//!     plugin.publish(vec![Pool { name: node, devices: vec![gpu], ..Pool::default() }])?;
//!     tokio::signal::ctrl_c().await?;
//!     plugin.stop().await;
//!     Ok(())
//! }
//! ```
//!
//! # What holds
//!
//! - Whatever happens to writes, watches and other writers: what was published last is what the server has in the end.
//! - Nobody who reads slices sees a whole pool that was never published, also not while one is changed.
//! - A driver never sees a claim that the kubelet does not mean, and a claim that fails spoils no other.
//! - Nothing is kept in memory that a restart would miss. What is published and prepared outlives the process.
//!
//! `apps/example-driver` is a whole driver made with this, and `docs/guides/driver-authors.md` says how to run one, what it
//! may do in a cluster, and how to try it against a cluster on your own machine.

mod cdi;
mod compatibility;
pub mod controller;
mod describe;
mod plugin;
mod publish;
mod status;

/// The wire types of the API that drivers read and write.
pub mod api {
    pub use objects::core::affinity::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
    pub use objects::core::kinds::ConfigMap;
    pub use objects::core::node::Node;
    pub use objects::core::pod::Pod;
    pub use objects::meta::{Condition, ObjectMeta, OwnerReference};
    pub use objects::resource::allocation::{
        AllocatedDeviceStatus, AllocationResult, DeviceAllocationConfiguration, DeviceAllocationResult,
        DeviceRequestAllocationResult, NetworkDeviceData, ResourceHandle,
    };
    pub use objects::resource::claim::{DeviceRequest, OpaqueDeviceConfiguration, ResourceClaim};
    pub use objects::resource::class::DeviceClass;
    pub use objects::resource::slice::{
        CapacityRequestPolicy, CapacityRequestPolicyRange, Counter, CounterSet, Device, DeviceAttribute,
        DeviceCapacity, DeviceCounterConsumption, DeviceTaint, ResourceSlice,
    };
    pub use objects::{Quantity, Raw, Time};
}

/// The messages between a driver and the kubelet, for tests that falsify them.
pub mod protocol {
    pub use ::plugin::{dra, health, registration};
}

pub use cdi::{CDI_DIR, CdiDir, CdiError, ContainerEdits, DeviceNode, Mount};
pub use compatibility::{GroupNames, Incompatible, PreparedGroups};
pub use describe::{Attribute, Describe, NotAQuantity, counter_set, quantity};
pub use plugin::{
    ClaimReference, DeviceHealth, Driver, Failure, Forger, Health, HealthReports, Plugin, PluginOptions,
    PreparedDevice, SocketPathTooLong, StartError, Trouble, own_results,
};
pub use publish::{BadPools, Fault, Listener, Pool, PublishTrouble, Publisher, Reach, Scope};
pub use status::{DeviceState, ReportError, StatusReporter};

/// The connection to an API server, which everything here needs.
pub use client::{ConnectError, Connection, Options as ConnectionOptions};
