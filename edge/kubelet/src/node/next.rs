//! What is next for a pod of this node.

use std::time::Duration;

use controllers::simulated::Times;
use controllers::simulated::phases::{self, Deed};
use model::timestamp::Timestamp;
use objects::core::pod::Pod;

/// Something to be done about a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Task {
    /// The next step of its life.
    Step(Deed),
    /// It is over or gone, and something is still held for it.
    Release,
    /// Something may have happened to the devices of its containers.
    TellHealth,
}

/// What is next for a pod, and how long from now. Of a pod that is gone, nothing is known but what is held for it.
pub(crate) fn next(
    pod: Option<&Pod>,
    is_held: bool,
    is_unwell: bool,
    now: Timestamp,
    times: Times,
) -> Option<(Duration, Task)> {
    let release = is_held.then_some((Duration::ZERO, Task::Release));
    let Some(pod) = pod else { return release };
    let step = phases::next(pod, now, times).map(|(wait, deed)| (wait, Task::Step(deed)));
    match (pod.status.phase.as_str(), step) {
        ("Succeeded" | "Failed", None) => release,
        // What is due now comes first.
        ("Running", Some((wait, _))) if is_unwell && !wait.is_zero() => {
            Some((Duration::ZERO, Task::TellHealth))
        }
        ("Running", None) if is_unwell => Some((Duration::ZERO, Task::TellHealth)),
        (_, step) => step,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn next_of(pod: Value, is_held: bool, is_unwell: bool) -> Option<Task> {
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        let now = Timestamp::parse("2026-01-02T03:04:05Z").expect("a time");
        next(Some(&pod), is_held, is_unwell, now, Times::default()).map(|(_, task)| task)
    }

    #[test]
    fn whatever_is_held_for_a_pod_that_is_over_or_gone_is_released() {
        let now = Timestamp::parse("2026-01-02T03:04:05Z").expect("a time");
        assert_eq!(next(None, true, false, now, Times::default()), Some((Duration::ZERO, Task::Release)));
        assert_eq!(next(None, false, true, now, Times::default()), None);
        for phase in ["Succeeded", "Failed"] {
            let over = json!({ "status": { "phase": phase } });
            assert_eq!(next_of(over.clone(), true, false), Some(Task::Release));
            assert_eq!(next_of(over, false, false), None);
        }
    }

    #[test]
    fn a_pod_that_is_to_go_is_removed_also_if_it_is_over() {
        let metadata = json!({ "deletionTimestamp": "2026-01-02T03:04:35Z" });
        let going = json!({ "metadata": metadata, "status": { "phase": "Failed" } });
        assert_eq!(next_of(going, true, true), Some(Task::Step(Deed::Remove)));
    }

    #[test]
    fn only_running_pods_are_told_how_their_devices_are() {
        let phase = |phase: &str| json!({ "status": { "phase": phase } });
        assert_eq!(next_of(phase("Running"), true, true), Some(Task::TellHealth));
        assert_eq!(next_of(phase("Running"), true, false), None);
        assert_eq!(next_of(phase("Pending"), false, true), Some(Task::Step(Deed::Start)));
    }
}
