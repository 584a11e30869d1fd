//! How long a job waits before it replaces a pod that failed: ten seconds, then twice as long each time.
//!
//! Invariant: what counts is read off the pods that are there, and not remembered. Whoever takes over waits as long as
//! whoever was there before would have.

use model::timestamp::Timestamp;
use objects::core::pod::Pod;

/// The wait after the first failure.
const FIRST_MS: i64 = 10_000;

/// The longest wait.
const LONGEST_MS: i64 = 600_000;

/// When the next pod may be made, given the pods that ended: after failures without a success since.
pub(super) fn not_before<'a>(
    succeeded: impl Iterator<Item = &'a Pod>,
    failed: impl Iterator<Item = &'a Pod>,
) -> Option<Timestamp> {
    let last_success = succeeded.map(ended_at).max();
    let since: Vec<Timestamp> =
        failed.map(ended_at).filter(|end| last_success.is_none_or(|success| *end > success)).collect();
    since.iter().max().map(|last| last.plus_millis(wait_ms(since.len())))
}

/// The wait after so many failures in a row.
fn wait_ms(failures: usize) -> i64 {
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
    (FIRST_MS << doublings).min(LONGEST_MS)
}

/// When a pod ended: when its last container did, or it was no longer ready, or was told to go.
fn ended_at(pod: &Pod) -> Timestamp {
    let containers = &pod.status.container_statuses;
    let ends = containers.iter().map(|one| one.state.terminated.as_ref()?.finished_at);
    let ended = ends.collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().max());
    let ready = pod.status.conditions.iter().find(|one| one.type_ == "Ready" && one.status == "False");
    let unready = || ready.and_then(|condition| condition.last_transition_time);
    let told = || {
        let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
        let deadline = pod.metadata.deletion_timestamp?;
        Some(objects::Time(deadline.0.plus_millis(grace.saturating_mul(-1_000))))
    };
    let known = ended.or_else(unready).or_else(told).or(pod.metadata.creation_timestamp);
    known.unwrap_or_default().0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ended(at: &str) -> Pod {
        let state = json!({ "terminated": { "exitCode": 1, "finishedAt": format!("2026-01-02T03:{at}Z") } });
        let status = json!({ "containerStatuses": [{ "name": "c", "state": state }] });
        serde_json::from_value(json!({ "status": status })).expect("a pod")
    }

    fn check(succeeded: &[&str], failed: &[&str]) -> Option<String> {
        let pods = |times: &[&str]| times.iter().map(|time| ended(time)).collect::<Vec<_>>();
        let (succeeded, failed) = (pods(succeeded), pods(failed));
        not_before(succeeded.iter(), failed.iter()).map(|time| time.to_string())
    }

    #[test]
    fn each_failure_in_a_row_doubles_the_wait() {
        let at = |time: &str| Some(format!("2026-01-02T03:{time}Z"));
        assert_eq!(check(&[], &[]), None);
        assert_eq!(check(&["04:00"], &[]), None);
        assert_eq!(check(&[], &["04:00"]), at("04:10"));
        assert_eq!(check(&[], &["04:30", "04:00"]), at("04:50"));
        assert_eq!(check(&[], &["04:30"; 3]), at("05:10"));
        assert_eq!(check(&[], &["04:30"; 40]), at("14:30"));
    }

    #[test]
    fn a_success_forgives_what_failed_before() {
        let at = |time: &str| Some(format!("2026-01-02T03:{time}Z"));
        assert_eq!(check(&["04:20"], &["04:00", "04:10"]), None);
        assert_eq!(check(&["04:20"], &["04:00", "04:30"]), at("04:40"));
    }

    #[test]
    fn a_pod_that_was_told_to_go_ended_then() {
        let metadata =
            json!({ "deletionTimestamp": "2026-01-02T03:04:35Z", "deletionGracePeriodSeconds": 30 });
        let pod: Pod = serde_json::from_value(json!({ "metadata": metadata })).expect("a pod");
        assert_eq!(ended_at(&pod).to_string(), "2026-01-02T03:04:05Z");
    }
}
