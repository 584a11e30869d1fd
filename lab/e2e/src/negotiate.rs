//! Many pods with a claim each that a driver's own controller gives devices, on our own server: how fast, with how many
//! writes, and whether pods without claims that come meanwhile have to wait for it.
//!
//! A server that has much to write is slow for everybody, so these are measured three times: alone, beside negotiations, and
//! beside the same writes at the same pace made by rote. What negotiating does to others is the difference of the last two.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use driver_kit::Failure;
use driver_kit::controller::{ClaimRequest, Control, ControlOptions, Controller, Grant};
use objects::core::pod::Pod;
use objects::events::Event;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, until};
use crate::passers::{Moments, Passers, ticks, watch};
use crate::rote::Rote;
use crate::shapes;
use crate::worker::{Terms, Worker};

const DRIVER: &str = "lender.example.com";

/// How long pods without claims come before the others, and how long before that.
const ALONE: Duration = Duration::from_secs(3);
const WARM_UP: Duration = Duration::from_secs(1);

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub struct NegotiateOptions {
    /// How many pods there are, each with a claim.
    pub pods: u32,
    /// How many nodes there are.
    pub nodes: u32,
    /// How long the driver takes for an answer.
    pub answers_in: Duration,
    /// How many pods come each second at most; as many as the server takes if it is 0.
    pub per_second: u32,
    /// How many pods without claims come each second besides, before the others and with them; none if it is 0.
    pub passing: u32,
}

/// How long pods without claims waited for their node, sorted.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// From the request that made a pod until its node was seen.
    pub whole: Vec<Duration>,
    /// What of that the scheduler took for itself, from when it heard of a pod until it knew it bound, without the request that
    /// did so.
    pub decision: Vec<Duration>,
}

/// How long pods without claims waited, by what else there was.
#[derive(Clone, Debug, Default)]
pub struct Others {
    /// There was nothing else to do.
    pub alone: Waits,
    /// Others were negotiated about.
    pub beside: Waits,
    /// As much was written as for these, as fast, and nobody negotiated.
    pub busy: Waits,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// How long it took until all were bound and nothing was negotiated any more.
    pub took: Duration,
    /// How many writes the server carried out for that, besides the making of pods and claims and besides events.
    pub writes: u64,
    /// How many events were written.
    pub events: u64,
    /// How many writes of all kinds the server carried out each second.
    pub pace: f64,
    /// The same when as much was written and nobody negotiated.
    pub pace_by_rote: f64,
    /// How long others waited.
    pub others: Others,
}

/// Gives everybody something, after a while.
struct Slow(Duration);

impl Controller for Slow {
    fn name(&self) -> &str {
        DRIVER
    }

    async fn allocate(&self, claims: &[ClaimRequest], _: Option<&str>) -> Vec<Result<Grant, Failure>> {
        sleep(self.0).await;
        claims.iter().map(|_| Ok(Grant::default())).collect()
    }

    async fn deallocate(&self, _: &ResourceClaim) -> Result<(), Failure> {
        Ok(())
    }

    async fn unsuitable_nodes(
        &self,
        _: &Pod,
        claims: &[ClaimRequest],
        _: &[String],
    ) -> Result<Vec<BTreeSet<String>>, Failure> {
        Ok(vec![BTreeSet::new(); claims.len()])
    }
}

impl NegotiateOptions {
    /// Does it, on a cluster of our own that is empty.
    ///
    /// # Errors
    /// When a pod is not bound in time.
    pub async fn run(&self, cluster: &Cluster) -> Result<Report> {
        let class = json!({ "metadata": { "name": "lent" }, "spec": { "controllerName": DRIVER } });
        cluster.create(&shapes::object::<DeviceClass>(&class)?).await?;
        for number in 0..self.nodes {
            cluster.create_node(&shapes::node(&format!("n-{number}"), 1_000)?).await?;
        }
        let control = Control::start(cluster.connect()?, ControlOptions::default(), Slow(self.answers_in));
        let mut report = self.negotiate(cluster).await?;
        if self.passing > 0 {
            (report.others.busy, report.pace_by_rote) = self.write_by_rote(cluster, report.took).await?;
        }
        control.stop().await;
        Ok(report)
    }

