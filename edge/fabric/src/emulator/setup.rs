//! What an emulated fabric is made of, as a file says it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;

/// What an emulated fabric is made of.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Setup {
    /// How long it takes to attach or detach a device.
    #[serde(default)]
    pub(crate) latency_millis: u64,
    /// The hosts.
    pub(crate) systems: Vec<SystemSetup>,
    /// The switches, with the ports that hosts are at.
    pub(crate) switches: Vec<SwitchSetup>,
    /// The boxes with devices.
    pub(crate) chassis: Vec<ChassisSetup>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SystemSetup {
    pub(crate) id: String,
    pub(crate) host_name: String,
    pub(crate) max_devices: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SwitchSetup {
    pub(crate) id: String,
    pub(crate) ports: Vec<PortSetup>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PortSetup {
    pub(crate) id: String,
    pub(crate) system: String,
    pub(crate) max_devices: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ChassisSetup {
    pub(crate) id: String,
    pub(crate) switch: String,
    pub(crate) devices: Vec<DeviceSetup>,
}

/// So many devices of a model.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DeviceSetup {
    pub(crate) model: String,
    pub(crate) count: u32,
    #[serde(default)]
    pub(crate) attributes: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) capacity: BTreeMap<String, String>,
}

/// A file that describes no fabric.
#[derive(Debug, Error)]
#[error("cannot read the inventory of the fabric: {0}")]
pub struct BadSetup(String);

impl Setup {
    /// Reads YAML.
    ///
    /// # Errors
    /// When it is none, or names what is not there.
    pub fn parse(yaml: &str) -> Result<Self, BadSetup> {
        let document = schema::parse_yaml(yaml).map_err(|error| BadSetup(error.to_string()))?;
        let setup: Self =
            serde_json::from_value(document.value).map_err(|error| BadSetup(error.to_string()))?;
        for port in setup.switches.iter().flat_map(|switch| &switch.ports) {
            if !setup.systems.iter().any(|system| system.id == port.system) {
                return Err(BadSetup(format!(
                    "port {} is connected to {}, which is not a system",
                    port.id, port.system
                )));
            }
        }
        for chassis in &setup.chassis {
            if !setup.switches.iter().any(|switch| switch.id == chassis.switch) {
                return Err(BadSetup(format!(
                    "chassis {} is connected to {}, which is not a switch",
                    chassis.id, chassis.switch
                )));
            }
        }
        Ok(setup)
    }

    /// How long it takes to attach or detach a device.
    pub(crate) fn latency(&self) -> Duration {
        Duration::from_millis(self.latency_millis)
    }
}
