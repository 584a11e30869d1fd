//! A driver in a process of its own, which does its work well or badly, as it is told.
//!
//! The process is this very test program, started again with one test that is otherwise left out.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, process};

use futures_util::{Stream, stream};
use plugin::dra::{v1, v1beta1};
use plugin::health::v1 as health;
use plugin::registration::{
    InfoRequest, PluginInfo, RegistrationStatus, RegistrationStatusResponse,
    registration_server::{Registration, RegistrationServer},
};
use serde::{Deserialize, Serialize};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::sleep;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

/// Where the driver finds what it is to be.
const ROLE: &str = "SUPERCARGO_TEST_DRIVER";

/// What a driver does when it is called.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Manner {
    Good,
    /// Prepares without ever answering.
    Hangs,
    /// Dies when it is to prepare.
    Crashes,
    /// Says that it cannot.
    Refuses,
    /// Answers for a claim that nobody asked for.
    WrongClaim,
    /// Answers for no claim at all.
    Skips,
    /// Gives the same device twice.
    Twice,
    /// Answers with more than a node takes.
    Oversize,
    /// Does not say who it is.
    Silent,
}

/// What a driver is.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Role {
    pub(crate) name: String,
    pub(crate) registry: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) manner: Manner,
    pub(crate) services: Vec<String>,
}

/// A driver's process, which is killed when this is dropped.
pub(crate) struct Driver {
    pub(crate) role: Role,
    process: Child,
}

impl Driver {
    /// Starts a driver. What was left of one of its name before is swept away, as drivers do.
    pub(crate) fn start(role: Role) -> Self {
        fs::create_dir_all(&role.home).expect("a folder");
        let program = env::current_exe().expect("this program has a path");
        let process = Command::new(program)
            .args(["--exact", "driver::a_driver_on_its_own", "--ignored", "--nocapture"])
            .env(ROLE, serde_json::to_string(&role).expect("plain values"))
            .stdout(Stdio::null())
            .spawn()
            .expect("this program can be started");
        Self { role, process }
    }

