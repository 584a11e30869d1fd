//! Who may be called for which driver, and whose slices nobody answers for any more.
//!
//! Invariant: a driver without an endpoint that can be reached has a time at which its slices go, and only such a driver.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::endpoint::Endpoint;
use super::registration::Rejection;
use super::sockets::SocketId;

/// Where an endpoint is, and whose it is.
pub(crate) trait Address {
    fn driver(&self) -> &str;
    fn path(&self) -> &Path;
}

impl Address for Arc<Endpoint> {
    fn driver(&self) -> &str {
        &self.offer.driver
    }

    fn path(&self) -> &Path {
        &self.offer.endpoint
    }
}

/// The sockets that are there, and the endpoints that registered at them.
pub(crate) struct Registry<E> {
    wipe_after: Duration,
    sockets: BTreeMap<PathBuf, SocketId>,
    /// In the order in which they registered.
    plugins: Vec<RegisteredPlugin<E>>,
    /// When the slices of a driver go.
    wipes: BTreeMap<String, Instant>,
}

struct RegisteredPlugin<E> {
    socket: PathBuf,
    endpoint: E,
    connected: bool,
}

impl<E: Address> Registry<E> {
    pub(crate) fn new(wipe_after: Duration) -> Self {
        Self { wipe_after, sockets: BTreeMap::new(), plugins: Vec::new(), wipes: BTreeMap::new() }
    }

    /// A socket is there.
    pub(crate) fn came(&mut self, socket: &Path, id: SocketId) {
        self.sockets.insert(socket.to_owned(), id);
    }

    /// A socket is gone, and with it the endpoint that registered there.
    pub(crate) fn went(&mut self, socket: &Path, now: Instant) {
        self.sockets.remove(socket);
        let gone: Vec<RegisteredPlugin<E>> =
            self.plugins.extract_if(.., |plugin| plugin.socket == socket).collect();
        for plugin in gone {
            self.plan_wipe(plugin.endpoint.driver(), now);
        }
    }

    /// Registers an endpoint. Whether the socket is still the one that was asked is said by the answer.
    ///
    /// # Errors
    /// Another plugin of the driver has the endpoint.
    pub(crate) fn register(
        &mut self,
        socket: &Path,
        id: SocketId,
        endpoint: E,
        now: Instant,
    ) -> Result<bool, Rejection> {
        if self.sockets.get(socket) != Some(&id) {
            return Ok(false);
        }
        let is_taken = |plugin: &&RegisteredPlugin<E>| {
            plugin.socket != socket
                && plugin.endpoint.driver() == endpoint.driver()
                && plugin.endpoint.path() == endpoint.path()
        };
        if self.plugins.iter().any(|plugin| is_taken(&plugin)) {
            let driver = endpoint.driver().to_owned();
            return Err(Rejection::EndpointTaken { endpoint: endpoint.path().to_owned(), driver });
        }
        let driver = endpoint.driver().to_owned();
        self.plugins.retain(|plugin| plugin.socket != socket);
        self.plugins.push(RegisteredPlugin { socket: socket.to_owned(), endpoint, connected: false });
        self.plan_wipe(&driver, now);
        Ok(true)
    }

    /// The connection to the endpoint that registered at a socket was made or lost.
    pub(crate) fn connection(&mut self, socket: &Path, id: SocketId, connected: bool, now: Instant) {
        if self.sockets.get(socket) != Some(&id) {
            return;
        }
        let Some(plugin) = self.plugins.iter_mut().find(|plugin| plugin.socket == socket) else { return };
        plugin.connected = connected;
        let driver = plugin.endpoint.driver().to_owned();
        self.plan_wipe(&driver, now);
    }

    fn plan_wipe(&mut self, driver: &str, now: Instant) {
        let of_driver = |plugin: &&RegisteredPlugin<E>| plugin.endpoint.driver() == driver;
        if self.plugins.iter().filter(of_driver).any(|plugin| plugin.connected) {
            self.wipes.remove(driver);
        } else {
            self.wipes.entry(driver.to_owned()).or_insert(now + self.wipe_after);
        }
    }

