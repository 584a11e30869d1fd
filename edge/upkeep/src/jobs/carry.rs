//! What was decided about a job, carried out: one write after the other, and pods a few at a time.
//!
//! Invariant: whatever was done is learnt before the job is looked at again, also if something after it went wrong. A pod
//! that nobody knows of would be made twice.

use std::sync::Arc;

use client::{Answer, Patch};
use controllers::jobs::{JobActions, JobEvent, PodName, TRACKING};
use futures_util::{StreamExt, stream};
use objects::batch::Job;
use objects::core::pod::Pod;
use objects::meta::{DeleteOptions, Preconditions};
use serde_json::json;

use super::NAME;
use crate::controller::{Done, Tools, Undone, done};
use crate::kinds::resource;

/// How many pods of one job are written at the same time.
const PODS_AT_ONCE: usize = 16;

/// Does what is to be done.
pub(super) async fn carry_out(tools: Tools, job: Arc<Job>, actions: JobActions) -> Result<Done, Undone> {
    let mut learnt = Done::default();
    match steps(&tools, &job, actions, &mut learnt).await {
        // The rest is done when the job is looked at again, which what was learnt sees to.
        Err(_) if !learnt.learnt.is_empty() => Ok(learnt),
        result => result.map(|()| learnt),
    }
}

async fn steps(tools: &Tools, job: &Arc<Job>, actions: JobActions, learnt: &mut Done) -> Result<(), Undone> {
    let JobActions { discard, delete, make, status, release: counted, events, expire, again_at: _ } = actions;
    let namespace = &job.metadata.namespace;
    let released = all(discard.iter().cloned().map(|pod| release(tools, namespace, pod))).await;
    learn(released, learnt)?;
    let deleted = all(discard.into_iter().chain(delete).map(|pod| delete_pod(tools, job, pod))).await;
    deleted.into_iter().collect::<Result<(), Undone>>()?;
    let made = all(make.into_iter().map(|pod| make_pod(tools, job, pod))).await;
    learn(made.into_iter().map(|pod| pod.map(Some)).collect(), learnt)?;
    if let Some(status) = status {
        let changed = Job { status: *status, ..Job::clone(job) };
        let jobs = resource::<Job>(namespace);
        learnt.learn(done(tools.connection.update_status(&jobs, &changed).await)?);
    }
    let released = all(counted.into_iter().map(|pod| release(tools, namespace, pod))).await;
    learn(released, learnt)?;
    for JobEvent { warns, reason, note } in events {
        if warns { tools.warn(&**job, NAME, reason, note) } else { tools.tell(&**job, NAME, reason, note) }
    }
    if expire { delete_job(tools, job).await } else { Ok(()) }
}

/// Does many things, a few at a time.
async fn all<T>(deeds: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    stream::iter(deeds).buffered(PODS_AT_ONCE).collect().await
}

/// Learns what succeeded, and gives the first failure.
fn learn(answers: Vec<Result<Option<Pod>, Undone>>, learnt: &mut Done) -> Result<(), Undone> {
    let mut failed = Ok(());
    for answer in answers {
        match answer {
            Ok(pod) => pod.into_iter().for_each(|pod| learnt.learn(pod)),
            Err(why) => failed = failed.and(Err(why)),
        }
    }
    failed
}

async fn make_pod(tools: &Tools, job: &Job, pod: Pod) -> Result<Pod, Undone> {
    let pods = resource::<Pod>(&job.metadata.namespace);
    let answer = tools.connection.create(&pods, &pod).await;
    match answer.trouble() {
        None => {}
        Some(why) => tools.warn(job, NAME, "FailedCreate", format!("cannot create a pod: {why}")),
    }
    let made = done(answer)?;
    tools.tell(job, NAME, "SuccessfulCreate", format!("created pod {}", made.metadata.name));
    Ok(made)
}

async fn delete_pod(tools: &Tools, job: &Job, pod: PodName) -> Result<(), Undone> {
    let preconditions = Some(Preconditions { uid: Some(pod.uid.clone()), ..Preconditions::default() });
    let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
    let pods = resource::<Pod>(&job.metadata.namespace);
    match tools.connection.delete(&pods, &pod.name, &options).await {
        // Another pod may have its name by now.
        Answer::NotFound(_) | Answer::Conflict(_) => Ok(()),
        answer => {
            done(answer)?;
            tools.tell(job, NAME, "SuccessfulDelete", format!("deleted pod {}", pod.name));
            Ok(())
        }
    }
}

/// Takes the finalizer off a pod; nothing if it is gone.
pub(super) async fn release(tools: &Tools, namespace: &str, pod: PodName) -> Result<Option<Pod>, Undone> {
    let body = json!({ "metadata": { "uid": pod.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING] } });
    let pods = resource::<Pod>(namespace);
    match tools.connection.patch(&pods, &pod.name, &Patch::Strategic, &body).await {
        Answer::NotFound(_) | Answer::Conflict(_) => Ok(None),
        answer => done(answer).map(Some),
    }
}

async fn delete_job(tools: &Tools, job: &Job) -> Result<(), Undone> {
    let preconditions = Preconditions { uid: Some(job.metadata.uid.clone()), ..Preconditions::default() };
    let options = DeleteOptions {
        preconditions: Some(preconditions),
        propagation_policy: Some("Foreground".to_owned()),
        ..DeleteOptions::default()
    };
    let jobs = resource::<Job>(&job.metadata.namespace);
    match tools.connection.delete(&jobs, &job.metadata.name, &options).await {
        Answer::NotFound(_) => Ok(()),
        answer => done(answer),
    }
}
