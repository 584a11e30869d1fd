//! The gRPC services: two versions of claims, two of health, and the registration.
//!
//! Each version only translates; what is done is the same.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use futures_util::{Stream, StreamExt};
use plugin::dra::v1::dra_plugin_server::DraPlugin as ClaimsV1;
use plugin::dra::v1beta1::dra_plugin_server::DraPlugin as ClaimsV1Beta1;
use plugin::dra::{v1, v1beta1};
use plugin::health::v1::dra_resource_health_server::DraResourceHealth as HealthV1;
use plugin::health::v1alpha1::dra_resource_health_server::DraResourceHealth as HealthV1Alpha1;
use plugin::health::{v1 as health_v1, v1alpha1 as health_v1alpha1};
use plugin::registration::registration_server::Registration;
use plugin::registration::{InfoRequest, PluginInfo, RegistrationStatus, RegistrationStatusResponse};
use tokio::sync::watch;
use tonic::{Request, Response, Status};

use crate::plugin::calls::Calls;
use crate::plugin::driver::{ClaimReference, DeviceHealth, Driver, Health, PreparedDevice};
use crate::plugin::options::Forger;
use crate::plugin::reports::Reports;
use crate::plugin::trouble::Trouble;

/// All services of a driver.
pub(crate) struct Services<D> {
    pub(crate) calls: Arc<Calls<D>>,
    pub(crate) forger: Option<Arc<dyn Forger>>,
    /// What the plugin says of itself.
    pub(crate) card: PluginInfo,
    /// Whether the kubelet has it registered.
    pub(crate) registered: watch::Sender<bool>,
    /// Streams end when this says so.
    pub(crate) stop: watch::Receiver<bool>,
}

impl<D> Clone for Services<D> {
    fn clone(&self) -> Self {
        Self {
            calls: self.calls.clone(),
            forger: self.forger.clone(),
            card: self.card.clone(),
            registered: self.registered.clone(),
            stop: self.stop.clone(),
        }
    }
}

fn panicked() -> Status {
    Status::internal("the driver panicked; see its log")
}

fn failed<T>(outcome: Result<T, String>) -> (Option<T>, String) {
    match outcome {
        Ok(value) => (Some(value), String::new()),
        // An empty text would mean success.
        Err(why) if why.is_empty() => (None, "the driver failed without a message".to_owned()),
        Err(why) => (None, why),
    }
}

impl<D: Driver> Services<D> {
    async fn prepare(&self, claims: Vec<ClaimReference>) -> Result<v1::NodePrepareResourcesResponse, Status> {
        let answers = self.calls.clone().prepare(claims).await.ok_or_else(panicked)?;
        let response = |outcome: Result<Vec<PreparedDevice>, String>| {
            let (devices, error) = failed(outcome);
            let devices = devices.unwrap_or_default().into_iter().map(ready).collect();
            v1::NodePrepareResourceResponse { devices, error }
        };
        let claims = answers.into_iter().map(|(uid, outcome)| (uid, response(outcome))).collect();
        let mut answer = v1::NodePrepareResourcesResponse { claims };
        if let Some(forger) = &self.forger {
            forger.prepared(&mut answer);
        }
        Ok(answer)
    }

    async fn unprepare(&self, claims: Vec<ClaimReference>) -> Result<BTreeMap<String, String>, Status> {
        let answers = self.calls.clone().unprepare(claims).await.ok_or_else(panicked)?;
        Ok(answers.into_iter().map(|(uid, outcome)| (uid, failed(outcome).1)).collect())
    }

    fn reports(&self) -> Result<impl Stream<Item = Vec<DeviceHealth>> + Send + use<D>, Status> {
        let reports = self.calls.driver().health();
        let reports = reports.ok_or_else(|| Status::unimplemented("the driver does not report health"))?;
        Ok(Reports::new(reports, self.calls.clone(), self.stop.clone()).stream())
    }
}

fn ready(device: PreparedDevice) -> v1::Device {
    v1::Device {
        request_names: device.requests,
        pool_name: device.pool,
        device_name: device.device,
        cdi_device_ids: device.cdi_ids,
        share_id: device.share_id,
    }
}

#[tonic::async_trait]
impl<D: Driver> ClaimsV1 for Services<D> {
    async fn node_prepare_resources(
        &self,
        request: Request<v1::NodePrepareResourcesRequest>,
    ) -> Result<Response<v1::NodePrepareResourcesResponse>, Status> {
        let claims = request.into_inner().claims.into_iter().map(reference).collect();
        self.prepare(claims).await.map(Response::new)
    }

    async fn node_unprepare_resources(
        &self,
        request: Request<v1::NodeUnprepareResourcesRequest>,
    ) -> Result<Response<v1::NodeUnprepareResourcesResponse>, Status> {
        let claims = request.into_inner().claims.into_iter().map(reference).collect();
        let answers = self.unprepare(claims).await?.into_iter();
        let claims = answers.map(|(uid, error)| (uid, v1::NodeUnprepareResourceResponse { error })).collect();
        Ok(Response::new(v1::NodeUnprepareResourcesResponse { claims }))
    }
}