    async fn negotiate(&self, cluster: &Cluster) -> Result<Report> {
        let worker = Worker::start(&cluster.connect()?, &Terms::negotiating())?;
        worker.working().await?;
        let request = json!({ "name": "r", "exactly": { "deviceClassName": "lent" } });
        for number in 0..self.pods {
            let name = format!("c-{number}");
            cluster.create(&shapes::claim_of(&name, &json!({ "requests": [request] }))?).await?;
        }
        self.pass_for(cluster, &worker, "first-", WARM_UP).await?;
        let alone = self.pass_for(cluster, &worker, "alone-", ALONE).await?;
        let first = self.revision(cluster, "first").await?;
        let events_before = cluster.list::<Event>().await?.len() as u64;
        let passers = self.passers(cluster, "beside-")?;
        let bound = Moments::default();
        let watcher = tokio::spawn(watch(cluster.connect()?, "p-", bound.clone()));
        let began = Instant::now();
        let mut ticks = (self.per_second > 0).then(|| ticks(Duration::from_secs(1) / self.per_second));
        for number in 0..self.pods {
            if let Some(ticks) = &mut ticks {
                ticks.tick().await;
            }
            let pod = shapes::pod_with_claims(&format!("p-{number}"), &[&format!("c-{number}")])?;
            cluster.create(&pod).await?;
        }
        // To list thousands of pods again and again would hold up those that are measured.
        until("all of them are bound", async || Ok((bound.lock().len() == self.pods as usize).then_some(())))
            .await?;
        until("nothing is negotiated any more", async || {
            Ok(cluster.list::<PodSchedulingContext>().await?.is_empty().then_some(()))
        })
        .await?;
        watcher.abort();
        let took = began.elapsed();
        let beside = waits(passers, &worker, "beside-").await?;
        // Events are written in the background, each once.
        worker.stop().await.context("the scheduler did not end well")?;
        let all = self.revision(cluster, "last").await? - first - 1;
        let events = cluster.list::<Event>().await?.len() as u64 - events_before;
        // Who passes is made and bound, and has an event.
        let passing = beside.whole.len() as u64;
        let writes = all.saturating_sub(events + u64::from(self.pods) + 2 * passing);
        let events = events.saturating_sub(passing);
        let others = Others { alone, beside, busy: Waits::default() };
        Ok(Report { took, writes, events, pace: pace(all, took), pace_by_rote: 0.0, others })
    }

    /// How long others wait while as much is written as fast and nobody negotiates, and how many writes a second that is.
    async fn write_by_rote(&self, cluster: &Cluster, took: Duration) -> Result<(Waits, f64)> {
        let worker = Worker::start(&cluster.connect()?, &Terms::negotiating())?;
        worker.working().await?;
        let rote = Rote { nodes: self.nodes, every: took / self.pods.max(1), answers_in: self.answers_in };
        let claims = rote.claims(cluster, self.pods).await?;
        self.pass_for(cluster, &worker, "second-", WARM_UP).await?;
        let first = self.revision(cluster, "first-by-rote").await?;
        let passers = self.passers(cluster, "busy-")?;
        let took = rote.run(cluster.connect()?, claims).await?;
        let busy = waits(passers, &worker, "busy-").await?;
        worker.stop().await.context("the scheduler did not end well")?;
        let all = self.revision(cluster, "last-by-rote").await? - first - 1;
        Ok((busy, pace(all, took)))
    }

    fn passers(&self, cluster: &Cluster, name: &'static str) -> Result<Option<Passers>> {
        (self.passing > 0).then(|| Passers::start(cluster, name, self.passing)).transpose()
    }

    /// How long pods without claims wait while there is nothing else to do.
    async fn pass_for(
        &self,
        cluster: &Cluster,
        worker: &Worker,
        name: &'static str,
        time: Duration,
    ) -> Result<Waits> {
        let passers = self.passers(cluster, name)?;
        if passers.is_some() {
            sleep(time).await;
        }
        waits(passers, worker, name).await
    }

    /// The number of the last write, told by one more.
    async fn revision(&self, cluster: &Cluster, name: &str) -> Result<u64> {
        let made = cluster.create(&shapes::claim(name, 1)?).await?;
        Ok(made.metadata.resource_version.parse()?)
    }
}

/// How long those waited that passed, whose names begin so.
async fn waits(passers: Option<Passers>, worker: &Worker, name: &str) -> Result<Waits> {
    let Some(passers) = passers else { return Ok(Waits::default()) };
    let whole = passers.stop().await?;
    // A watch may show a pod's node before the scheduler has the answer of its own request.
    let decision = until("the scheduler knows each of these pods bound", async || {
        let known = worker.decisions(name);
        Ok((known.len() >= whole.len()).then_some(known))
    })
    .await?;
    Ok(Waits { whole, decision })
}

/// So many in a second.
fn pace(count: u64, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}
