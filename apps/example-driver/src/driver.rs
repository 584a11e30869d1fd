//! The driver itself. There is no device behind it, so what a container gets is a variable of its environment.

use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use client::Connection;
use driver_kit::api::{Device, DeviceRequestAllocationResult, NetworkDeviceData, ResourceClaim};
use driver_kit::{
    CdiDir, CdiError, ClaimReference, ContainerEdits, DeviceHealth, DeviceState, Driver, Failure, Health,
    HealthReports, Pool, PreparedDevice, PreparedGroups, StatusReporter, Trouble, own_results,
};
use futures_util::{StreamExt, stream};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::switches::{Flags, LOOK_EVERY, Prepare, Switches, Unprepare};

/// How often health is reported, and for how long a report holds.
const HEALTH_EVERY: Duration = Duration::from_secs(10);
const HEALTH_VALID_FOR: Duration = Duration::from_secs(30);

/// The exit code of a crash on purpose.
const CRASH_CODE: i32 = 70;

/// A driver of simulated devices.
pub(crate) struct Example {
    name: String,
    cdi: CdiDir,
    status: StatusReporter,
    flags: Flags,
    /// What is offered, and which of it is not well.
    offered: watch::Receiver<(Pool, Switches)>,
    /// What is prepared: a GPU is cut in one way at a time.
    prepared: Mutex<PreparedGroups>,
}

impl Example {
    pub(crate) fn new(
        name: &str,
        cdi: CdiDir,
        connection: Connection,
        flags: Flags,
        offered: watch::Receiver<(Pool, Switches)>,
        prepared: PreparedGroups,
    ) -> Self {
        let (name, status) = (name.to_owned(), StatusReporter::new(connection, name));
        Self { name, cdi, status, flags, offered, prepared: Mutex::new(prepared) }
    }

    fn prepared(&self) -> MutexGuard<'_, PreparedGroups> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The switches, after the configured delay of each call.
    async fn switches(&self) -> Result<Switches, Failure> {
        let switches = self.flags.now()?;
        sleep(switches.delay).await;
        Ok(switches)
    }

    /// Does nothing while the switches are so.
    async fn while_so(&self, is_so: fn(&Switches) -> bool) {
        // A file that cannot be read changes nothing.
        while self.flags.now().as_ref().map_or(true, is_so) {
            sleep(LOOK_EVERY).await;
        }
    }

    /// Writes the CDI file of a claim. The answer is the same each time.
    fn make_ready(&self, claim: &ResourceClaim) -> Result<Vec<PreparedDevice>, CdiError> {
        let results: Vec<&DeviceRequestAllocationResult> = own_results(claim, &self.name).collect();
        let devices: Vec<(String, ContainerEdits)> = results.iter().map(|result| edits(result)).collect();
        let ids = self.cdi.write(&claim.metadata.uid, &devices)?;
        Ok(results.iter().zip(ids).map(|(result, id)| PreparedDevice::of(result, vec![id])).collect())
    }

    /// Says in the claim that its devices are ready.
    async fn report(&self, claim: &ResourceClaim) {
        let (pool, _) = self.offered.borrow().clone();
        let state = |result: &DeviceRequestAllocationResult| {
            let device = pool.devices.iter().find(|device| device.name == result.device);
            let state = DeviceState {
                pool: result.pool.clone(),
                device: result.device.clone(),
                share_id: result.share_id.clone(),
                network: device.filter(|device| kind(device) == "nic").map(addresses),
                ..DeviceState::default()
            };
            state.condition("Ready", true, "Prepared", "simulated")
        };
        let states: Vec<DeviceState> = own_results(claim, &self.name).map(state).collect();
        // The devices are ready all the same; people just do not see it.
        if let Err(error) = self.status.report(&ClaimReference::of(claim), &states).await {
            eprintln!("warning: {error}");
        }
    }
}

