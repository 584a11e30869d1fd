//! Servers for tests: ours, in a runtime of its own so that it can be stopped like a process, and a real one if there is one.

pub mod real;

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use client::{Connection, Options, Resource};
use gates::Gates;
use objects::core::kinds::ConfigMap;
use server::{Credentials, NoLog, Server, Users};
use store::Store;
use tokio::runtime::{Builder, Runtime};

/// The administrator's token.
pub const TOKEN: &str = "a-secret-of-the-tests";

/// A server that serves until it is stopped or dropped.
pub struct Served {
    pub address: SocketAddr,
    pub credentials: Credentials,
    dir: Option<PathBuf>,
    runtime: Option<Runtime>,
}

impl Served {
    /// A server that forgets everything when it stops.
    pub fn start() -> Self {
        Self::with(None)
    }

    /// A server that keeps everything on disk.
    pub fn on_disk(name: &str) -> Self {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("client-{name}"));
        let _ = fs::remove_dir_all(&dir);
        Self::with(Some(dir))
    }

    fn with(dir: Option<PathBuf>) -> Self {
        let credentials =
            Credentials::make(&[IpAddr::V4(Ipv4Addr::LOCALHOST)]).expect("certificates are made");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut served = Self { address, credentials, dir, runtime: None };
        served.run(0);
        served
    }

    /// Serves on a port; on any that is free if that is zero.
    pub fn run(&mut self, port: u16) {
        let (store, log): (_, Box<dyn server::Log>) = match &self.dir {
            None => (Store::default(), Box::new(NoLog)),
            Some(dir) => {
                // The threads of the server that was stopped may hold the folder for a moment longer.
                let patience = Instant::now() + Duration::from_secs(10);
                let opened = loop {
                    match server::open(dir) {
                        Err(_) if Instant::now() < patience => std::thread::sleep(Duration::from_millis(20)),
                        opened => break opened,
                    }
                };
                let (store, log, _) = opened.expect("the folder is free");
                (store, Box::new(log))
            }
        };
        let options = server::Options {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            credentials: Some(self.credentials.clone()),
            users: Users::default().with_admin_token(TOKEN),
            gates: Gates::default(),
            store,
            log,
        };
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let (tell, told) = std::sync::mpsc::channel();
        runtime.spawn(async move {
            let server = Server::bind(options).await.expect("the port is free");
            tell.send(server.address().expect("it listens")).expect("the test waits");
            server.serve(std::future::pending()).await;
        });
        self.address = told.recv().expect("the server starts");
        self.runtime = Some(runtime);
    }

    /// Ends the server and all its connections at once.
    pub fn stop(&mut self) {
        let runtime = self.runtime.take().expect("it runs");
        // A runtime must not be waited for within another.
        let stopped = std::thread::spawn(move || runtime.shutdown_timeout(Duration::from_secs(5)));
        stopped.join().expect("it stops");
    }

    pub fn connect(&self) -> Connection {
        self.connect_with(&Options::default())
    }

    pub fn connect_with(&self, options: &Options) -> Connection {
        let authority = self.credentials.authority.certificate.as_bytes();
        Connection::from_parts(&format!("https://{}", self.address), Some(TOKEN), Some(authority), options)
            .expect("the parts are whole")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

pub fn settings() -> Resource<ConfigMap> {
    Resource::named("configmaps").within("default")
}

pub fn setting(name: &str, value: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = name.to_owned();
    map.metadata.namespace = "default".to_owned();
    map.metadata.labels = BTreeMap::from([("made-by".to_owned(), "test".to_owned())]);
    map.data = BTreeMap::from([("value".to_owned(), value.to_owned())]);
    map
}