    /// Ends it without a warning, as `kill -9` does; its sockets stay behind.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it is ours");
    }

    /// Takes its registration away, as an uninstalled driver does.
    pub(crate) fn uninstall(&mut self) {
        self.kill();
        fs::remove_file(registration_socket(&self.role)).expect("it was there");
    }

    /// The calls that drivers of this home have had.
    pub(crate) fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.role.home.join("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Says how all its devices are from now on: `HEALTHY`, `UNHEALTHY`, or nothing at all.
    pub(crate) fn set_health(&self, word: &str) {
        fs::write(self.role.home.join("health"), word).expect("it can be written");
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn registration_socket(role: &Role) -> PathBuf {
    let plain: String = role.name.chars().filter(|char| char.is_ascii_alphanumeric()).take(20).collect();
    role.registry.join(format!("{plain}-reg.sock"))
}

#[test]
#[ignore = "it is the process of a driver, and other tests start it"]
fn a_driver_on_its_own() {
    let Ok(role) = env::var(ROLE) else { return };
    let role: Role = serde_json::from_str(&role).expect("a role");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(serve(role));
}

async fn serve(role: Role) {
    let endpoint = role.home.join("dra.sock");
    let served = Served { role: role.clone() };
    let dra = Server::builder()
        .add_service(v1::dra_plugin_server::DraPluginServer::new(served.clone()))
        .add_service(v1beta1::dra_plugin_server::DraPluginServer::new(served.clone()))
        .add_service(health::dra_resource_health_server::DraResourceHealthServer::new(served.clone()))
        .serve_with_incoming(listen(&endpoint));
    let registrar = Server::builder()
        .add_service(RegistrationServer::new(served))
        .serve_with_incoming(listen(&registration_socket(&role)));
    let (dra, registrar) = tokio::join!(dra, registrar);
    dra.and(registrar).expect("both serve until the process is killed");
}

fn listen(path: &Path) -> impl Stream<Item = std::io::Result<UnixStream>> + use<> {
    let _ = fs::remove_file(path);
    let listener = UnixListener::bind(path).expect("a socket");
    stream::unfold(listener, |listener| async move {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        Some((accepted, listener))
    })
}

#[derive(Clone)]
struct Served {
    role: Role,
}

impl Served {
    fn note(&self, what: &str) {
        let path = self.role.home.join("calls");
        let mut file = OpenOptions::new().create(true).append(true).open(path).expect("a file");
        writeln!(file, "{what}").expect("it can be written");
    }

    async fn prepare(&self, claims: Vec<v1::Claim>) -> v1::NodePrepareResourcesResponse {
        let names: Vec<&str> = claims.iter().map(|claim| &*claim.name).collect();
        self.note(&format!("prepare {}", names.join(" ")));
        let mut answer = v1::NodePrepareResourcesResponse::default();
        for claim in claims {
            let mut ready =
                v1::NodePrepareResourceResponse { devices: vec![self.device(&claim)], ..Default::default() };
            let mut uid = claim.uid;
            match self.role.manner {
                Manner::Good | Manner::Silent => {}
                Manner::Hangs => std::future::pending().await,
                Manner::Crashes => process::exit(1),
                Manner::Refuses => ready.error = "the device has no power".to_owned(),
                Manner::WrongClaim => uid = "nobody-asked-for-this".to_owned(),
                Manner::Skips => continue,
                Manner::Twice => ready.devices.push(ready.devices[0].clone()),
                Manner::Oversize => ready.devices[0].cdi_device_ids = vec!["x".repeat(5 << 20)],
            }
            answer.claims.insert(uid, ready);
        }
        answer
    }

    fn device(&self, claim: &v1::Claim) -> v1::Device {
        v1::Device {
            request_names: Vec::new(),
            pool_name: "pool".to_owned(),
            device_name: "device-0".to_owned(),
            cdi_device_ids: vec![format!("example.com/gpu={}", claim.name)],
            share_id: None,
        }
    }

    fn unprepare(&self, claims: Vec<v1::Claim>) -> v1::NodeUnprepareResourcesResponse {
        let names: Vec<&str> = claims.iter().map(|claim| &*claim.name).collect();
        self.note(&format!("unprepare {}", names.join(" ")));
        let undone = |claim: v1::Claim| (claim.uid, v1::NodeUnprepareResourceResponse::default());
        v1::NodeUnprepareResourcesResponse { claims: claims.into_iter().map(undone).collect() }
    }
}

#[tonic::async_trait]
impl Registration for Served {
    // tidy: allow(name): the protocol's own word
    async fn get_info(&self, _: Request<InfoRequest>) -> Result<Response<PluginInfo>, Status> {
        if self.role.manner == Manner::Silent {
            std::future::pending::<()>().await;
        }
        Ok(Response::new(PluginInfo {
            r#type: plugin::DRA_PLUGIN.to_owned(),
            name: self.role.name.clone(),
            endpoint: self.role.home.join("dra.sock").display().to_string(),
            supported_versions: self.role.services.clone(),
        }))
    }

    async fn notify_registration_status(
        &self,
        status: Request<RegistrationStatus>,
    ) -> Result<Response<RegistrationStatusResponse>, Status> {
        let status = status.into_inner();
        self.note(&format!("registered {} {}", status.plugin_registered, status.error));
        Ok(Response::new(RegistrationStatusResponse {}))
    }
}

#[tonic::async_trait]
impl v1::dra_plugin_server::DraPlugin for Served {
    async fn node_prepare_resources(
        &self,
        request: Request<v1::NodePrepareResourcesRequest>,
    ) -> Result<Response<v1::NodePrepareResourcesResponse>, Status> {
        Ok(Response::new(self.prepare(request.into_inner().claims).await))
    }

    async fn node_unprepare_resources(
        &self,
        request: Request<v1::NodeUnprepareResourcesRequest>,
    ) -> Result<Response<v1::NodeUnprepareResourcesResponse>, Status> {
        Ok(Response::new(self.unprepare(request.into_inner().claims)))
    }
}

/// The older version, in which a device has no share.
#[tonic::async_trait]
impl v1beta1::dra_plugin_server::DraPlugin for Served {
    async fn node_prepare_resources(
        &self,
        request: Request<v1beta1::NodePrepareResourcesRequest>,
    ) -> Result<Response<v1beta1::NodePrepareResourcesResponse>, Status> {
        let claims = request.into_inner().claims.into_iter().map(newer).collect();
        self.note("v1beta1");
        let device = |device: v1::Device| v1beta1::Device {
            request_names: device.request_names,
            pool_name: device.pool_name,
            device_name: device.device_name,
            cdi_device_ids: device.cdi_device_ids,
        };
        let claim = |(uid, claim): (String, v1::NodePrepareResourceResponse)| {
            let devices = claim.devices.into_iter().map(device).collect();
            (uid, v1beta1::NodePrepareResourceResponse { devices, error: claim.error })
        };
        let claims: BTreeMap<_, _> = self.prepare(claims).await.claims.into_iter().map(claim).collect();
        Ok(Response::new(v1beta1::NodePrepareResourcesResponse { claims }))
    }

    async fn node_unprepare_resources(
        &self,
        request: Request<v1beta1::NodeUnprepareResourcesRequest>,
    ) -> Result<Response<v1beta1::NodeUnprepareResourcesResponse>, Status> {
        let claims = request.into_inner().claims.into_iter().map(newer).collect();
        let uids = self.unprepare(claims).claims.into_keys();
        let claims = uids.map(|uid| (uid, v1beta1::NodeUnprepareResourceResponse::default())).collect();
        Ok(Response::new(v1beta1::NodeUnprepareResourcesResponse { claims }))
    }
}

fn newer(claim: v1beta1::Claim) -> v1::Claim {
    v1::Claim { namespace: claim.namespace, uid: claim.uid, name: claim.name }
}

#[tonic::async_trait]
impl health::dra_resource_health_server::DraResourceHealth for Served {
    type NodeWatchResourcesStream =
        Pin<Box<dyn Stream<Item = Result<health::NodeWatchResourcesResponse, Status>> + Send>>;

    async fn node_watch_resources(
        &self,
        _: Request<health::NodeWatchResourcesRequest>,
    ) -> Result<Response<Self::NodeWatchResourcesStream>, Status> {
        let path = self.role.home.join("health");
        let reports = stream::unfold(path, |path| async move {
            loop {
                sleep(Duration::from_millis(50)).await;
                let word = fs::read_to_string(&path).unwrap_or_default();
                let Some(health) = health::HealthStatus::from_str_name(word.trim()) else { continue };
                let device = health::DeviceHealth {
                    device: Some(health::DeviceIdentifier {
                        pool_name: "pool".to_owned(),
                        device_name: "device-0".to_owned(),
                    }),
                    health: health.into(),
                    last_updated_time: 0,
                    health_check_timeout_seconds: 1,
                    message: format!("it is {}", word.trim()),
                };
                return Some((Ok(health::NodeWatchResourcesResponse { devices: vec![device] }), path));
            }
        });
        Ok(Response::new(Box::pin(reports)))
    }
}
