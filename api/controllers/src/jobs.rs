//! Jobs: pods that run until enough of them have succeeded.
//!
//! [`reconcile`] looks at a job and its pods and says what to do next; whoever carries it out does so in the order in which
//! [`JobActions`] names things, and stops at the first that fails. What happened is seen the next time.
//!
//! Invariant: a job is looked at again only when everything that was done for it is seen: the pods that were made, and the
//! finalizers that were taken. Otherwise a pod would be made or counted twice.

mod backoff;
mod count;
mod failure;
pub mod group;
mod indexes;
pub(crate) mod make;
mod staff;
#[cfg(test)]
mod tests;
mod verdict;

use std::collections::BTreeSet;

use model::timestamp::Timestamp;
use objects::Time;
use objects::batch::{Job, JobStatus};
use objects::core::pod::Pod;
use objects::scheduling::pod_group::PodGroup;

use count::{Count, is_tracked, small};
use staff::Change;
use verdict::{End, Verdict};

/// Keeps a pod from going before its job has counted it.
pub const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// The annotation and label of a pod with its index.
pub const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The annotation of a pod that says how often its index had failed before.
const INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";

/// Who jobs are managed by if nobody else is named.
const OURSELVES: &str = "kubernetes.io/job-controller";

/// What to do about a job, in this order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobActions {
    /// Pods to delete that are not to be counted: take their finalizer first.
    pub discard: Vec<PodName>,
    /// Pods to delete. They count as failed when they go.
    pub delete: Vec<PodName>,
    /// Pods to make.
    pub make: Vec<Pod>,
    /// What the job's status should be.
    pub status: Option<Box<JobStatus>>,
    /// Pods that are counted: take their finalizer.
    pub release: Vec<PodName>,
    /// What to tell about the job when all of this is done.
    pub events: Vec<JobEvent>,
    /// The job ended long ago: delete it.
    pub expire: bool,
    /// When to look again, if nothing happens before.
    pub again_at: Option<Timestamp>,
}

/// A pod of a job's namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodName {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

impl PodName {
    fn of(pod: &Pod) -> Self {
        Self { name: pod.metadata.name.clone(), uid: pod.metadata.uid.clone() }
    }
}

/// Something to tell about a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEvent {
    /// Something went wrong.
    pub warns: bool,
    /// Why, in one word.
    pub reason: &'static str,
    /// Why, in a sentence.
    pub note: String,
}

/// Decides about a job, given the pods that it controls and the group that new ones belong to.
pub fn reconcile(job: &Job, pods: &[&Pod], group: Option<&PodGroup>, now: Timestamp) -> JobActions {
    if job.spec.managed_by.as_ref().is_some_and(|manager| manager != OURSELVES) {
        return JobActions::default();
    }
    if is_finished(job) || job.metadata.deletion_timestamp.is_some() {
        return afterwards(job, pods, now);
    }
    let mut count = Count::of(job, pods);
    let mut actions = JobActions { release: names(&count.release), ..JobActions::default() };
    if count.status.start_time.is_none() && job.spec.suspend != Some(true) {
        count.status.start_time = Some(Time(now.to_seconds()));
    }
    let verdict = verdict::verdict(job, pods, &count, now).or_else(|| {
        let change = staff::change(job, pods, &count, now);
        let is_complete = change == Change::None && has_succeeded(job, &count);
        if is_complete {
            return Some(Verdict::completions_reached());
        }
        actions.take(change, job, group);
        actions.note_suspension(job, &mut count.status, now);
        let deadline = verdict::deadline(job);
        actions.again_at = actions.again_at.into_iter().chain(deadline).min();
        None
    });
    if let Some(verdict) = verdict {
        actions.delete = names(&count.active);
        verdict.announce(&mut count.status, now);
        if count.is_settled() && count.active.is_empty() && count.terminating.is_empty() {
            verdict.finish(&mut count.status, now);
            actions.events.push(ended(&verdict));
        }
    }
    actions.state(job, count);
    actions
}

/// Whether a pod is kept for a job that is gone, or has ended, or is another's.
pub fn is_orphan(pod: &Pod, job: Option<&Job>) -> bool {
    is_tracked(pod) && job.is_none_or(is_finished)
}