    /// Whom to call for a driver: of those that are connected the latest, or else the latest of all.
    pub(crate) fn pick(&self, driver: &str) -> Option<&E> {
        let mine = || self.plugins.iter().rev().filter(|plugin| plugin.endpoint.driver() == driver);
        mine().find(|plugin| plugin.connected).or_else(|| mine().next()).map(|plugin| &plugin.endpoint)
    }

    /// The drivers whose slices are to go now. Each is said once.
    pub(crate) fn take_wipes(&mut self, now: Instant) -> Vec<String> {
        let due: Vec<String> =
            self.wipes.iter().filter(|(_, at)| **at <= now).map(|(driver, _)| driver.clone()).collect();
        self.wipes.retain(|_, at| *at > now);
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: u64 = 7;

    #[derive(Clone, PartialEq, Debug)]
    struct Fake(&'static str, &'static str);

    impl Address for Fake {
        fn driver(&self) -> &str {
            self.0
        }

        fn path(&self) -> &Path {
            Path::new(self.1)
        }
    }

    fn at(socket: &str) -> &Path {
        Path::new(socket)
    }

    #[test]
    fn calls_go_to_the_latest_that_is_connected() {
        let (mut registry, now, id) =
            (Registry::new(Duration::from_secs(30)), Instant::now(), SocketId::numbered(ID));
        assert_eq!(registry.pick("gpu"), None);
        let (old, new) = (Fake("gpu", "/old"), Fake("gpu", "/new"));
        registry.came(at("a"), id);
        registry.came(at("b"), id);
        assert_eq!(registry.register(at("a"), id, old.clone(), now), Ok(true));
        assert_eq!(registry.register(at("b"), id, new.clone(), now), Ok(true));
        assert_eq!(registry.pick("gpu"), Some(&new));
        registry.connection(at("a"), id, true, now);
        assert_eq!(registry.pick("gpu"), Some(&old));
        registry.connection(at("b"), id, true, now);
        assert_eq!(registry.pick("gpu"), Some(&new));
        registry.went(at("b"), now);
        assert_eq!(registry.pick("gpu"), Some(&old));
    }

    #[test]
    fn an_endpoint_is_registered_once_and_only_while_its_socket_is_there() {
        let (mut registry, now, id) = (Registry::new(Duration::ZERO), Instant::now(), SocketId::numbered(ID));
        assert_eq!(registry.register(at("a"), id, Fake("gpu", "/e"), now), Ok(false));
        registry.came(at("a"), id);
        registry.came(at("b"), id);
        assert_eq!(registry.register(at("a"), id, Fake("gpu", "/e"), now), Ok(true));
        assert_eq!(registry.register(at("a"), id, Fake("gpu", "/e"), now), Ok(true));
        let taken = registry.register(at("b"), id, Fake("gpu", "/e"), now).expect_err("it is taken");
        assert!(taken.to_string().contains("endpoint /e is already registered for DRA driver gpu"));
        assert_eq!(registry.register(at("b"), id, Fake("nic", "/e"), now), Ok(true));
    }

    #[test]
    fn slices_go_some_time_after_the_last_endpoint_did() {
        let (mut registry, start, id) =
            (Registry::new(Duration::from_secs(30)), Instant::now(), SocketId::numbered(ID));
        let after = |seconds| start + Duration::from_secs(seconds);
        registry.came(at("a"), id);
        registry.register(at("a"), id, Fake("gpu", "/e"), start).expect("it is free");
        registry.connection(at("a"), id, true, after(1));
        assert!(registry.take_wipes(after(5)).is_empty());
        registry.connection(at("a"), id, false, after(10));
        registry.went(at("a"), after(20));
        assert!(registry.take_wipes(after(39)).is_empty());
        assert_eq!(registry.take_wipes(after(40)), ["gpu"]);
        assert!(registry.take_wipes(after(90)).is_empty());
        registry.came(at("b"), id);
        registry.register(at("b"), id, Fake("nic", "/n"), after(100)).expect("it is free");
        assert_eq!(registry.take_wipes(after(130)), ["nic"], "one that never answered counts as gone");
    }
}
