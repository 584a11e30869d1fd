//! Device classes: names for kinds of devices.

use crate::core::affinity::NodeSelector;
use crate::meta::{Condition, ObjectMeta};
use crate::resource::claim::{DeviceSelector, OpaqueDeviceConfiguration};
use crate::resource::slice::DeviceTaint;
use crate::wire::wire;

wire! {
    /// A name for a kind of device.
    pub object DeviceClass of "resource.k8s.io/v1" {
        metadata: ObjectMeta = "metadata",
        spec: DeviceClassSpec = "spec",
    }
}

wire! {
    /// Which devices, and their configuration.
    pub struct DeviceClassSpec {
        config: Vec<DeviceClassConfiguration> = "config",
        controller_name: String = "controllerName",
        extended_resource_name: Option<String> = "extendedResourceName",
        selectors: Vec<DeviceSelector> = "selectors",
        suitable_nodes: Option<NodeSelector> = "suitableNodes",
    }
}

wire! {
    /// Parameters for the drivers.
    pub struct DeviceClassConfiguration {
        opaque: Option<OpaqueDeviceConfiguration> = "opaque",
    }
}

wire! {
    /// A taint on all devices that match.
    pub object DeviceTaintRule of "resource.k8s.io/v1" {
        metadata: ObjectMeta = "metadata",
        spec: DeviceTaintRuleSpec = "spec",
        status: DeviceTaintRuleStatus = "status",
    }
}

wire! {
    /// Which devices, and the taint.
    pub struct DeviceTaintRuleSpec {
        device_selector: Option<DeviceTaintSelector> = "deviceSelector",
        taint: DeviceTaint = "taint",
    }
}

wire! {
    /// Devices by driver, pool and name.
    pub struct DeviceTaintSelector {
        device: Option<String> = "device",
        driver: Option<String> = "driver",
        pool: Option<String> = "pool",
    }
}

wire! {
    /// How far eviction is.
    pub struct DeviceTaintRuleStatus {
        conditions: Vec<Condition> = "conditions",
    }
}
