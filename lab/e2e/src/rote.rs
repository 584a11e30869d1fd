//! The writes of negotiations, made by rote: no scheduler decides about these pods, and no driver is asked. What others wait for
//! longer beside them is the price of a busy server, and tells how much of it negotiations themselves are to blame for.
//!
//! Invariant: for each pod there is what negotiating about it would have written, in the same order, and as often.

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use client::{Answer, Clock, Connection, Patch, Recorder, Report, reference};
use controllers::classic::{Grant, finalizer, given};
use objects::core::kinds::Binding;
use objects::core::pod::Pod;
use objects::meta::DeleteOptions;
use objects::resource::claim::ResourceClaim;
use objects::supercargo::control::Form;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::cluster::Cluster;
use crate::kind::Kind;
use crate::passers::ticks;
use crate::shapes;

/// A scheduler and a driver that nobody is.
const NOBODY: &str = "nobody.example.com";

/// How long events that are left may take.
const EVENTS_WITHIN: Duration = Duration::from_secs(20);

/// What is written.
#[derive(Clone, Copy)]
pub(crate) struct Rote {
    pub(crate) nodes: u32,
    /// How long after the other a pod comes.
    pub(crate) every: Duration,
    pub(crate) answers_in: Duration,
}

impl Rote {
    /// Makes the claims.
    pub(crate) async fn claims(&self, cluster: &Cluster, count: u32) -> Result<Vec<ResourceClaim>> {
        let request = json!({ "name": "r", "exactly": { "deviceClassName": NOBODY } });
        let mut claims = Vec::new();
        for number in 0..count {
            let claim = shapes::claim_of(&format!("d-{number}"), &json!({ "requests": [request] }))?;
            claims.push(cluster.create(&claim).await?);
        }
        Ok(claims)
    }

    /// Makes a pod for each claim, writes what is to be written for it, and says how long that took, but for events.
    pub(crate) async fn run(&self, connection: Connection, claims: Vec<ResourceClaim>) -> Result<Duration> {
        let began = Instant::now();
        let recorder = Recorder::start(connection.clone(), Clock::start());
        let mut ticks = ticks(self.every);
        let mut under_way = JoinSet::new();
        for (number, claim) in claims.into_iter().enumerate() {
            ticks.tick().await;
            // One after the other, as those that are negotiated about: a server that is slow gets no more to do for it.
            let pod = make(&connection, number, &claim).await?;
            let (rote, connection) = (*self, connection.clone());
            under_way.spawn(async move { rote.place(&connection, number, pod, claim).await });
            while let Some(pod) = under_way.try_join_next() {
                announce(&recorder, &pod??);
            }
        }
        while let Some(pod) = under_way.join_next().await {
            announce(&recorder, &pod??);
        }
        let took = began.elapsed();
        recorder.finish(EVENTS_WITHIN).await;
        Ok(took)
    }

    async fn place(
        &self,
        connection: &Connection,
        number: usize,
        pod: Pod,
        mut claim: ResourceClaim,
    ) -> Result<Pod> {
        let name = &pod.metadata.name;
        let node = format!("n-{}", number % self.nodes.max(1) as usize);
        let mut context = PodSchedulingContext::owned_by("default", name, &pod.metadata.uid);
        context.spec.selected_node.clone_from(&node);
        context.spec.potential_nodes = (0..self.nodes).map(|number| format!("n-{number}")).collect();
        let note = json!({ "status": { "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "WaitingForResourceDriver",
            "message": format!("waiting for resource driver {NOBODY} to allocate it for node {node}"),
        }] } });
        let (pods, contexts) = (Pod::resource(), PodSchedulingContext::resource());
        let (made, noted) = tokio::join!(
            connection.create(&contexts, &context),
            connection.patch_status(&pods, name, &Patch::Strategic, &note),
        );
        done(made)?;
        done(noted)?;
        let claims = ResourceClaim::resource();
        claim.metadata.finalizers.push(finalizer(NOBODY));
        let claim = done(connection.update(&claims, &claim).await)?;
        sleep(self.answers_in).await;
        let claim = given(&claim, NOBODY, Grant::default(), Form::Fields, Some(&pod));
        done(connection.update_status(&claims, &claim).await)?;
        let binding = shapes::object::<Binding>(&json!({
            "metadata": { "name": name, "namespace": "default", "uid": pod.metadata.uid },
            "target": { "kind": "Node", "name": node },
        }))?;
        done(connection.bind(&binding).await)?;
        done(connection.delete(&contexts, name, &DeleteOptions::default()).await)?;
        Ok(pod)
    }
}

async fn make(connection: &Connection, number: usize, claim: &ResourceClaim) -> Result<Pod> {
    let claims = shapes::claims_of(&[&claim.metadata.name]);
    let wants = json!({ "schedulerName": NOBODY, "resourceClaims": claims });
    done(connection.create(&Pod::resource(), &shapes::pod(&format!("q-{number}"), wants)?).await)
}

fn announce(recorder: &Recorder, pod: &Pod) {
    for reason in ["WaitingForResourceDriver", "Scheduled"] {
        recorder.record(Report {
            controller: NOBODY.to_owned(),
            regarding: reference(pod),
            related: None,
            reason,
            action: "Scheduling",
            is_warning: false,
            is_once: true,
            note: format!("{} was written down by rote", pod.metadata.name),
        });
    }
}

fn done<T>(answer: Answer<T>) -> Result<T> {
    let trouble = answer.trouble();
    answer.done().ok_or_else(|| anyhow!(trouble.unwrap_or_default())).context("cannot write by rote")
}
