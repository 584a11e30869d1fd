//! What a rule says of itself: how many pods still have to go, or would have to.
//!
//! Invariant: what a rule says changes at most once in [`REPORT_MILLIS`], unless the rule changes.

use std::collections::BTreeSet;

use model::timestamp::Timestamp;
use objects::Time;
use objects::core::pod::Pod;
use objects::meta::Condition;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceTaintRule;

use super::taints::{Cause, Taints, selects};

/// The type of the condition.
const IN_PROGRESS: &str = "EvictionInProgress";

/// How long what was said stands.
const REPORT_MILLIS: i64 = 10_000;

/// What to do about a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// Nothing: it says what is so.
    Leave,
    /// Look again then.
    Wait(Timestamp),
    /// Let it say this.
    Say(Box<Condition>),
}

/// How much a rule is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Devices that are published and match.
    pub published: usize,
    /// Devices that are allocated and match.
    pub allocated: usize,
    /// Pods that have to go because of it, or would have to.
    pub pods: usize,
    /// The namespaces of these pods.
    pub namespaces: usize,
}

/// What a rule is counted in.
pub struct Field<'a> {
    /// Every pool that is published, by driver and name.
    pub pools: BTreeSet<(&'a str, &'a str)>,
    /// Every claim.
    pub claims: Vec<&'a ResourceClaim>,
    /// Every pod.
    pub pods: Vec<&'a Pod>,
}

/// Counts what a rule is about. A rule that does nothing is counted as if it would evict.
///
/// `evicts` says for a pod why it has to go, with these taints.
pub fn tally(
    rule: &DeviceTaintRule,
    taints: &Taints<'_>,
    field: &Field<'_>,
    evicts: impl Fn(&Pod, &Taints<'_>) -> BTreeSet<Cause>,
) -> Tally {
    let taints = taints.rehearsing(rule);
    let is_cause = |cause: &Cause| matches!(cause, Cause::Rule { uid, .. } if *uid == rule.metadata.uid);
    let there = field.pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
    let pods: Vec<_> = there.filter(|pod| evicts(pod, &taints).iter().any(is_cause)).collect();
    let namespaces: BTreeSet<&str> = pods.iter().map(|pod| pod.metadata.namespace.as_str()).collect();
    let results = field.claims.iter().filter_map(|claim| claim.status.allocation.as_ref());
    let results = results.flat_map(|allocation| &allocation.devices.results);
    let allocated = results.filter(|result| selects(rule, &result.driver, &result.pool, &result.device));
    Tally {
        published: field.pools.iter().map(|(driver, pool)| taints.selected(rule, driver, pool)).sum(),
        allocated: allocated.count(),
        pods: pods.len(),
        namespaces: namespaces.len(),
    }
}

/// Decides what a rule says.
///
/// Counting looks at every pod, so it is only asked for when something has to be said.
pub fn report(rule: &DeviceTaintRule, tally: impl FnOnce() -> Tally, now: Timestamp) -> Report {
    let before = said(rule).filter(|said| said.observed_generation == rule.metadata.generation);
    if let Some(stands) = before.and_then(|said| stands(rule, said, now)) {
        return stands;
    }
    let (status, reason, message) = match rule.spec.taint.effect.as_str() {
        "NoExecute" => match tally() {
            Tally { pods: 0, .. } => {
                let was_evicting =
                    before.is_some_and(|said| ["PodsPendingEviction", "Completed"].contains(&&*said.reason));
                ("False", if was_evicting { "Completed" } else { "NotStarted" }, String::new())
            }
            Tally { pods, namespaces, .. } => {
                let pods = counted(pods, "pod", "pods");
                let namespaces = counted(namespaces, "namespace", "namespaces");
                ("True", "PodsPendingEviction", format!("{pods} in {namespaces} still to be evicted"))
            }
        },
        "None" => ("False", "NoEffect", foreseen(tally())),
        _ => ("False", "OtherEffect", "only the effect NoExecute evicts pods".to_owned()),
    };
    if before
        .is_some_and(|said| (&*said.status, &*said.reason, &*said.message) == (status, reason, &*message))
    {
        return Report::Leave;
    }
    Report::Say(Box::new(Condition {
        last_transition_time: Some(Time(now.to_seconds())),
        message,
        observed_generation: rule.metadata.generation,
        reason: reason.to_owned(),
        status: status.to_owned(),
        type_: IN_PROGRESS.to_owned(),
        ..Condition::default()
    }))
}

/// What follows while what a rule said about its present form still stands.
fn stands(rule: &DeviceTaintRule, said: &Condition, now: Timestamp) -> Option<Report> {
    if rule.spec.taint.effect != "NoExecute" {
        // It does nothing, so that nothing becomes of it.
        return Some(Report::Leave);
    }
    let until = said.last_transition_time.map_or(now, |time| time.0.plus_millis(REPORT_MILLIS));
    (until > now).then_some(Report::Wait(until))
}

fn said(rule: &DeviceTaintRule) -> Option<&Condition> {
    rule.status.conditions.iter().find(|condition| condition.type_ == IN_PROGRESS)
}

fn foreseen(tally: Tally) -> String {
    let published = counted(tally.published, "published device", "published devices");
    let allocated = counted(tally.allocated, "allocated device", "allocated devices");
    let pods = counted(tally.pods, "pod", "pods");
    let namespaces = counted(tally.namespaces, "namespace", "namespaces");
    format!(
        "{published} and {allocated} selected; with effect NoExecute {pods} in {namespaces} would be evicted; the \
            count is not updated; hint: change or recreate the rule to count again"
    )
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
