//! Whether a job is over: it failed, or has done what it was to do.
//!
//! Invariant: a verdict that a job's status has is not changed. First comes what ends it (`FailureTarget`,
//! `SuccessCriteriaMet`), and when its last pod is counted and gone, that it has ended (`Failed`, `Complete`).

use model::timestamp::Timestamp;
use objects::Time;
use objects::batch::{Job, JobCondition, JobStatus};
use objects::core::pod::Pod;

use super::count::{Count, completions};
use super::failure::{self, Failure};
use super::indexes::Indexes;

/// Why jobs fail.
const FAILURES: [&str; 5] = [
    "BackoffLimitExceeded",
    "DeadlineExceeded",
    "FailedIndexes",
    "MaxFailedIndexesExceeded",
    "PodFailurePolicy",
];

/// How a job ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Complete,
    Failed,
}

/// How a job ends, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) end: End,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Verdict {
    fn new(end: End, reason: &str, message: &str) -> Self {
        Self { end, reason: reason.to_owned(), message: message.to_owned() }
    }

    fn failed(reason: &str, message: &str) -> Option<Self> {
        Some(Self::new(End::Failed, reason, message))
    }

    /// Everything that was to succeed has.
    pub(super) fn completions_reached() -> Self {
        Self::new(End::Complete, "CompletionsReached", "the required number of pods succeeded")
    }

    /// The reason of a failure, as events have it. A status may have been written by others, who know other reasons.
    pub(super) fn word(&self) -> &'static str {
        FAILURES.into_iter().find(|reason| *reason == self.reason).unwrap_or("Failed")
    }

    /// Says in the status what ends the job.
    pub(super) fn announce(&self, status: &mut JobStatus, now: Timestamp) {
        let type_ = match self.end {
            End::Complete => "SuccessCriteriaMet",
            End::Failed => "FailureTarget",
        };
        if !holds(status, type_) {
            set(status, type_, true, &self.reason, &self.message, now);
        }
    }

    /// Says in the status that the job has ended.
    pub(super) fn finish(&self, status: &mut JobStatus, now: Timestamp) {
        let type_ = match self.end {
            End::Complete => "Complete",
            End::Failed => "Failed",
        };
        set(status, type_, true, &self.reason, &self.message, now);
        if self.end == End::Complete {
            status.completion_time = Some(Time(now.to_seconds()));
        }
    }
}

/// How a job ends, if something has ended it besides reaching its completions.
pub(super) fn verdict(job: &Job, pods: &[&Pod], count: &Count<'_>, now: Timestamp) -> Option<Verdict> {
    before(&job.status)
        .or_else(|| by_policy(job, pods))
        .or_else(|| by_limit(job, pods, count))
        .or_else(|| by_deadline(job, now))
        .or_else(|| by_indexes(job, count))
        .or_else(|| by_success(job, count))
}

/// When a job will have been active for too long.
pub(super) fn deadline(job: &Job) -> Option<Timestamp> {
    let seconds = job.spec.active_deadline_seconds.filter(|_| job.spec.suspend != Some(true))?;
    Some(job.status.start_time?.0.plus_millis(seconds.saturating_mul(1_000)))
}

/// What the status says already.
fn before(status: &JobStatus) -> Option<Verdict> {
    let announced = [("SuccessCriteriaMet", End::Complete), ("FailureTarget", End::Failed)];
    announced.into_iter().find_map(|(type_, end)| {
        let condition = status.conditions.iter().find(|one| one.type_ == type_ && one.status == "True")?;
        Some(Verdict::new(end, &condition.reason, &condition.message))
    })
}

fn by_policy(job: &Job, pods: &[&Pod]) -> Option<Verdict> {
    job.spec.pod_failure_policy.as_ref()?;
    let mut failed = pods.iter().filter(|pod| failure::has_failed(job, pod));
    failed.find_map(|pod| match failure::judge(job, pod) {
        Failure::EndsJob(why) => Verdict::failed("PodFailurePolicy", &why),
        Failure::Counts | Failure::Ignored | Failure::EndsIndex => None,
    })
}

