//! For authors of device drivers.

mod cdi;
mod describe;
mod plugin;
mod publish;
mod status;

/// The wire types of the API that drivers read and write.
pub mod api {
    pub use objects::core::affinity::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
    pub use objects::meta::{Condition, ObjectMeta, OwnerReference};
    pub use objects::resource::allocation::{
        AllocatedDeviceStatus, AllocationResult, DeviceAllocationConfiguration,
        DeviceRequestAllocationResult, NetworkDeviceData,
    };
    pub use objects::resource::claim::{OpaqueDeviceConfiguration, ResourceClaim};
    pub use objects::resource::slice::{
        CapacityRequestPolicy, CapacityRequestPolicyRange, Counter, CounterSet, Device, DeviceAttribute,
        DeviceCapacity, DeviceCounterConsumption, DeviceTaint, ResourceSlice,
    };
    pub use objects::{Quantity, Raw, Time};
}

pub use cdi::{CDI_DIR, CdiDir, CdiError, ContainerEdits, DeviceNode, Mount};
pub use describe::{Attribute, Describe, NotAQuantity, counter_set, quantity};
pub use plugin::{
    ClaimReference, DeviceHealth, Driver, Failure, Forger, Health, HealthReports, Plugin, PluginOptions,
    PreparedDevice, SocketPathTooLong, StartError, Trouble, own_results,
};
pub use publish::{BadPools, Fault, Listener, Pool, PublishTrouble, Publisher, Reach, Scope};
pub use status::{DeviceState, ReportError, StatusReporter};

/// The connection to an API server, which everything here needs.
pub use client::{ConnectError, Connection, Options as ConnectionOptions};
