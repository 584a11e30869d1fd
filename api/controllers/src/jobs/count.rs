//! What a job's pods add up to, and which of them may go because they are counted.
//!
//! A pod that ends is counted in three steps, each of which can be repeated without harm: the job's status names its uid as
//! not counted yet, then the pod loses the finalizer that kept it, then the uid gives way to a number. An index that
//! succeeded needs no uid, because nothing can succeed twice.
//!
//! Invariant: a pod is counted once, whatever is lost in between; see [`super`] for what must be seen to keep it so.

use std::collections::BTreeSet;

use objects::batch::{Job, JobStatus, UncountedTerminatedPods};
use objects::core::pod::Pod;

use super::failure::{self, Failure};
use super::indexes::Indexes;
use super::{INDEX, INDEX_FAILURES, TRACKING};

/// How many pods may be named as not counted yet, so that a status stays small.
const UNCOUNTED_MAX: usize = 500;

/// The pods of a job, counted.
pub(super) struct Count<'a> {
    /// The job's status, with what ended noted in it.
    pub(super) status: JobStatus,
    /// Pods that are to do their work, or at it.
    pub(super) active: Vec<&'a Pod>,
    /// Pods that are on their way out.
    pub(super) terminating: Vec<&'a Pod>,
    /// Pods that may go once the status is written.
    pub(super) release: Vec<&'a Pod>,
    /// Indexes that succeeded, of an indexed job.
    pub(super) completed: Option<Indexes>,
    /// Indexes that failed, if each may fail on its own.
    pub(super) failed: Option<Indexes>,
}

impl<'a> Count<'a> {
    /// Counts.
    pub(super) fn of(job: &Job, pods: &[&'a Pod]) -> Self {
        let completions = completions(job);
        let completed = is_indexed(job).then(|| Indexes::parse(&job.status.completed_indexes, completions));
        let per_index = job.spec.backoff_limit_per_index.filter(|_| completed.is_some());
        let before = job.status.failed_indexes.as_deref().unwrap_or_default();
        let failed = per_index.map(|_| Indexes::parse(before, completions));
        let mut count = Self {
            status: job.status.clone(),
            active: Vec::new(),
            terminating: Vec::new(),
            release: Vec::new(),
            completed,
            failed,
        };
        count.settle(pods);
        for pod in pods {
            let is_over = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
            match (is_over, pod.metadata.deletion_timestamp.is_some()) {
                (false, false) => count.active.push(pod),
                (false, true) => count.terminating.push(pod),
                (true, _) => {}
            }
            count.note(job, pod);
        }
        if let Some(completed) = &count.completed {
            count.status.completed_indexes = completed.to_string();
            count.status.succeeded = i32::try_from(completed.len()).unwrap_or(i32::MAX);
        }
        count.status.failed_indexes = count.failed.as_ref().map(Indexes::to_string);
        count
    }

    /// How many succeeded, with those that the numbers do not have yet.
    pub(super) fn succeeded(&self) -> i32 {
        self.status.succeeded.saturating_add(small(self.uncounted().succeeded.len()))
    }

    /// How many failed, with those that the numbers do not have yet.
    pub(super) fn failures(&self) -> i32 {
        self.status.failed.saturating_add(small(self.uncounted().failed.len()))
    }

    /// Every pod that ended is in the numbers.
    pub(super) fn is_settled(&self) -> bool {
        self.uncounted().succeeded.is_empty() && self.uncounted().failed.is_empty()
    }

    fn uncounted(&self) -> &UncountedTerminatedPods {
        self.status.uncounted_terminated_pods.as_ref().expect("it is set before anything is counted")
    }

    /// Pods that were named and have lost their finalizer, or are gone, become numbers.
    fn settle(&mut self, pods: &[&Pod]) {
        let kept: BTreeSet<&str> =
            pods.iter().filter(|pod| is_tracked(pod)).map(|pod| pod.metadata.uid.as_str()).collect();
        let uncounted = self.status.uncounted_terminated_pods.get_or_insert_default();
        let counted = |uids: &mut Vec<String>| {
            let before = uids.len();
            uids.retain(|uid| kept.contains(uid.as_str()));
            small(before - uids.len())
        };
        self.status.succeeded += counted(&mut uncounted.succeeded);
        self.status.failed += counted(&mut uncounted.failed);
    }

    /// Notes how a pod ended, if it did and was not noted before.
    fn note(&mut self, job: &Job, pod: &'a Pod) {
        let succeeded = pod.status.phase == "Succeeded";
        if !succeeded && !failure::has_failed(job, pod) {
            return;
        }
        let index = index(pod).filter(|index| *index < completions(job));
        if !succeeded && let (Some(failed), Some(index)) = (&mut self.failed, index) {
            let limit = job.spec.backoff_limit_per_index.unwrap_or(i32::MAX);
            let is_over = match failure::judge(job, pod) {
                Failure::EndsIndex => true,
                Failure::Counts | Failure::EndsJob(_) => small_u32(index_failures(pod)) >= limit,
                Failure::Ignored => false,
            };
            if is_over {
                failed.insert(index);
            }
        }
        let uncounted = self.status.uncounted_terminated_pods.get_or_insert_default();
        if !is_tracked(pod) || uncounted.succeeded.len() + uncounted.failed.len() >= UNCOUNTED_MAX {
            return;
        }
        self.release.push(pod);
        let uid = &pod.metadata.uid;
        let was_noted = uncounted.failed.contains(uid) || uncounted.succeeded.contains(uid);
        match (&mut self.completed, succeeded) {
            _ if was_noted => {}
            (Some(completed), true) => drop(index.map(|index| completed.insert(index))),
            (None, true) => uncounted.succeeded.push(uid.clone()),
            // An index that the job does not have any more fails for nobody.
            (Some(_), false) if index.is_none() => {}
            (_, false) if failure::judge(job, pod) == Failure::Ignored => {}
            (_, false) => uncounted.failed.push(uid.clone()),
        }
    }
}

/// How many are to succeed; none is said for a job that ends with its first success.
pub(super) fn completions(job: &Job) -> u32 {
    job.spec.completions.and_then(|completions| u32::try_from(completions).ok()).unwrap_or(0)
}

pub(super) fn is_indexed(job: &Job) -> bool {
    job.spec.completion_mode.as_deref() == Some("Indexed")
}

/// A pod that is not counted yet.
pub(super) fn is_tracked(pod: &Pod) -> bool {
    pod.metadata.finalizers.iter().any(|finalizer| finalizer == TRACKING)
}

/// The index of a pod.
pub(super) fn index(pod: &Pod) -> Option<u32> {
    pod.metadata.annotations.get(INDEX)?.parse().ok()
}

/// How often its index had failed when a pod was made.
pub(super) fn index_failures(pod: &Pod) -> u32 {
    let noted = pod.metadata.annotations.get(INDEX_FAILURES);
    noted.and_then(|failures| failures.parse().ok()).unwrap_or(0)
}

pub(super) fn small(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn small_u32(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
