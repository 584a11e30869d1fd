//! A controller of a driver: the driver itself gives devices to claims of its classes, and says which nodes will not do.
//!
//! For devices that cannot be described by ResourceSlices, such as those that a fabric lends or that are put together on
//! request. What is asked of a driver is in [`Controller`]; [`Control::start`] does the rest: it follows claims, classes and
//! contexts, protects claims, reserves them for their pod together with their devices, reports failures as events, tries again
//! after a pause that grows, and has nodes judged again from time to time and when something was taken back, also those that
//! would not do before. What a driver began to give and nobody wants any more is taken back.
//!
//! A call of the driver that panics is reported and made again, like one that failed.
//!
//! Invariant: a driver is asked about a claim by one call at a time, is never asked to give devices to a claim that has some,
//! and never for a pod that is gone. Nothing is remembered that the API's objects do not say.

mod attend;
mod elected;
mod known;
mod order;
mod tend;

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use client::{BadTerms, Candidacy, Clock, Connection, Recorder, lead};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

pub use controllers::classic::Grant;
/// Who gave a claim its devices, and what was left for those who prepare them, however the server keeps it.
pub use objects::supercargo::control::{controller as given_by, handles};

use crate::plugin::Failure;

/// What a driver decides.
///
/// Every call may come again, also after a restart: giving devices to a claim that has them already must give the same again, and
/// taking back what is not there must succeed. What the driver keeps of its own must follow from the claims that have its
/// devices, or be kept where it survives.
pub trait Controller: Send + Sync + 'static {
    /// What a class says to this driver. By default, the parameters of its configuration that name the driver.
    ///
    /// # Errors
    /// The parameters mean nothing to the driver.
    fn class_parameters(&self, class: &DeviceClass) -> Result<Vec<Value>, Failure> {
        let configs = class.spec.config.iter().filter_map(|config| config.opaque.as_ref());
        parameters(self.name(), configs)
    }

    /// What a claim says to this driver. By default, the parameters of its configuration that name the driver.
    ///
    /// # Errors
    /// The parameters mean nothing to the driver.
    fn claim_parameters(&self, claim: &ResourceClaim) -> Result<Vec<Value>, Failure> {
        let configs = claim.spec.devices.config.iter().filter_map(|config| config.opaque.as_ref());
        parameters(self.name(), configs)
    }

    /// The driver's name, which its classes have as the name of their controller.
    fn name(&self) -> &str;

    /// Gives devices to claims of one pod, for the node that was chosen for it; an immediate claim comes alone and without a
    /// node. There is one answer for each claim, in their order. If one cannot have devices now it is asked for again.
    fn allocate(
        &self,
        claims: &[ClaimRequest],
        node: Option<&str>,
    ) -> impl Future<Output = Vec<Result<Grant, Failure>>> + Send;

    /// Takes the devices of a claim back, or stops to give it some. It need not have any.
    ///
    /// # Errors
    /// They cannot be taken back now; it is asked for again.
    fn deallocate(&self, claim: &ResourceClaim) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Of these nodes, those that will not do, for each claim in their order.
    ///
    /// # Errors
    /// Nothing can be said now; it is asked for again.
    fn unsuitable_nodes(
        &self,
        pod: &Pod,
        claims: &[ClaimRequest],
        nodes: &[String],
    ) -> impl Future<Output = Result<Vec<BTreeSet<String>>, Failure>> + Send;

    /// Something goes wrong, and is tried again.
    fn trouble(&self, _trouble: &ControlTrouble) {}
}

/// A claim that a driver is asked about.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// The pod's name for it; none if nobody uses it yet.
    pub entry: Option<String>,
    /// The claim.
    pub claim: ResourceClaim,
    /// The classes that it names.
    pub classes: Vec<DeviceClass>,
    /// What its classes say to the driver.
    pub class_parameters: Vec<Value>,
    /// What it says to the driver.
    pub claim_parameters: Vec<Value>,
}

/// Something that went wrong and is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlTrouble {
    /// What it was about.
    pub about: String,
    /// What happened.
    pub why: String,
}

impl fmt::Display for ControlTrouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.about, self.why)
    }
}

/// How a controller works.
#[derive(Clone, Debug)]
pub struct ControlOptions {
    /// After this long, nodes are judged again for pods that still wait.
    pub refresh: Duration,
    /// How many pods and claims are seen to at the same time.
    pub at_once: usize,
}

impl Default for ControlOptions {
    fn default() -> Self {
        Self { refresh: Duration::from_secs(30), at_once: 16 }
    }
}

/// A controller at work. One that is dropped stops at once; claims keep what they have.
pub struct Control {
    stop: watch::Sender<bool>,
    news: Arc<Notify>,
    worker: JoinHandle<()>,
}

impl Control {
    /// Begins to work. Of the controllers of one driver only one may work at a time: with several processes of a driver, see
    /// [`Control::start_elected`].
    ///
    /// Must be called within a tokio runtime.
    pub fn start<C: Controller>(connection: Connection, options: ControlOptions, controller: C) -> Self {
        let (stop, stopped) = watch::channel(false);
        let recorder = Recorder::start(connection.clone(), Clock::start());
        let worker = attend::Worker::new(connection, options, Arc::new(controller), recorder);
        let news = Arc::new(Notify::new());
        Self { stop, worker: tokio::spawn(worker.run(stopped, news.clone())), news }
    }

    /// Begins to work as soon as this process is elected of all that run the driver's controller. The election has a connection of
    /// its own, so that nothing else delays a renewal. Who leads no longer stops at once, see [`Control::lost`]: start again to
    /// be a candidate once more.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The times of the election do not fit together.
    pub fn start_elected<C: Controller>(
        connection: Connection,
        (electing, candidacy): (Connection, Candidacy),
        options: ControlOptions,
        controller: C,
    ) -> Result<Self, BadTerms> {
        let (stop, stopped) = watch::channel(false);
        let election = lead(electing, candidacy)?;
        let news = Arc::new(Notify::new());
        let recorder = Recorder::start(connection.clone(), Clock::start());
        let worker = attend::Worker::new(connection, options, Arc::new(controller), recorder);
        let worker = tokio::spawn(elected::run(election, worker, stopped, news.clone()));
        Ok(Self { stop, worker, news })
    }

    /// Done when nothing works any more: another process leads, or the worker was stopped.
    pub async fn lost(&mut self) {
        self.ended().await;
    }

    async fn ended(&mut self) {
        if !self.worker.is_finished() {
            let _ = (&mut self.worker).await;
        }
    }

    /// There is more to give, or less: nodes are judged again for pods that wait, within a second and not only after the
    /// time in [`ControlOptions::refresh`]. When devices were taken back this happens by itself.
    pub fn judge_again(&self) {
        self.news.notify_one();
    }

    /// Stops when what is under way is done.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        // It can only have been stopped already.
        self.ended().await;
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

fn parameters<'c>(
    driver: &str,
    configs: impl Iterator<Item = &'c objects::resource::claim::OpaqueDeviceConfiguration>,
) -> Result<Vec<Value>, Failure> {
    let own =
        configs.filter(|config| config.driver == driver).filter_map(|config| config.parameters.as_ref());
    own.map(|raw| serde_json::from_str(raw.text()).map_err(Failure::from)).collect()
}
