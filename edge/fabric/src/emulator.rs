//! A manager of a fabric that is none: it answers in the manner of Redfish, takes its time, and fails when it is told to.
//!
//! It serves whoever reaches it, so it listens on loopback unless it is told otherwise.

mod floor;
mod serve;
mod setup;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::TcpListener;

use floor::{Floor, Ordered, State};
pub use setup::{BadSetup, Setup};

/// An emulated fabric. Clones are the same one.
#[derive(Clone)]
pub struct Emulator {
    floor: Arc<Mutex<Floor>>,
    latency: Duration,
}

impl Emulator {
    /// A fabric with everything in its place, and nothing attached.
    pub fn new(setup: Setup) -> Self {
        Self { latency: setup.latency(), floor: Arc::new(Mutex::new(Floor::of(setup))) }
    }

    /// Listens; says where.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn listen(
        &self,
        at: SocketAddr,
    ) -> io::Result<(SocketAddr, impl Future<Output = ()> + Send + 'static)> {
        let listener = TcpListener::bind(at).await?;
        Ok((listener.local_addr()?, serve::serve(listener, self.clone())))
    }

    /// Puts one more device of a model that is there into its chassis, and says what it is called.
    pub fn plug(&self, model: &str) -> Option<String> {
        let mut floor = self.floor.lock();
        let chassis = floor.setup.chassis.iter();
        let mut kinds = chassis.flat_map(|one| one.devices.iter().map(move |kind| (one, kind)));
        let (chassis, kind) = kinds.find(|(_, kind)| kind.model == model)?;
        let (id, switch, kind) = (chassis.id.clone(), chassis.switch.clone(), kind.clone());
        Some(floor.plug(&id, &switch, &kind))
    }

    /// Pulls a device out.
    pub fn unplug(&self, device: &str) {
        self.floor.lock().devices.remove(device);
    }

    /// Another cluster takes a device that is free; says whether it could.
    pub fn seize(&self, device: &str) -> bool {
        let mut floor = self.floor.lock();
        let slot = floor.devices.get_mut(device).filter(|slot| slot.state == State::Free);
        let Some(slot) = slot else { return false };
        slot.state = State::There("another-cluster".to_owned(), "another-cluster".to_owned());
        true
    }

    /// So many orders fail from now on, with these words.
    pub fn fail(&self, orders: u32, why: &str) {
        self.floor.lock().failures = (orders, why.to_owned());
    }

    /// Devices that are attached to hosts of ours, with the host.
    pub fn attached(&self) -> Vec<(String, String)> {
        let floor = self.floor.lock();
        let there = floor.devices.iter().filter_map(|(name, slot)| match &slot.state {
            State::There(host, _) if host != "another-cluster" => Some((name.clone(), host.clone())),
            _ => None,
        });
        there.collect()
    }

    /// All devices by name.
    pub fn devices(&self) -> Vec<String> {
        self.floor.lock().devices.keys().cloned().collect()
    }

    /// How often a device was attached.
    pub fn attachments(&self) -> u64 {
        self.floor.lock().attachments
    }

    /// Begins what was ordered; it takes its time.
    fn carry_out(&self, device: &str, ordered: Ordered) -> Option<u64> {
        let Ordered::Begun(number) = ordered else { return None };
        let (emulator, device) = (self.clone(), device.to_owned());
        tokio::spawn(async move {
            tokio::time::sleep(emulator.latency).await;
            emulator.floor.lock().finish(number, &device);
        });
        Some(number)
    }
}