impl Driver for Example {
    async fn prepare(&self, claim: &ResourceClaim) -> Result<Vec<PreparedDevice>, Failure> {
        let switches = self.switches().await?;
        match switches.prepare {
            Prepare::Fail => return Err("configured to fail: prepare".into()),
            Prepare::Hang => self.while_so(|switches| switches.prepare == Prepare::Hang).await,
            // These spoil the answer when it is on its way.
            Prepare::Ok
            | Prepare::Crash
            | Prepare::WrongUid
            | Prepare::DuplicateDevice
            | Prepare::Oversize => {}
        }
        let (pool, _) = self.offered.borrow().clone();
        self.prepared().admit(claim, &self.name, &[pool])?;
        let ready = self.make_ready(claim)?;
        if switches.prepare == Prepare::Crash {
            crash("prepare");
        }
        self.report(claim).await;
        let names: Vec<&str> = ready.iter().map(|device| &*device.device).collect();
        println!("prepared {} with {}", ClaimReference::of(claim), names.join(", "));
        Ok(ready)
    }

    async fn unprepare(&self, claim: &ClaimReference) -> Result<(), Failure> {
        match self.switches().await?.unprepare {
            Unprepare::Ok => {}
            Unprepare::Fail => return Err("configured to fail: unprepare".into()),
            Unprepare::Hang => self.while_so(|switches| switches.unprepare == Unprepare::Hang).await,
            Unprepare::Crash => crash("unprepare"),
        }
        self.cdi.remove(&claim.uid)?;
        self.prepared().forget(&claim.uid);
        println!("unprepared {claim}");
        Ok(())
    }

    fn health(&self) -> Option<HealthReports> {
        let report = |offered: &watch::Receiver<(Pool, Switches)>| {
            let (pool, switches) = &*offered.borrow();
            pool.devices.iter().map(|device| health(&pool.name, device, switches)).collect::<Vec<_>>()
        };
        let first = stream::once({
            let offered = self.offered.clone();
            async move { report(&offered) }
        });
        let later = stream::unfold(self.offered.clone(), move |mut offered| async move {
            tokio::select! {
                changed = offered.changed() => changed.ok()?,
                () = sleep(HEALTH_EVERY) => {}
            }
            let said = report(&offered);
            Some((said, offered))
        });
        Some(first.chain(later).boxed())
    }

    fn trouble(&self, trouble: &Trouble) {
        eprintln!("warning: {trouble}");
    }
}

/// What a container gets for a device: its name, and how much of it.
fn edits(result: &DeviceRequestAllocationResult) -> (String, ContainerEdits) {
    let variable = |text: &str| text.to_uppercase().replace(['-', '.', '/'], "_");
    let mut env = vec![format!("DEVICE_{}=1", variable(&result.device))];
    for (capacity, amount) in &result.consumed_capacity {
        env.push(format!("DEVICE_{}_{}={}", variable(&result.device), variable(capacity), amount.0));
    }
    let name = match &result.share_id {
        None => result.device.clone(),
        Some(share) => format!("{}-{share}", result.device),
    };
    (name, ContainerEdits { env, ..ContainerEdits::default() })
}

fn kind(device: &Device) -> &str {
    device.attributes.get("kind").and_then(|kind| kind.string.as_deref()).unwrap_or_default()
}

fn addresses(device: &Device) -> NetworkDeviceData {
    let digits: String = device.name.chars().filter(char::is_ascii_digit).collect();
    let at: u8 = digits.parse().unwrap_or(0);
    NetworkDeviceData {
        interface_name: format!("sim{at}"),
        hardware_address: format!("02:00:00:00:00:{at:02x}"),
        ips: vec![format!("192.0.2.{}/24", at.saturating_add(1))],
        ..NetworkDeviceData::default()
    }
}

fn health(pool: &str, device: &Device, switches: &Switches) -> DeviceHealth {
    let is_unhealthy = switches.unhealthy.contains(&device.name);
    DeviceHealth {
        pool: pool.to_owned(),
        device: device.name.clone(),
        health: if is_unhealthy { Health::Unhealthy } else { Health::Healthy },
        at: SystemTime::now(),
        valid_for: HEALTH_VALID_FOR,
        message: if is_unhealthy { "configured to be unhealthy" } else { "" }.to_owned(),
    }
}

fn crash(step: &str) -> ! {
    eprintln!("configured to crash: {step}");
    process::exit(CRASH_CODE)
}
