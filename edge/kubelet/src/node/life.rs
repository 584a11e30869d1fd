//! The steps of a pod's life, carried out: claims are prepared before it runs, and taken back before it is over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use client::{Answer, Clock, Connection, Patch, Resource};
use controllers::simulated::phases::{self, Deed};
use objects::core::container::Container;
use objects::core::pod::Pod;
use objects::meta::{DeleteOptions, Preconditions};
use objects::resource::claim::ResourceClaim;
use parking_lot::Mutex;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::task::spawn_blocking;

use super::next::Task;
use super::notice::{Listener, Notice, Operation};
use super::{Options, files};
use crate::claims::{ClaimKey, Desk, PrepareError, UnprepareError, Wanted, devices_of, references, steps};
use crate::health::{self, Book};
use crate::plugins::{CallError, Endpoint, Registry};

/// What it takes to do something for a pod. Clones share everything.
#[derive(Clone)]
pub(crate) struct Means {
    pub(crate) connection: Connection,
    pub(crate) clock: Clock,
    pub(crate) options: Arc<Options>,
    pub(crate) desk: Desk,
    pub(crate) drivers: Arc<Mutex<Registry<Arc<Endpoint>>>>,
    pub(crate) book: Arc<Mutex<Book>>,
    pub(crate) listener: Arc<dyn Listener>,
}

/// What went wrong with a pod.
#[derive(Debug, Error)]
pub(crate) enum Trouble {
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    #[error(transparent)]
    Unprepare(#[from] UnprepareError),
    #[error("{0}")]
    Server(String),
    #[error("cannot write the CDI devices of pod {pod}: {why}")]
    File { pod: String, why: String },
}

impl Means {
    /// Does what is next for a pod, and gives the pod if something was said of it.
    pub(crate) async fn carry_out(
        &self,
        uid: &str,
        pod: Option<&Pod>,
        task: Task,
    ) -> Result<Option<Pod>, Trouble> {
        let Some(pod) = pod else { return self.release(uid).await.map(|()| None) };
        let deed = match task {
            Task::Release => return self.release(uid).await.map(|()| None),
            Task::TellHealth => return self.tell_health(pod).await,
            Task::Step(deed) => deed,
        };
        match deed {
            Deed::Start => {
                self.measured(Operation::Prepare, self.prepare(pod)).await?;
                self.write_devices(pod).await?;
            }
            Deed::Restart | Deed::Jam | Deed::Crash { .. } => {}
            Deed::End { .. } | Deed::Stop | Deed::Remove => self.release(uid).await?,
        }
        match phases::said(pod, deed, self.clock.now()) {
            Some(said) => self.say(pod, said).await,
            None => self.remove(pod).await,
        }
    }

