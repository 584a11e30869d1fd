//! Calls to a plugin, each within its time and size.
//!
//! Both versions of each service have the same messages on the wire, but for a field that the older one lacks; so the newer
//! messages are sent and read, and only the name of the service differs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plugin::registration::registration_server as registration;
use plugin::registration::{InfoRequest, PluginInfo, RegistrationStatus, RegistrationStatusResponse};
use plugin::{DraVersion, HealthVersion, dra, health};
use prost::Message;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::timeout;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::link::{Sender, client, connect};
use super::registration::Offer;
use crate::claims::{Errand, PreparedDevice};

/// How long a call waits for a connection that is being made.
const CONNECTION_WAIT: Duration = Duration::from_secs(2);

/// How much is repeated of what a driver says is wrong, in bytes.
const WHY_BYTES_MAX: usize = 300;

/// What a health service sends, message by message.
pub(crate) type HealthStream = Streaming<health::v1::NodeWatchResourcesResponse>;

/// A driver's plugin that has registered.
pub(crate) struct Endpoint {
    pub(crate) offer: Offer,
    pub(crate) link: watch::Sender<Option<Sender>>,
}

/// Why a call has no answer.
#[derive(Debug, Error)]
pub(crate) enum CallError {
    #[error("not connected to {}; hint: check that the driver runs on this node", endpoint.display())]
    NotConnected { endpoint: PathBuf },
    #[error("no answer within {after:?}; hint: see the log of the driver, and restart it if it hangs")]
    TimedOut { after: Duration },
    #[error("rpc error: code = {code:?} desc = {why}; hint: see the log of the driver")]
    Failed { code: Code, why: String },
}

impl CallError {
    /// The code that gRPC has for it, as Go spells it.
    pub(crate) fn code(&self) -> String {
        match self {
            Self::NotConnected { .. } => "Unavailable".to_owned(),
            Self::TimedOut { .. } => "DeadlineExceeded".to_owned(),
            Self::Failed { code: Code::Cancelled, .. } => "Canceled".to_owned(),
            Self::Failed { code, .. } => format!("{code:?}"),
        }
    }
}

impl From<Status> for CallError {
    fn from(status: Status) -> Self {
        Self::Failed { code: status.code(), why: shortened(status.message()) }
    }
}

impl Endpoint {
    pub(crate) fn new(offer: Offer) -> Self {
        Self { offer, link: watch::Sender::new(None) }
    }

    /// A method of the driver's service, as gRPC names it.
    pub(crate) fn method(&self, name: &str) -> String {
        path_of(self.service(), name).to_string()
    }

    fn service(&self) -> &'static str {
        match self.offer.version {
            DraVersion::V1 => dra::v1::dra_plugin_server::SERVICE_NAME,
            DraVersion::V1Beta1 => dra::v1beta1::dra_plugin_server::SERVICE_NAME,
        }
    }

    /// Has claims prepared, and gives what the driver says of each, by uid.
    pub(crate) async fn prepare(
        &self,
        errand: &Errand,
        within: Duration,
    ) -> Result<BTreeMap<String, Result<Vec<PreparedDevice>, String>>, CallError> {
        let request = dra::v1::NodePrepareResourcesRequest { claims: claims(errand) };
        let answer: dra::v1::NodePrepareResourcesResponse =
            self.call("NodePrepareResources", request, within).await?;
        let outcome = |claim: dra::v1::NodePrepareResourceResponse| match claim.error.as_str() {
            "" => Ok(claim.devices.into_iter().map(device).collect()),
            why => Err(shortened(why)),
        };
        Ok(answer.claims.into_iter().map(|(uid, claim)| (uid, outcome(claim))).collect())
    }

    /// Has claims unprepared, and gives what the driver says of each, by uid.
    pub(crate) async fn unprepare(
        &self,
        errand: &Errand,
        within: Duration,
    ) -> Result<BTreeMap<String, Result<(), String>>, CallError> {
        let request = dra::v1::NodeUnprepareResourcesRequest { claims: claims(errand) };
        let answer: dra::v1::NodeUnprepareResourcesResponse =
            self.call("NodeUnprepareResources", request, within).await?;
        let outcome = |claim: dra::v1::NodeUnprepareResourceResponse| match claim.error.as_str() {
            "" => Ok(()),
            why => Err(shortened(why)),
        };
        Ok(answer.claims.into_iter().map(|(uid, claim)| (uid, outcome(claim))).collect())
    }

    /// Begins to hear how the driver's devices are.
    pub(crate) async fn watch_health(&self, version: HealthVersion) -> Result<HealthStream, CallError> {
        let service = match version {
            HealthVersion::V1 => health::v1::dra_resource_health_server::SERVICE_NAME,
            HealthVersion::V1Alpha1 => health::v1alpha1::dra_resource_health_server::SERVICE_NAME,
        };
        let mut grpc = client(self.sender().await?);
        let request = Request::new(health::v1::NodeWatchResourcesRequest {});
        let path = path_of(service, "NodeWatchResources");
        let codec = ProstCodec::default();
        Ok(grpc.server_streaming(request, path, codec).await?.into_inner())
    }

    async fn call<Q: Message + 'static, A: Message + Default + 'static>(
        &self,
        method: &str,
        request: Q,
        within: Duration,
    ) -> Result<A, CallError> {
        let sender = self.sender().await?;
        unary(sender, self.service(), method, request, within).await
    }

    /// The connection, or the one that is about to be made.
    async fn sender(&self) -> Result<Sender, CallError> {
        let mut link = self.link.subscribe();
        let connected = timeout(CONNECTION_WAIT, link.wait_for(Option::is_some)).await;
        let sender = connected.ok().and_then(Result::ok).and_then(|link| link.clone());
        sender.ok_or_else(|| CallError::NotConnected { endpoint: self.offer.endpoint.clone() })
    }
}

