//! How many pods a job has at work: some are made, or some are too many.
//!
//! Invariant: never more pods than run side by side, nor more than are still to succeed; and an index has one pod.

use std::collections::{BTreeMap, BTreeSet};

use model::timestamp::Timestamp;
use objects::batch::Job;
use objects::core::pod::Pod;

use super::backoff;
use super::count::{Count, completions, index, index_failures, is_indexed, small};
use super::failure::{self, Failure};
use super::make::Slot;

/// How many pods are made or deleted at once.
const STEP_MAX: usize = 500;

/// What to do about the number of pods.
#[derive(Debug, PartialEq)]
pub(super) enum Change<'a> {
    /// As many as there should be.
    None,
    /// These are too many.
    Discard(Vec<&'a Pod>),
    /// Make these: with an index, or so many without.
    Make(Vec<Option<Slot>>),
    /// Some are missing, and it is too early to make them.
    Wait(Timestamp),
}

/// Decides for a job that is not over.
pub(super) fn change<'a>(job: &Job, pods: &[&'a Pod], count: &Count<'a>, now: Timestamp) -> Change<'a> {
    if job.spec.suspend == Some(true) {
        return discard(count.active.clone());
    }
    let (active, wanted) = (small(count.active.len()), wanted(job, count));
    let excess = excess(job, count, usize::try_from(active - wanted).unwrap_or(0));
    if !excess.is_empty() {
        return discard(excess);
    }
    let leaving = if failure::replaces_only_failed(job) { small(count.terminating.len()) } else { 0 };
    let missing = usize::try_from(wanted - leaving - active).unwrap_or(0).min(STEP_MAX);
    if missing == 0 {
        return Change::None;
    }
    if count.failed.is_some() {
        return make_per_index(job, pods, &pending(job, count, missing), now);
    }
    let succeeded = pods.iter().copied().filter(|pod| pod.status.phase == "Succeeded");
    let failed = pods.iter().copied().filter(|pod| failure::has_failed(job, pod));
    match backoff::not_before(succeeded, failed) {
        Some(time) if time > now => Change::Wait(time),
        _ if is_indexed(job) => {
            make(pending(job, count, missing).into_iter().map(|index| Some(Slot { index, failures: None })))
        }
        _ => make(std::iter::repeat_n(None, missing)),
    }
}

fn discard(mut pods: Vec<&Pod>) -> Change<'_> {
    pods.truncate(STEP_MAX);
    if pods.is_empty() { Change::None } else { Change::Discard(pods) }
}

fn make<'a>(slots: impl Iterator<Item = Option<Slot>>) -> Change<'a> {
    let slots: Vec<Option<Slot>> = slots.collect();
    if slots.is_empty() { Change::None } else { Change::Make(slots) }
}

/// How many pods should be at work.
fn wanted(job: &Job, count: &Count<'_>) -> i32 {
    let side_by_side = job.spec.parallelism.unwrap_or(1);
    match job.spec.completions {
        Some(completions) => completions.saturating_sub(count.succeeded()).min(side_by_side).max(0),
        // After the first success those that run may go on, and no more are made.
        None if count.succeeded() > 0 => small(count.active.len()),
        None => side_by_side,
    }
}

/// Pods that are too many: those whose index another pod has or that have none, and then those that have come least far.
fn excess<'a>(job: &Job, count: &Count<'a>, least: usize) -> Vec<&'a Pod> {
    let mut pods = count.active.clone();
    pods.sort_by_key(|pod| how_far(pod));
    let mut excess = Vec::new();
    if is_indexed(job) {
        let mut taken = BTreeSet::new();
        // Of two with one index the one that has come further stays.
        for pod in pods.iter().rev() {
            let is_good = index(pod).is_some_and(|index| index < completions(job) && taken.insert(index));
            if !is_good {
                excess.push(*pod);
            }
        }
        let bad: BTreeSet<&str> = excess.iter().map(|pod| pod.metadata.uid.as_str()).collect();
        pods.retain(|pod| !bad.contains(pod.metadata.uid.as_str()));
    }
    let more = least.saturating_sub(excess.len());
    excess.extend(pods.into_iter().take(more));
    excess
}

/// How far a pod has come: without a node, waiting, running, ready; older ones further.
fn how_far(pod: &Pod) -> (bool, bool, bool, std::cmp::Reverse<Option<objects::Time>>, &str) {
    let created = std::cmp::Reverse(pod.metadata.creation_timestamp);
    let (has_node, runs) = (!pod.spec.node_name.is_empty(), pod.status.phase == "Running");
    (has_node, runs, is_ready(pod), created, &pod.metadata.name)
}

pub(super) fn is_ready(pod: &Pod) -> bool {
    pod.status.conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The first indexes that nobody works at and that have not ended.
fn pending(job: &Job, count: &Count<'_>, most: usize) -> Vec<u32> {
    let leaving = if failure::replaces_only_failed(job) { &count.terminating[..] } else { &[] };
    let taken: BTreeSet<u32> = count.active.iter().chain(leaving).filter_map(|pod| index(pod)).collect();
    let has_ended = |index: u32| {
        let sets = [&count.completed, &count.failed];
        sets.into_iter().flatten().any(|ended| ended.contains(index))
    };
    (0..completions(job)).filter(|index| !taken.contains(index) && !has_ended(*index)).take(most).collect()
}

/// Pods for indexes that wait for their own failures only.
fn make_per_index<'a>(job: &Job, pods: &[&Pod], pending: &[u32], now: Timestamp) -> Change<'a> {
    let mut failed: BTreeMap<u32, Vec<&Pod>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| failure::has_failed(job, pod)) {
        failed.entry(index(pod).unwrap_or(u32::MAX)).or_default().push(pod);
    }
    let (mut slots, mut earliest): (Vec<Option<Slot>>, Option<Timestamp>) = (Vec::new(), None);
    for index in pending {
        let before = failed.get(index).map_or(&[][..], Vec::as_slice);
        match backoff::not_before(std::iter::empty(), before.iter().copied()) {
            Some(time) if time > now => earliest = earliest.into_iter().chain([time]).min(),
            _ => {
                let counted = |pod: &&Pod| u32::from(failure::judge(job, pod) != Failure::Ignored);
                let failures = before.iter().map(|pod| index_failures(pod) + counted(pod)).max();
                slots.push(Some(Slot { index: *index, failures: Some(failures.unwrap_or(0)) }));
            }
        }
    }
    match earliest {
        Some(time) if slots.is_empty() => Change::Wait(time),
        _ => make(slots.into_iter()),
    }
}