fn by_limit(job: &Job, pods: &[&Pod], count: &Count<'_>) -> Option<Verdict> {
    let limit = job.spec.backoff_limit.unwrap_or(i32::MAX);
    let restarts = if job.spec.template.spec.restart_policy == "OnFailure" { restarts(pods) } else { 0 };
    let is_over = count.failures() > limit || (restarts > 0 && restarts >= limit);
    let message = "the job has reached its backoffLimit";
    if is_over { Verdict::failed("BackoffLimitExceeded", message) } else { None }
}

/// How often the containers of pods that run, or will, were started again.
fn restarts(pods: &[&Pod]) -> i32 {
    let at_work = pods.iter().filter(|pod| matches!(pod.status.phase.as_str(), "Running" | "Pending"));
    let containers = at_work
        .flat_map(|pod| pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses));
    containers.fold(0, |sum, container| sum.saturating_add(container.restart_count))
}

fn by_deadline(job: &Job, now: Timestamp) -> Option<Verdict> {
    let is_over = deadline(job).is_some_and(|deadline| now >= deadline);
    let message = "the job was active longer than activeDeadlineSeconds";
    if is_over { Verdict::failed("DeadlineExceeded", message) } else { None }
}

fn by_indexes(job: &Job, count: &Count<'_>) -> Option<Verdict> {
    let (completed, failed) = (count.completed.as_ref()?, count.failed.as_ref()?.len());
    let most = job.spec.max_failed_indexes.and_then(|most| u32::try_from(most).ok());
    if most.is_some_and(|most| failed > most) {
        return Verdict::failed(
            "MaxFailedIndexesExceeded",
            "more indexes failed than maxFailedIndexes allows",
        );
    }
    let is_over = failed > 0 && failed + completed.len() >= completions(job);
    if is_over { Verdict::failed("FailedIndexes", "all indexes terminated, and some failed") } else { None }
}

fn by_success(job: &Job, count: &Count<'_>) -> Option<Verdict> {
    let (policy, completed) = (job.spec.success_policy.as_ref()?, count.completed.as_ref()?);
    let enough = |wanted: Option<i32>, have: u32| {
        wanted.and_then(|wanted| u32::try_from(wanted).ok()).is_some_and(|wanted| have >= wanted)
    };
    let is_met = |rule: &objects::batch::SuccessPolicyRule| match &rule.succeeded_indexes {
        Some(text) => {
            let wanted = Indexes::parse(text, completions(job));
            let have = wanted.overlap(completed);
            wanted.len() > 0 && (have == wanted.len() || enough(rule.succeeded_count, have))
        }
        None => enough(rule.succeeded_count, completed.len()),
    };
    let at = policy.rules.iter().position(is_met).filter(|_| completed.len() > 0)?;
    Some(Verdict::new(End::Complete, "SuccessPolicy", &format!("rule {at} of the success policy is met")))
}

/// Whether a status says that something is so.
pub(super) fn holds(status: &JobStatus, type_: &str) -> bool {
    status.conditions.iter().any(|condition| condition.type_ == type_ && condition.status == "True")
}

/// Sets a condition; says whether that changed anything. What was never said need not be denied.
pub(super) fn set(
    status: &mut JobStatus,
    type_: &str,
    is_so: bool,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> bool {
    let truth = if is_so { "True" } else { "False" };
    let known = status.conditions.iter().position(|condition| condition.type_ == type_);
    match known {
        Some(at) if status.conditions[at].status == truth && status.conditions[at].reason == reason => {
            return false;
        }
        None if !is_so => return false,
        _ => {}
    }
    let time = Some(Time(now.to_seconds()));
    let condition = JobCondition {
        type_: type_.to_owned(),
        status: truth.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_probe_time: time,
        last_transition_time: time,
        ..JobCondition::default()
    };
    match known {
        Some(at) => status.conditions[at] = condition,
        None => status.conditions.push(condition),
    }
    true
}
