//! A manager that is asked over HTTP, in the manner of Redfish.
//!
//! Hosts are computer systems, devices are PCIe devices of chassis, and ports of switches say which host they lead to. A device is
//! attached and detached by an action on it, which begins a task; the task is asked for until it has ended.

use std::collections::BTreeMap;
use std::time::Duration;

use controllers::fabric::inventory::{Host, Inventory, Place, Port, Unit};
use hyper::{Method, StatusCode};
use model::timestamp::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::sleep;

use crate::http::Address;
use crate::resources::{
    Chassis, Collection, ComputerSystem, FabricResource, Link, Order, PcieDevice, PortResource, ROOT, Switch,
    Task, TaskState,
};
use crate::{Call, Fabric, Trouble};

/// How often a task is asked for.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How long a task may take. Attaching takes minutes at most.
const TASK_MAX: Duration = Duration::from_secs(300);

/// A manager that speaks in the manner of Redfish.
pub struct Redfish {
    address: Address,
}

impl Redfish {
    /// The manager at an address.
    pub fn at(address: Address) -> Self {
        Self { address }
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Trouble> {
        let (status, body) = self.address.ask(Method::GET, path, None).await?;
        if !status.is_success() {
            return Err(Trouble::Refused(format!("{path}: {}", complaint(status, &body))));
        }
        let unreadable =
            |why: serde_json::Error| Trouble::Unreadable { path: path.to_owned(), why: why.to_string() };
        serde_json::from_value(body).map_err(unreadable)
    }

    /// The members of a collection, whole.
    async fn members<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, Trouble> {
        Ok(self.get::<Collection<T>>(&format!("{path}?$expand=.")).await?.members)
    }

    async fn devices(&self) -> Result<Vec<PcieDevice>, Trouble> {
        let mut devices = Vec::new();
        for chassis in self.members::<Chassis>(&format!("{ROOT}/Chassis")).await? {
            if let Some(link) = chassis.pcie_devices {
                devices.extend(self.members::<PcieDevice>(&link.id).await?);
            }
        }
        Ok(devices)
    }

    /// The ports of each host.
    async fn ports(&self) -> Result<BTreeMap<String, Vec<Port>>, Trouble> {
        let mut ports: BTreeMap<String, Vec<Port>> = BTreeMap::new();
        for fabric in self.members::<FabricResource>(&format!("{ROOT}/Fabrics")).await? {
            for switch in self.members::<Switch>(&fabric.switches.id).await? {
                for port in self.members::<PortResource>(&switch.ports.id).await? {
                    let Some(system) = port.links.connected_system else { continue };
                    let units_max = port.oem.max_devices;
                    let port = Port { name: port.id, switch: switch.id.clone(), units_max };
                    ports.entry(system.name().to_owned()).or_default().push(port);
                }
            }
        }
        Ok(ports)
    }

    async fn act(&self, unit: &str, action: &str, order: &Order) -> Result<(), Trouble> {
        let device = self.devices().await?.into_iter().find(|device| device.id == unit);
        let device = device.ok_or_else(|| Trouble::Refused(format!("there is no device {unit}")))?;
        let path = format!("{}/Actions/PCIeDevice.{action}", device.path);
        let order = serde_json::to_value(order).expect("an order is plain JSON");
        let (status, body) = self.address.ask(Method::POST, &path, Some(&order)).await?;
        match status {
            StatusCode::OK | StatusCode::NO_CONTENT => Ok(()),
            StatusCode::ACCEPTED => {
                let unreadable = |why: serde_json::Error| Trouble::Unreadable { path, why: why.to_string() };
                let task: Task = serde_json::from_value(body).map_err(unreadable)?;
                self.ended(task).await
            }
            refused => Err(Trouble::Refused(complaint(refused, &body))),
        }
    }

    /// Waits until a task has ended.
    async fn ended(&self, mut task: Task) -> Result<(), Trouble> {
        let mut waited = Duration::ZERO;
        loop {
            match task.task_state {
                TaskState::Completed => return Ok(()),
                TaskState::Exception => {
                    let messages: Vec<&str> = task.messages.iter().map(|one| one.message.as_str()).collect();
                    return Err(Trouble::Failed(messages.join("; ")));
                }
                TaskState::Running if waited >= TASK_MAX => {
                    return Err(Trouble::Unfinished(format!("not done within {} s", TASK_MAX.as_secs())));
                }
                TaskState::Running => {
                    sleep(LOOK_EVERY).await;
                    waited += LOOK_EVERY;
                    // Whoever does not tell how a task goes does not say that it has ended.
                    task = self.get(&task.path).await.map_err(|trouble| match trouble {
                        Trouble::Refused(why) => Trouble::Unfinished(why),
                        other => other,
                    })?;
                }
            }
        }
    }
}

impl Fabric for Redfish {
    fn inventory(&self, now: Timestamp) -> Call<'_, Inventory> {
        Box::pin(async move {
            let mut ports = self.ports().await?;
            let systems = self.members::<ComputerSystem>(&format!("{ROOT}/Systems")).await?;
            let host = |system: ComputerSystem| {
                let ports = ports.remove(&system.id).unwrap_or_default();
                (system.id, Host { name: system.host_name, units_max: system.oem.max_devices, ports })
            };
            let hosts = systems.into_iter().map(host).collect();
            let units = self.devices().await?.into_iter().map(|device| (device.id.clone(), unit(device)));
            Ok(Inventory { as_of: now, units: units.collect(), hosts })
        })
    }

    fn attach<'a>(&'a self, unit: &'a str, place: &'a Place) -> Call<'a, ()> {
        let order = Order { system: place.host.clone(), port: place.port.clone() };
        Box::pin(async move { self.act(unit, "Attach", &order).await })
    }

    fn detach<'a>(&'a self, unit: &'a str, host: &'a str) -> Call<'a, ()> {
        let order = Order { system: host.to_owned(), port: String::new() };
        Box::pin(async move { self.act(unit, "Detach", &order).await })
    }
}

fn unit(device: PcieDevice) -> Unit {
    let name = |link: &Option<Link>| link.as_ref().map(|link| link.name().to_owned());
    let place = |host: String| Place { host, port: name(&device.links.port).unwrap_or_default() };
    Unit {
        switch: name(&device.links.switch),
        is_healthy: device.status.health == "OK" && device.status.state == "Enabled",
        attached: name(&device.links.system).map(place),
        model: device.model,
        attributes: device.oem.attributes,
        capacity: device.oem.capacity,
    }
}

/// What an answer says is wrong.
fn complaint(status: StatusCode, body: &Value) -> String {
    body["error"]["message"].as_str().map_or_else(|| status.to_string(), str::to_owned)
}
