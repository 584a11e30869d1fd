//! Resource claims: what devices a pod needs.

use std::collections::BTreeMap;

use crate::meta::ObjectMeta;
use crate::resource::allocation::ResourceClaimStatus;
use crate::value::Quantity;
use crate::wire::Raw;
use crate::wire::wire;

wire! {
    /// A wish for devices, and the devices that were found for it.
    pub object ResourceClaim of "resource.k8s.io/v1" {
        metadata: ObjectMeta = "metadata",
        spec: ResourceClaimSpec = "spec",
        status: ResourceClaimStatus = "status",
    }
}

wire! {
    /// The wish.
    pub struct ResourceClaimSpec {
        allocation_mode: String = "allocationMode",
        devices: DeviceClaim = "devices",
    }
}

wire! {
    /// Requests, what must hold between them, and configuration.
    pub struct DeviceClaim {
        config: Vec<DeviceClaimConfiguration> = "config",
        constraints: Vec<DeviceConstraint> = "constraints",
        requests: Vec<DeviceRequest> = "requests",
    }
}

wire! {
    /// A request: either exactly this, or the first that can be had.
    pub struct DeviceRequest {
        exactly: Option<ExactDeviceRequest> = "exactly",
        first_available: Vec<DeviceSubRequest> = "firstAvailable",
        name: String = "name",
    }
}

wire! {
    /// Devices of one class.
    pub struct ExactDeviceRequest {
        admin_access: Option<bool> = "adminAccess",
        allocation_mode: String = "allocationMode",
        capacity: Option<CapacityRequirements> = "capacity",
        count: i64 = "count",
        derived_attributes: Vec<DeviceDerivedAttribute> = "derivedAttributes",
        device_class_name: String = "deviceClassName",
        selectors: Vec<DeviceSelector> = "selectors",
        tolerations: Vec<DeviceToleration> = "tolerations",
    }
}

wire! {
    /// One alternative of a request.
    pub struct DeviceSubRequest {
        allocation_mode: String = "allocationMode",
        capacity: Option<CapacityRequirements> = "capacity",
        count: i64 = "count",
        derived_attributes: Vec<DeviceDerivedAttribute> = "derivedAttributes",
        device_class_name: String = "deviceClassName",
        name: String = "name",
        selectors: Vec<DeviceSelector> = "selectors",
        tolerations: Vec<DeviceToleration> = "tolerations",
    }
}

wire! {
    /// Which devices will do.
    pub struct DeviceSelector {
        cel: Option<CELDeviceSelector> = "cel",
    }
}

wire! {
    /// An expression over a device.
    pub struct CELDeviceSelector {
        expression: String = "expression",
    }
}

wire! {
    /// How much of each capacity is needed.
    pub struct CapacityRequirements {
        requests: BTreeMap<String, Quantity> = "requests",
    }
}

wire! {
    /// Device taints that a request bears.
    pub struct DeviceToleration {
        effect: String = "effect",
        key: String = "key",
        operator: String = "operator",
        toleration_seconds: Option<i64> = "tolerationSeconds",
        value: String = "value",
    }
}

wire! {
    /// An attribute computed from a device, for use in constraints.
    pub struct DeviceDerivedAttribute {
        expression: String = "expression",
        name: String = "name",
    }
}

wire! {
    /// What must hold between the devices of several requests.
    pub struct DeviceConstraint {
        distinct_attribute: Option<String> = "distinctAttribute",
        match_attribute: Option<String> = "matchAttribute",
        requests: Vec<String> = "requests",
    }
}

wire! {
    /// Parameters for the drivers of some requests.
    pub struct DeviceClaimConfiguration {
        opaque: Option<OpaqueDeviceConfiguration> = "opaque",
        requests: Vec<String> = "requests",
    }
}

wire! {
    /// Parameters that only the driver understands.
    pub struct OpaqueDeviceConfiguration {
        driver: String = "driver",
        parameters: Option<Raw> = "parameters",
    }
}

wire! {
    /// A claim to be made for each pod.
    pub object ResourceClaimTemplate of "resource.k8s.io/v1" {
        metadata: ObjectMeta = "metadata",
        spec: ResourceClaimTemplateSpec = "spec",
    }
}

wire! {
    /// The claim to be made.
    pub struct ResourceClaimTemplateSpec {
        metadata: ObjectMeta = "metadata",
        spec: ResourceClaimSpec = "spec",
    }
}