/// A connection to a socket at which a plugin registers.
pub(crate) struct Registrar {
    sender: Sender,
    within: Duration,
}

impl Registrar {
    /// Connects to the socket. The connection lasts as long as this does.
    ///
    /// # Errors
    /// Nobody listens.
    pub(crate) async fn at(socket: &Path, within: Duration) -> Result<Self, String> {
        let (sender, connection) = connect(socket).await.map_err(|error| error.to_string())?;
        tokio::spawn(connection);
        Ok(Self { sender, within })
    }

    /// Asks who is there.
    pub(crate) async fn ask(&self) -> Result<PluginInfo, CallError> {
        self.call("GetInfo", InfoRequest {}).await
    }

    /// Says what became of it.
    pub(crate) async fn tell(&self, outcome: &Result<(), String>) -> Result<(), CallError> {
        let error = outcome.as_ref().err().cloned().unwrap_or_default();
        let status = RegistrationStatus { plugin_registered: outcome.is_ok(), error };
        self.call::<_, RegistrationStatusResponse>("NotifyRegistrationStatus", status).await.map(drop)
    }

    async fn call<Q: Message + 'static, A: Message + Default + 'static>(
        &self,
        method: &str,
        request: Q,
    ) -> Result<A, CallError> {
        unary(self.sender.clone(), registration::SERVICE_NAME, method, request, self.within).await
    }
}

async fn unary<Q: Message + 'static, A: Message + Default + 'static>(
    sender: Sender,
    service: &str,
    method: &str,
    request: Q,
    within: Duration,
) -> Result<A, CallError> {
    let mut request = Request::new(request);
    // The plugin learns how long we wait, and need not go on after that.
    request.set_timeout(within);
    let mut grpc = client(sender);
    let codec = ProstCodec::<Q, A>::default();
    let answer = timeout(within, grpc.unary(request, path_of(service, method), codec)).await;
    let answer = answer.map_err(|_| CallError::TimedOut { after: within })?;
    Ok(answer?.into_inner())
}

fn path_of(service: &str, method: &str) -> PathAndQuery {
    PathAndQuery::try_from(format!("/{service}/{method}")).expect("both names are fit for a path")
}

fn claims(errand: &Errand) -> Vec<dra::v1::Claim> {
    let claim = |(key, uid): &(crate::claims::ClaimKey, String)| dra::v1::Claim {
        namespace: key.namespace.clone(),
        uid: uid.clone(),
        name: key.name.clone(),
    };
    errand.claims.iter().map(claim).collect()
}

fn device(device: dra::v1::Device) -> PreparedDevice {
    PreparedDevice {
        pool: device.pool_name,
        device: device.device_name,
        share: device.share_id,
        requests: device.request_names,
        cdi_ids: device.cdi_device_ids,
    }
}

/// What a driver says is wrong, short enough for an event.
fn shortened(why: &str) -> String {
    if why.len() <= WHY_BYTES_MAX {
        return why.to_owned();
    }
    let end = (0..=WHY_BYTES_MAX).rev().find(|at| why.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &why[..end])
}