    async fn prepare(&self, pod: &Pod) -> Result<(), PrepareError> {
        let mut wanted = Vec::new();
        for reference in references(pod)? {
            let claims = Resource::<ResourceClaim>::named("resourceclaims").within(&reference.key.namespace);
            let answer = self.connection.get(&claims, &reference.key.name).await;
            let why = answer.trouble().unwrap_or_default();
            let unread = || PrepareError::NotRead { claim: reference.key.name.clone(), why };
            wanted.push(Wanted::of(pod, &reference, &answer.done().ok_or_else(unread)?)?);
        }
        // A driver that is missing is found out before anything is noted: a pod that never got this far can go without it.
        for (driver, skips) in wanted.iter().flat_map(|claim| &claim.drivers) {
            if !skips.iter().any(|call| call == "*" || call == "NodePrepareResources") {
                self.driver(driver).ok_or_else(|| self.unregistered(driver))?;
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let (desk, uid) = (&self.desk, &pod.metadata.uid);
        let calls = desk.change(|held| steps::begin_prepare(held, uid, &wanted), PrepareError::Disk).await?;
        self.skipped(Operation::Prepare, &calls.skipped);
        for errand in calls.errands {
            let driver = &errand.driver;
            let endpoint = self.driver(driver).ok_or_else(|| self.unregistered(driver))?;
            let call = endpoint.prepare(&errand, self.options.call_timeout);
            let answer = self.timed(&endpoint, "NodePrepareResources", call).await;
            let failed =
                |error: CallError| PrepareError::Call { driver: driver.clone(), why: error.to_string() };
            let answer = answer.map_err(failed)?;
            desk.change(|held| steps::settle_prepare(held, &errand, answer), PrepareError::Disk).await?;
        }
        let keys: Vec<ClaimKey> = wanted.into_iter().map(|claim| claim.key).collect();
        let finish = |held: &mut _| {
            steps::finish_prepare(held, &keys);
            Ok(())
        };
        desk.change(finish, PrepareError::Disk).await
    }

    /// Takes back what is held for a pod, and forgets the pod.
    async fn release(&self, uid: &str) -> Result<(), Trouble> {
        self.measured(Operation::Unprepare, self.give_back(uid)).await?;
        let (root, uid) = (self.options.root.clone(), uid.to_owned());
        let removed = spawn_blocking(move || files::remove(&root, &uid)).await;
        if let Err(error) = removed.expect("removing a file does not panic") {
            // A file that is left behind says what was, and holds nothing.
            tracing::warn!(%error, "cannot remove the file of a pod");
        }
        Ok(())
    }

    async fn give_back(&self, uid: &str) -> Result<(), UnprepareError> {
        let desk = &self.desk;
        let unpreparation =
            desk.change(|held| Ok(steps::begin_unprepare(held, uid)), UnprepareError::Disk).await?;
        self.skipped(Operation::Unprepare, &unpreparation.calls.skipped);
        for errand in &unpreparation.calls.errands {
            let driver = &errand.driver;
            let unregistered = || UnprepareError::NotRegistered { driver: driver.clone() };
            let endpoint = self.driver(driver).ok_or_else(unregistered)?;
            let call = endpoint.unprepare(errand, self.options.call_timeout);
            let answer = self.timed(&endpoint, "NodeUnprepareResources", call).await;
            let failed =
                |error: CallError| UnprepareError::Call { driver: driver.clone(), why: error.to_string() };
            steps::settle_unprepare(errand, answer.map_err(failed)?)?;
        }
        let finish = |held: &mut _| {
            steps::finish_unprepare(held, &unpreparation.claims);
            Ok(())
        };
        desk.change(finish, UnprepareError::Disk).await
    }

    /// Tells how long it took to do something about the claims of a pod.
    async fn measured<E>(
        &self,
        operation: Operation,
        work: impl Future<Output = Result<(), E>>,
    ) -> Result<(), E> {
        let began = Instant::now();
        let result = work.await;
        let (is_error, took) = (result.is_err(), began.elapsed());
        self.listener.hear(&Notice::Operated { operation, is_error, took });
        result
    }

    /// Tells how long a driver took for a call.
    async fn timed<T>(
        &self,
        endpoint: &Endpoint,
        method: &str,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let began = Instant::now();
        let answer = call.await;
        let code = answer.as_ref().err().map_or_else(|| "OK".to_owned(), CallError::code);
        let (driver, method) = (&*endpoint.offer.driver, &*endpoint.method(method));
        self.listener.hear(&Notice::Called { driver, method, code: &code, took: began.elapsed() });
        answer
    }

    fn skipped(&self, operation: Operation, drivers: &[String]) {
        for driver in drivers {
            self.listener.hear(&Notice::Skipped { driver, operation });
        }
    }

    fn driver(&self, driver: &str) -> Option<Arc<Endpoint>> {
        self.drivers.lock().pick(driver).cloned()
    }

    fn unregistered(&self, driver: &str) -> PrepareError {
        let registry = self.options.registry().display().to_string();
        PrepareError::NotRegistered { driver: driver.to_owned(), registry }
    }

    async fn write_devices(&self, pod: &Pod) -> Result<(), Trouble> {
        let devices = self.desk.look(|held| devices_of(pod, held)).await;
        if devices.is_empty() {
            return Ok(());
        }
        let (root, about) = (self.options.root.clone(), pod.clone());
        let written = spawn_blocking(move || files::write(&root, &about, &devices)).await;
        let failed =
            |error: std::io::Error| Trouble::File { pod: pod.metadata.name.clone(), why: error.to_string() };
        written.expect("writing a file does not panic").map_err(failed)
    }

    /// Says what a pod is now, with the health of its devices while it has any.
    async fn say(&self, pod: &Pod, mut said: Value) -> Result<Option<Pod>, Trouble> {
        self.add_health(pod, &mut said["status"]["containerStatuses"]).await;
        let pods = Resource::<Pod>::named("pods").within(&pod.metadata.namespace);
        let name = &pod.metadata.name;
        answered(self.connection.patch_status(&pods, name, &Patch::Strategic, &said).await)
    }

    /// Says how the devices of a running pod are, if that is news.
    async fn tell_health(&self, pod: &Pod) -> Result<Option<Pod>, Trouble> {
        let before = json!(pod.status.container_statuses);
        let mut now = before.clone();
        self.add_health(pod, &mut now).await;
        if before == now {
            return Ok(None);
        }
        let said = json!({ "metadata": { "uid": pod.metadata.uid }, "status": { "containerStatuses": now } });
        let pods = Resource::<Pod>::named("pods").within(&pod.metadata.namespace);
        answered(self.connection.patch_status(&pods, &pod.metadata.name, &Patch::Strategic, &said).await)
    }

    async fn add_health(&self, pod: &Pod, statuses: &mut Value) {
        let told = self.desk.look(|held| {
            let book = self.book.lock();
            let told = |container: &Container| {
                (container.name.clone(), health::of_container(pod, container, held, &book))
            };
            pod.spec.containers.iter().map(told).collect::<BTreeMap<_, _>>()
        });
        let told = told.await;
        for status in statuses.as_array_mut().into_iter().flatten() {
            let name = status["name"].as_str().unwrap_or_default();
            if let Some(told) = told.get(name).filter(|told| !told.is_empty()) {
                status["allocatedResourcesStatus"] = json!(told);
            }
        }
    }

    /// Nothing is left of a pod on this node.
    async fn remove(&self, pod: &Pod) -> Result<Option<Pod>, Trouble> {
        let pods = Resource::<Pod>::named("pods").within(&pod.metadata.namespace);
        let options = DeleteOptions {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions {
                uid: Some(pod.metadata.uid.clone()),
                ..Preconditions::default()
            }),
            ..DeleteOptions::default()
        };
        answered(self.connection.delete(&pods, &pod.metadata.name, &options).await).map(|_| None)
    }
}

/// What came of a write. Whoever was faster than we were, or took the object away, will be told of.
fn answered<T>(answer: Answer<T>) -> Result<Option<T>, Trouble> {
    match answer {
        Answer::Done(object) => Ok(Some(object)),
        Answer::Conflict(_) | Answer::NotFound(_) | Answer::AlreadyExists(_) => Ok(None),
        other => Err(Trouble::Server(other.trouble().unwrap_or_default())),
    }
}
