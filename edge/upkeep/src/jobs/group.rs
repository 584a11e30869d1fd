//! The workload and the group of a job, made before its first pod.

use std::sync::Arc;

use client::Answer;
use controllers::jobs::group::Grouping;
use objects::batch::Job;

use super::{NAME, named};
use crate::controller::{Done, Look, Tools, Undone, done};
use crate::kinds::{Followed, resource};

/// What there is to do before pods can be made.
pub(super) fn look(job: &Arc<Job>, step: Grouping<'_>, tools: &Tools) -> Look {
    let (tools, job) = (tools.clone(), job.clone());
    match step {
        Grouping::MakeWorkload(new) => {
            Look::work(
                async move { make(&tools, &job, *new, "WorkloadCreated", "FailedWorkloadCreate").await },
            )
        }
        Grouping::MakeGroup(new) => {
            Look::work(
                async move { make(&tools, &job, *new, "PodGroupCreated", "FailedPodGroupCreate").await },
            )
        }
        Grouping::ResizeWorkload(changed) => Look::work(async move { write(&tools, *changed).await }),
        Grouping::ResizeGroup(changed) => Look::work(async move { write(&tools, *changed).await }),
        Grouping::Settled(_) | Grouping::Wait => Look::NOTHING,
    }
}

async fn make<K: Followed>(
    tools: &Tools,
    job: &Job,
    new: K,
    made: &'static str,
    failed: &'static str,
) -> Result<Done, Undone> {
    let objects = resource::<K>(&job.metadata.namespace);
    let answer = tools.connection.create(&objects, &new).await;
    if let (Some(why), false) = (answer.trouble(), matches!(answer, Answer::AlreadyExists(_))) {
        tools.warn(job, NAME, failed, format!("cannot create {} for the job: {why}", K::KIND));
    }
    let object = done(answer)?;
    tools.tell(job, NAME, made, format!("created {} {} for the job", K::KIND, object.metadata().name));
    learnt(object)
}

async fn write<K: Followed>(tools: &Tools, changed: K) -> Result<Done, Undone> {
    let objects = resource::<K>(&changed.metadata().namespace);
    match tools.connection.update(&objects, &changed).await {
        Answer::Invalid(why) => Err(Undone::Hopeless(format!("{} {}: {why}", K::KIND, named(&changed)))),
        answer => learnt(done(answer)?),
    }
}

fn learnt<K: Followed>(object: K) -> Result<Done, Undone> {
    let mut learnt = Done::default();
    learnt.learn(object);
    Ok(learnt)
}
