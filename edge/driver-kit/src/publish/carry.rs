//! Carries one job out on the server, and says what came of it.
//!
//! Invariant: a read ends with what the server has, however long that takes, unless the server will never tell.

use std::time::Duration;

use client::{Answer, Connection, Resource};
use objects::meta::{DeleteOptions, Preconditions};
use objects::resource::slice::ResourceSlice;
use tokio::time::sleep;

use crate::publish::desk::{Doubt, Job, Outcome, Verdict};
use crate::publish::plan::SliceWrite;

/// How long to wait before a slice is read again; doubles up to the longest.
const READ_PAUSE_FIRST: Duration = Duration::from_millis(200);
const READ_PAUSE_MAX: Duration = Duration::from_secs(30);

/// Does the job, and names the slice that it was about.
pub(crate) async fn carry_out(connection: &Connection, job: Job) -> (String, Outcome) {
    let slices = Resource::<ResourceSlice>::named("resourceslices");
    match job {
        Job::Write(write) => {
            let outcome = match &*write {
                SliceWrite::Create(slice) => outcome(connection.create(&slices, slice).await),
                SliceWrite::Update(slice) => outcome(connection.update(&slices, slice).await),
                SliceWrite::Delete(slice) => delete(connection, &slices, slice).await,
            };
            (write.slice().metadata.name.clone(), outcome)
        }
        Job::Read(name) => {
            let outcome = read(connection, &slices, &name).await;
            (name, outcome)
        }
    }
}

async fn delete(connection: &Connection, slices: &Resource<ResourceSlice>, slice: &ResourceSlice) -> Outcome {
    let metadata = &slice.metadata;
    let preconditions = Preconditions {
        uid: Some(metadata.uid.clone()),
        resource_version: Some(metadata.resource_version.clone()),
        ..Preconditions::default()
    };
    let options = DeleteOptions { preconditions: Some(preconditions), ..DeleteOptions::default() };
    match connection.delete(slices, &metadata.name, &options).await {
        Answer::Done(()) => Outcome::Unclear(Doubt::Deleting),
        other => outcome(other.map(|()| slice.clone())),
    }
}

fn outcome(answer: Answer<ResourceSlice>) -> Outcome {
    let retry_after = answer.retry_after();
    let why = answer.trouble().unwrap_or_default();
    match answer {
        Answer::Done(slice) => Outcome::Clear(Verdict::Stored(Box::new(slice))),
        Answer::NotFound(_) => Outcome::Clear(Verdict::Missing),
        Answer::Conflict(_) | Answer::AlreadyExists(_) => Outcome::Unclear(Doubt::Overtaken),
        Answer::Unavailable(unavailable) if unavailable.may_have_happened() => {
            Outcome::Unclear(Doubt::Lost { why })
        }
        Answer::Gone(_)
        | Answer::Invalid(_)
        | Answer::TooManyRequests { .. }
        | Answer::Unavailable(_)
        | Answer::Forbidden(_) => Outcome::Clear(Verdict::Failed { why, retry_after }),
    }
}

async fn read(connection: &Connection, slices: &Resource<ResourceSlice>, name: &str) -> Outcome {
    let mut pause = READ_PAUSE_FIRST;
    loop {
        let answer = connection.get(slices, name).await;
        let retry_after = answer.retry_after();
        match answer {
            Answer::Unavailable(_) | Answer::TooManyRequests { .. } => {
                sleep(pause.max(retry_after.unwrap_or_default())).await;
                pause = (pause * 2).min(READ_PAUSE_MAX);
            }
            other => return outcome(other),
        }
    }
}
