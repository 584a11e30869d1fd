//! What was allocated to a claim, for whom, and how the devices are.

use std::collections::BTreeMap;

use crate::core::affinity::NodeSelector;
use crate::meta::Condition;
use crate::resource::claim::{DeviceToleration, OpaqueDeviceConfiguration};
use crate::value::{Quantity, Time};
use crate::wire::Raw;
use crate::wire::wire;

wire! {
    /// What became of the claim.
    pub struct ResourceClaimStatus {
        allocation: Option<AllocationResult> = "allocation",
        controller_name: String = "controllerName",
        deallocation_requested: bool = "deallocationRequested",
        devices: Vec<AllocatedDeviceStatus> = "devices",
        reserved_for: Vec<ResourceClaimConsumerReference> = "reservedFor",
    }
}

wire! {
    /// The devices, and the nodes that can reach them.
    pub struct AllocationResult {
        allocation_timestamp: Option<Time> = "allocationTimestamp",
        devices: DeviceAllocationResult = "devices",
        node_selector: Option<NodeSelector> = "nodeSelector",
        resource_handles: Vec<ResourceHandle> = "resourceHandles",
        shareable: bool = "shareable",
    }
}

wire! {
    /// The devices and their configuration.
    pub struct DeviceAllocationResult {
        config: Vec<DeviceAllocationConfiguration> = "config",
        results: Vec<DeviceRequestAllocationResult> = "results",
    }
}

wire! {
    /// One device for one request.
    pub struct DeviceRequestAllocationResult {
        admin_access: Option<bool> = "adminAccess",
        binding_conditions: Vec<String> = "bindingConditions",
        binding_failure_conditions: Vec<String> = "bindingFailureConditions",
        binding_timeout: Option<String> = "bindingTimeout",
        compatibility_groups: BTreeMap<String, Vec<String>> = "compatibilityGroups",
        consumed_capacity: BTreeMap<String, Quantity> = "consumedCapacity",
        device: String = "device",
        driver: String = "driver",
        pool: String = "pool",
        request: String = "request",
        share_id: Option<String> = "shareID",
        skip_node_operations: Vec<String> = "skipNodeOperations",
        tolerations: Vec<DeviceToleration> = "tolerations",
    }
}

wire! {
    /// Configuration, and where it came from.
    pub struct DeviceAllocationConfiguration {
        opaque: Option<OpaqueDeviceConfiguration> = "opaque",
        requests: Vec<String> = "requests",
        source: String = "source",
    }
}

wire! {
    /// A user of the claim.
    pub struct ResourceClaimConsumerReference {
        api_group: String = "apiGroup",
        name: String = "name",
        resource: String = "resource",
        uid: String = "uid",
    }
}

wire! {
    /// How one allocated device is.
    pub struct AllocatedDeviceStatus {
        conditions: Vec<Condition> = "conditions",
        data: Option<Raw> = "data",
        device: String = "device",
        driver: String = "driver",
        network_data: Option<NetworkDeviceData> = "networkData",
        pool: String = "pool",
        share_id: Option<String> = "shareID",
    }
}

wire! {
    /// Addresses of a network device.
    pub struct NetworkDeviceData {
        hardware_address: String = "hardwareAddress",
        interface_name: String = "interfaceName",
        ips: Vec<String> = "ips",
    }
}

wire! {
    /// What a control-plane controller leaves for the node's plugin.
    pub struct ResourceHandle {
        data: String = "data",
        driver_name: String = "driverName",
    }
}