/// The job that controls a pod, by name and uid.
pub fn job_of(pod: &Pod) -> Option<(&str, &str)> {
    let mut owners = pod.metadata.owner_references.iter();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    let is_job = owner.kind == "Job" && owner.api_version == "batch/v1";
    is_job.then_some((owner.name.as_str(), owner.uid.as_str()))
}

/// Whether a job has ended.
pub fn is_finished(job: &Job) -> bool {
    verdict::holds(&job.status, "Complete") || verdict::holds(&job.status, "Failed")
}

/// A job that ended, or is to go, keeps no pod. One that ended goes when its time is over.
fn afterwards(job: &Job, pods: &[&Pod], now: Timestamp) -> JobActions {
    let release: Vec<&Pod> = pods.iter().copied().filter(|pod| is_tracked(pod)).collect();
    let expiry = expiry(job).filter(|_| job.metadata.deletion_timestamp.is_none());
    JobActions {
        release: names(&release),
        expire: expiry.is_some_and(|time| time <= now),
        again_at: expiry.filter(|time| *time > now),
        ..JobActions::default()
    }
}

/// When a job that ended is to go.
fn expiry(job: &Job) -> Option<Timestamp> {
    let after = i64::from(job.spec.ttl_seconds_after_finished?);
    let ends = |type_: &str| matches!(type_, "Complete" | "Failed");
    let mut ended = job.status.conditions.iter().filter(|one| ends(&one.type_) && one.status == "True");
    Some(ended.next()?.last_transition_time?.0.plus_millis(after.saturating_mul(1_000)))
}

/// Enough pods have succeeded, and none is at work.
fn has_succeeded(job: &Job, count: &Count<'_>) -> bool {
    let wanted = job.spec.completions.unwrap_or(1);
    let enough =
        if job.spec.completions.is_some() { count.succeeded() >= wanted } else { count.succeeded() > 0 };
    enough && count.active.is_empty()
}

fn names(pods: &[&Pod]) -> Vec<PodName> {
    pods.iter().map(|pod| PodName::of(pod)).collect()
}

fn ended(verdict: &Verdict) -> JobEvent {
    match verdict.end {
        End::Complete => event(false, "Completed", "the job is complete"),
        End::Failed => event(true, verdict.word(), &verdict.message),
    }
}

fn event(warns: bool, reason: &'static str, note: &str) -> JobEvent {
    JobEvent { warns, reason, note: note.to_owned() }
}

impl JobActions {
    fn take(&mut self, change: Change<'_>, job: &Job, group: Option<&PodGroup>) {
        match change {
            Change::None => {}
            Change::Discard(pods) => self.discard = names(&pods),
            Change::Make(slots) => {
                self.make = slots.into_iter().map(|slot| make::pod(job, slot, group)).collect();
            }
            Change::Wait(time) => self.again_at = Some(time),
        }
    }

    /// A job that rests says so, and one that goes on begins its time anew.
    fn note_suspension(&mut self, job: &Job, status: &mut JobStatus, now: Timestamp) {
        if job.spec.suspend == Some(true) {
            if verdict::set(status, "Suspended", true, "JobSuspended", "the job is suspended", now) {
                self.events.push(event(false, "Suspended", "the job is suspended"));
            }
        } else if verdict::set(status, "Suspended", false, "JobResumed", "the job goes on", now) {
            status.start_time = Some(Time(now.to_seconds()));
            self.events.push(event(false, "Resumed", "the job goes on"));
        }
    }

    /// Keeps the status, if it is another than before, with the numbers as they will be when all of it is carried out.
    fn state(&mut self, job: &Job, count: Count<'_>) {
        let Count { mut status, active, terminating, .. } = count;
        let going: BTreeSet<&str> =
            self.discard.iter().chain(&self.delete).map(|pod| pod.uid.as_str()).collect();
        let (gone, stays): (Vec<&Pod>, Vec<&Pod>) =
            active.into_iter().partition(|pod| going.contains(pod.metadata.uid.as_str()));
        status.active = small(stays.len() + self.make.len());
        status.ready = Some(small(stays.iter().filter(|pod| staff::is_ready(pod)).count()));
        status.terminating = Some(small(terminating.len() + gone.len()));
        self.status = (status != job.status).then(|| Box::new(status));
    }
}
