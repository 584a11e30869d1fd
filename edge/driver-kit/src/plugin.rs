//! The kubelet's side of a driver: it registers, is called to prepare and unprepare claims, and reports health.
//!
//! Invariant: the kubelet never finds a plugin that cannot answer. The socket for claims is there before the one by which
//! the kubelet finds it, and goes after it.

mod calls;
mod driver;
mod options;
mod reports;
mod services;
mod socket;
mod trouble;
mod turnstile;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use client::Connection;
use plugin::dra::v1::dra_plugin_server::DraPluginServer as ClaimsV1Server;
use plugin::dra::v1beta1::dra_plugin_server::DraPluginServer as ClaimsV1Beta1Server;
use plugin::health::v1::dra_resource_health_server::DraResourceHealthServer as HealthV1Server;
use plugin::health::v1alpha1::dra_resource_health_server::DraResourceHealthServer as HealthV1Alpha1Server;
use plugin::registration::PluginInfo;
use plugin::registration::registration_server::RegistrationServer;
use plugin::{DRA_PLUGIN, DraVersion, HealthVersion};
use thiserror::Error;
use tokio::sync::{Mutex, watch};
use tonic::transport::Server;

pub use driver::{
    ClaimReference, DeviceHealth, Driver, Failure, Health, HealthReports, PreparedDevice, own_results,
};
pub use options::{Forger, PluginOptions, SocketPathTooLong};
pub use trouble::Trouble;

use crate::publish::{BadPools, Pool, PublishTrouble, Publisher, Scope};
use calls::Calls;
use services::Services;
use socket::Socket;
use turnstile::Turnstile;

/// Why a plugin cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The driver's name is none.
    #[error(
        "{driver:?} is not a valid driver name: {why}; hint: use a DNS name that you own, such as gpu.example.com"
    )]
    DriverName {
        /// The name.
        driver: String,
        /// What is wrong with it.
        why: String,
    },
    /// The node's name is none.
    #[error(
        "{node:?} is not a valid node name; hint: read it from spec.nodeName of the pod with the downward API"
    )]
    NodeName {
        /// The name.
        node: String,
    },
    /// A socket would have too long a path.
    #[error(transparent)]
    SocketPath(#[from] SocketPathTooLong),
    /// A socket cannot be made.
    #[error("cannot listen on {}: {source}; hint: check that the directory exists and is writable", socket.display())]
    Listen {
        /// The socket.
        socket: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
}

/// A driver at work on a node.
pub struct Plugin<D: Driver> {
    calls: Arc<Calls<D>>,
    publisher: Publisher,
    registration: Socket,
    claims: Socket,
    registered: watch::Receiver<bool>,
}

impl<D: Driver> Plugin<D> {
    /// Serves the driver to the kubelet of its node. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// When the driver's name is bad or a socket cannot be made.
    pub fn start(connection: Connection, options: PluginOptions, driver: D) -> Result<Self, StartError> {
        check_name(&options.driver)?;
        if !schema::names::dns_subdomain(&options.node).is_empty() {
            return Err(StartError::NodeName { node: options.node });
        }
        let (claims_path, registration_path) = (options.claims_socket()?, options.registration_socket()?);
        let calls =
            Arc::new(Calls::new(driver, options.driver.clone(), connection.clone(), turnstile(&options)));
        let (stop, stopped) = watch::channel(false);
        let (told, registered) = watch::channel(false);
        let services = Services {
            calls: calls.clone(),
            forger: options.forger.clone(),
            card: card(&options.driver, &claims_path),
            registered: told,
            stop: stopped,
        };
        let for_claims = Server::builder()
            .add_service(ClaimsV1Server::new(services.clone()))
            .add_service(ClaimsV1Beta1Server::new(services.clone()))
            .add_service(HealthV1Server::new(services.clone()))
            .add_service(HealthV1Alpha1Server::new(services.clone()));
        let for_registration = Server::builder().add_service(RegistrationServer::new(services));
        let failed = |socket: PathBuf| move |source| StartError::Listen { socket, source };
        let claims = Socket::serve(claims_path.clone(), for_claims, stop).map_err(failed(claims_path))?;
        let (stop, _) = watch::channel(false);
        let registration = Socket::serve(registration_path.clone(), for_registration, stop)
            .map_err(failed(registration_path))?;
        let listener = {
            let calls = calls.clone();
            Arc::new(move |trouble: &_| {
                calls.driver().trouble(&Trouble::Publish(PublishTrouble::clone(trouble)))
            })
        };
        let publisher = Publisher::start(connection, &options.driver, Scope::Node(options.node), listener);
        Ok(Self { calls, publisher, registration, claims, registered })
    }

    /// The driver.
    pub fn driver(&self) -> &D {
        self.calls.driver()
    }

    /// From now on these pools are offered on the node; see [`Publisher::publish`].
    ///
    /// # Errors
    /// When something is wrong with a pool. What was published before stays.
    pub fn publish(&self, pools: Vec<Pool>) -> Result<(), BadPools> {
        self.publisher.publish(pools)
    }

    /// Done when the server has what was published last.
    pub async fn published(&self) {
        self.publisher.settled().await;
    }

    /// Done when the kubelet has registered the plugin.
    pub async fn registered(&self) {
        // The services hold the other end for as long as they run.
        let _ = self.registered.clone().wait_for(|registered| *registered).await;
    }

    /// Stops: the kubelet finds the plugin no more, calls that are under way end, and slices stay for the next instance.
    pub async fn stop(self) {
        self.registration.stop().await;
        self.claims.stop().await;
        self.publisher.stop().await;
    }
}

fn check_name(driver: &str) -> Result<(), StartError> {
    const DRIVER_BYTES_MAX: usize = 63;
    let mut faults = schema::names::dns_subdomain(driver);
    if driver.len() > DRIVER_BYTES_MAX {
        faults.push("may have at most 63 characters");
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(StartError::DriverName { driver: driver.to_owned(), why: faults.join(", ") })
}

fn turnstile(options: &PluginOptions) -> Turnstile {
    match (options.one_at_a_time, &options.rolling_update) {
        (false, _) => Turnstile::Open,
        (true, None) => Turnstile::Single(Mutex::new(())),
        (true, Some(_)) => Turnstile::Shared(Mutex::new(()), options.data_dir.join("serialize.lock")),
    }
}

/// What the kubelet reads. It takes the first version of claims that it knows.
fn card(driver: &str, claims: &std::path::Path) -> PluginInfo {
    let versions = DraVersion::ALL.map(DraVersion::name).into_iter();
    PluginInfo {
        r#type: DRA_PLUGIN.to_owned(),
        name: driver.to_owned(),
        endpoint: claims.display().to_string(),
        supported_versions: versions
            .chain(HealthVersion::ALL.map(HealthVersion::name))
            .map(str::to_owned)
            .collect(),
    }
}