#[tonic::async_trait]
impl<D: Driver> ClaimsV1Beta1 for Services<D> {
    async fn node_prepare_resources(
        &self,
        request: Request<v1beta1::NodePrepareResourcesRequest>,
    ) -> Result<Response<v1beta1::NodePrepareResourcesResponse>, Status> {
        let claims = request.into_inner().claims.into_iter().map(older_reference).collect();
        let answer = self.prepare(claims).await?;
        let older = |response: v1::NodePrepareResourceResponse| v1beta1::NodePrepareResourceResponse {
            devices: response.devices.into_iter().map(older_device).collect(),
            error: response.error,
        };
        let claims = answer.claims.into_iter().map(|(uid, response)| (uid, older(response))).collect();
        Ok(Response::new(v1beta1::NodePrepareResourcesResponse { claims }))
    }

    async fn node_unprepare_resources(
        &self,
        request: Request<v1beta1::NodeUnprepareResourcesRequest>,
    ) -> Result<Response<v1beta1::NodeUnprepareResourcesResponse>, Status> {
        let claims = request.into_inner().claims.into_iter().map(older_reference).collect();
        let answers = self.unprepare(claims).await?.into_iter();
        let claims =
            answers.map(|(uid, error)| (uid, v1beta1::NodeUnprepareResourceResponse { error })).collect();
        Ok(Response::new(v1beta1::NodeUnprepareResourcesResponse { claims }))
    }
}

fn reference(claim: v1::Claim) -> ClaimReference {
    ClaimReference { namespace: claim.namespace, name: claim.name, uid: claim.uid }
}

fn older_reference(claim: v1beta1::Claim) -> ClaimReference {
    ClaimReference { namespace: claim.namespace, name: claim.name, uid: claim.uid }
}

fn older_device(device: v1::Device) -> v1beta1::Device {
    v1beta1::Device {
        request_names: device.request_names,
        pool_name: device.pool_name,
        device_name: device.device_name,
        cdi_device_ids: device.cdi_device_ids,
    }
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl<D: Driver> HealthV1 for Services<D> {
    type NodeWatchResourcesStream = Answers<health_v1::NodeWatchResourcesResponse>;

    async fn node_watch_resources(
        &self,
        _: Request<health_v1::NodeWatchResourcesRequest>,
    ) -> Result<Response<Self::NodeWatchResourcesStream>, Status> {
        let said = |report: Vec<DeviceHealth>| {
            Ok(health_v1::NodeWatchResourcesResponse { devices: report.into_iter().map(state).collect() })
        };
        Ok(Response::new(Box::pin(self.reports()?.map(said))))
    }
}

#[tonic::async_trait]
impl<D: Driver> HealthV1Alpha1 for Services<D> {
    type NodeWatchResourcesStream = Answers<health_v1alpha1::NodeWatchResourcesResponse>;

    async fn node_watch_resources(
        &self,
        _: Request<health_v1alpha1::NodeWatchResourcesRequest>,
    ) -> Result<Response<Self::NodeWatchResourcesStream>, Status> {
        let said = |report: Vec<DeviceHealth>| {
            let devices = report.into_iter().map(state).map(older_state).collect();
            Ok(health_v1alpha1::NodeWatchResourcesResponse { devices })
        };
        Ok(Response::new(Box::pin(self.reports()?.map(said))))
    }
}

fn state(device: DeviceHealth) -> health_v1::DeviceHealth {
    let health = match device.health {
        Health::Unknown => health_v1::HealthStatus::Unknown,
        Health::Healthy => health_v1::HealthStatus::Healthy,
        Health::Unhealthy => health_v1::HealthStatus::Unhealthy,
    };
    let seconds = |seconds: u64| i64::try_from(seconds).unwrap_or(i64::MAX);
    health_v1::DeviceHealth {
        device: Some(health_v1::DeviceIdentifier { pool_name: device.pool, device_name: device.device }),
        health: health.into(),
        last_updated_time: device.at.duration_since(UNIX_EPOCH).map_or(0, |time| seconds(time.as_secs())),
        health_check_timeout_seconds: seconds(device.valid_for.as_secs()),
        message: device.message,
    }
}

fn older_state(state: health_v1::DeviceHealth) -> health_v1alpha1::DeviceHealth {
    let device = state.device.map(|device| health_v1alpha1::DeviceIdentifier {
        pool_name: device.pool_name,
        device_name: device.device_name,
    });
    health_v1alpha1::DeviceHealth {
        device,
        health: state.health,
        last_updated_time: state.last_updated_time,
        health_check_timeout_seconds: state.health_check_timeout_seconds,
        message: state.message,
    }
}

#[tonic::async_trait]
impl<D: Driver> Registration for Services<D> {
    // tidy: allow(name): the protocol's own word
    async fn get_info(&self, _: Request<InfoRequest>) -> Result<Response<PluginInfo>, Status> {
        let mut card = self.card.clone();
        if let Some(forger) = &self.forger {
            forger.registration(&mut card);
        }
        Ok(Response::new(card))
    }

    async fn notify_registration_status(
        &self,
        request: Request<RegistrationStatus>,
    ) -> Result<Response<RegistrationStatusResponse>, Status> {
        let status = request.into_inner();
        self.registered.send_replace(status.plugin_registered);
        if !status.plugin_registered {
            self.calls.driver().trouble(&Trouble::NotRegistered { why: status.error });
        }
        Ok(Response::new(RegistrationStatusResponse {}))
    }
}
