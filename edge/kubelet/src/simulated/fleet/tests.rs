//! What was heard, and which deeds begin then, as tables: milliseconds, what is heard, and the deeds.

use controllers::simulated::FAULT;
use serde_json::{Value, json};

use super::*;

const TIMES: Times = Times {
    start: Duration::from_millis(300),
    run: None,
    stop: Duration::from_millis(300),
    // So long that nodes only give signs of life in the test that is about them.
    heartbeat: Duration::from_secs(100_000),
};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_micros(1_000_000_000).plus_millis(millis)
}

fn node_with(annotations: &Value, ready: &str) -> Heard {
    let conditions = json!([{ "type": "Ready", "status": ready }]);
    let node = json!({ "metadata": { "name": "n", "annotations": annotations }, "status": { "conditions": conditions } });
    Heard::NodeApplied(Arc::new(serde_json::from_value(node).expect("a node")))
}

/// A simulated node that has said that it is ready.
fn node() -> Heard {
    node_with(&json!({ SIMULATED: "" }), "True")
}

fn pod(uid: &str, phase: &str) -> Heard {
    let metadata = json!({ "namespace": "d", "name": "p", "uid": uid });
    let spec = json!({ "nodeName": "n", "restartPolicy": "Always" });
    let pod = json!({ "metadata": metadata, "spec": spec, "status": { "phase": phase } });
    Heard::PodApplied(Arc::new(serde_json::from_value(pod).expect("a pod")))
}

fn name() -> Name {
    ("d".to_owned(), "p".to_owned())
}

fn ended_pod(outcome: Outcome) -> Heard {
    Heard::Ended(Subject::Pod(name()), outcome)
}

fn ended_node(outcome: Outcome) -> Heard {
    Heard::Ended(Subject::Node("n".to_owned()), outcome)
}

fn shown(begun: &[(Subject, Begin)]) -> String {
    let show = |(_, begin): &(Subject, Begin)| match begin {
        Begin::Live(node) => format!("live {}", node.metadata.name),
        Begin::Perform(pod, deed) => format!("{deed:?} {}", pod.metadata.uid),
    };
    begun.iter().map(show).collect::<Vec<_>>().join(", ")
}

/// Plays a story from the beginning.
#[track_caller]
fn check(story: Vec<(i64, Heard, &str)>) {
    let mut fleet = Fleet::new(TIMES, at(0));
    for (millis, heard, expected) in story {
        let told = format!("at {millis} ms: {heard:?}");
        assert_eq!(shown(&fleet.step(at(millis), heard)), expected, "{told}");
    }
}

/// When the node gives its first sign of life, by its name.
fn moment() -> i64 {
    i64::try_from(report::until_sign("n", Duration::ZERO, TIMES.heartbeat).as_millis()).expect("it is short")
}

#[test]
fn a_pod_starts_in_its_time_and_only_once() {
    check(vec![
        (0, node(), ""),
        (0, pod("a", "Pending"), ""),
        (100, pod("a", "Pending"), ""),
        (300, Heard::Time, "Start a"),
        (310, pod("a", "Running"), ""),
        (320, ended_pod(Outcome::Done), ""),
    ]);
}

#[test]
fn what_failed_or_was_refused_is_tried_again_after_a_rest() {
    check(vec![
        (0, node(), ""),
        (0, pod("a", "Pending"), ""),
        (300, Heard::Time, "Start a"),
        (400, ended_pod(Outcome::Failed), ""),
        (899, Heard::Time, ""),
        (900, Heard::Time, "Start a"),
        (1_000, ended_pod(Outcome::Refused), ""),
        (2_999, Heard::Time, ""),
        (3_000, Heard::Time, "Start a"),
    ]);
}

#[test]
fn a_pod_that_takes_the_name_of_another_has_its_own_time() {
    check(vec![
        (0, node(), ""),
        (0, pod("old", "Pending"), ""),
        (200, pod("new", "Pending"), ""),
        (300, Heard::Time, ""),
        (500, Heard::Time, "Start new"),
        (510, Heard::PodGone(name()), ""),
        (520, ended_pod(Outcome::Done), ""),
    ]);
}

#[test]
fn nodes_that_are_not_simulated_or_are_lost_do_nothing_for_their_pods() {
    let lost = || node_with(&json!({ SIMULATED: "", FAULT: "lost" }), "True");
    check(vec![
        (0, node_with(&json!({}), "True"), ""),
        (0, pod("a", "Pending"), ""),
        (1_000, Heard::Time, ""),
        // What its pods wait for begins when the node becomes one of ours, or is found again.
        (1_000, node(), ""),
        (1_100, lost(), ""),
        (2_000, Heard::Time, ""),
        (2_000, node(), ""),
        (2_300, Heard::Time, "Start a"),
        (2_310, Heard::NodeGone("n".to_owned()), ""),
        (2_320, ended_pod(Outcome::Failed), ""),
        (60_000, Heard::Time, ""),
    ]);
}

#[test]
fn a_node_says_at_once_whether_it_is_ready_and_then_lives_in_its_moments() {
    let first = moment();
    let not_ready = || node_with(&json!({ SIMULATED: "", FAULT: "not-ready" }), "True");
    check(vec![
        (0, node_with(&json!({ SIMULATED: "" }), "Unknown"), "live n"),
        (1, node(), ""),
        (2, ended_node(Outcome::Done), ""),
        (first - 1, Heard::Time, ""),
        (first + 1, Heard::Time, "live n"),
        (first + 2, ended_node(Outcome::Failed), ""),
        (first + 501, Heard::Time, ""),
        (first + 502, Heard::Time, "live n"),
        (first + 503, ended_node(Outcome::Done), ""),
        (first + 9_000, not_ready(), "live n"),
    ]);
}

#[test]
fn so_many_deeds_are_under_way_at_most() {
    let mut fleet = Fleet::new(TIMES, at(0));
    fleet.step(at(0), node());
    for number in 0..DEEDS_MAX + 1 {
        let Heard::PodApplied(mut pod) = pod(&number.to_string(), "Pending") else {
            unreachable!("it is a pod")
        };
        Arc::make_mut(&mut pod).metadata.name = number.to_string();
        fleet.step(at(0), Heard::PodApplied(pod));
    }
    let begun = fleet.step(at(300), Heard::Time);
    assert_eq!((begun.len(), fleet.next_time()), (DEEDS_MAX, None));
    let (first, _) = begun.into_iter().next().expect("there are some");
    assert_eq!(fleet.step(at(301), Heard::Ended(first, Outcome::Failed)).len(), 1);
}
