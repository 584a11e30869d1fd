//! The few resources of Redfish that are spoken of, and the few of their properties.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where everything begins.
pub(crate) const ROOT: &str = "/redfish/v1";

/// A reference to another resource.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Link {
    #[serde(rename = "@odata.id")]
    pub(crate) id: String,
}

impl Link {
    /// The last part of the path, which is the name of what it leads to.
    pub(crate) fn name(&self) -> &str {
        self.id.rsplit('/').next().unwrap_or_default()
    }
}

/// A collection whose members are given whole.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Collection<T> {
    pub(crate) members: Vec<T>,
}

/// A host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ComputerSystem {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) host_name: String,
    #[serde(default)]
    pub(crate) oem: SystemOem,
}

/// What Redfish has no word for.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct SystemOem {
    pub(crate) max_devices: Option<u32>,
}

/// A box with devices.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Chassis {
    pub(crate) id: String,
    #[serde(rename = "PCIeDevices")]
    pub(crate) pcie_devices: Option<Link>,
}

/// A fabric.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct FabricResource {
    pub(crate) id: String,
    pub(crate) switches: Link,
}

/// A switch.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Switch {
    pub(crate) id: String,
    pub(crate) ports: Link,
}

/// A port of a switch, and the host that it leads to.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct PortResource {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) links: PortLinks,
    #[serde(default)]
    pub(crate) oem: SystemOem,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct PortLinks {
    pub(crate) connected_system: Option<Link>,
}

/// A device.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct PcieDevice {
    #[serde(rename = "@odata.id")]
    pub(crate) path: String,
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) model: String,
    #[serde(default)]
    pub(crate) status: Status,
    #[serde(default)]
    pub(crate) links: DeviceLinks,
    #[serde(default)]
    pub(crate) oem: DeviceOem,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Status {
    pub(crate) health: String,
    pub(crate) state: String,
}

/// Where a device hangs, and where it is attached.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct DeviceLinks {
    pub(crate) switch: Option<Link>,
    pub(crate) system: Option<Link>,
    pub(crate) port: Option<Link>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct DeviceOem {
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) capacity: BTreeMap<String, String>,
}

/// What an attachment or a detachment is about.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Order {
    pub(crate) system: String,
    #[serde(default)]
    pub(crate) port: String,
}

/// Work that a manager has begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Task {
    #[serde(rename = "@odata.id")]
    pub(crate) path: String,
    pub(crate) task_state: TaskState,
    #[serde(default)]
    pub(crate) messages: Vec<Message>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum TaskState {
    Running,
    Completed,
    Exception,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Message {
    pub(crate) message: String,
}
