//! What was heard, and what is done then, as tables: milliseconds, what is heard, and the acts.

use controllers::simulated::phases::Deed;
use serde_json::json;

use super::*;

const PACE: Pace = Pace {
    times: Times {
        start: Duration::from_millis(300),
        run: None,
        stop: Duration::from_millis(300),
        heartbeat: Duration::from_secs(10),
    },
    retry_first: Duration::from_millis(500),
    retry_max: Duration::from_millis(1_500),
};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_micros(1_000_000_000).plus_millis(millis)
}

fn pod(uid: &str, phase: &str) -> Pod {
    let spec =
        json!({ "resourceClaims": [{ "name": "gpu", "resourceClaimName": "c" }], "restartPolicy": "Always" });
    serde_json::from_value(json!({ "metadata": { "uid": uid }, "spec": spec, "status": { "phase": phase } }))
        .expect("a pod")
}

fn applied(uid: &str, phase: &str) -> Heard<()> {
    Heard::Applied(Arc::new(pod(uid, phase)))
}

fn uids(pods: &[&str]) -> Uids {
    pods.iter().map(|&uid| uid.to_owned()).collect()
}

fn synced(held: &[&str]) -> Heard<()> {
    Heard::Synced { held: uids(held) }
}

fn reviewed(held: &[&str]) -> Heard<()> {
    Heard::Reviewed { held: uids(held) }
}

fn gone(uid: &str, held: &[&str]) -> Heard<()> {
    Heard::Gone { uid: uid.to_owned(), held: uids(held) }
}

fn ended(uid: &str, task: Task, outcome: Outcome<()>, held: &[&str]) -> Heard<()> {
    Heard::Ended { uid: uid.to_owned(), before: None, task, outcome, held: uids(held) }
}

fn failed(uid: &str, task: Task) -> Heard<()> {
    ended(uid, task, Outcome::Failed(()), &[uid])
}

fn done(uid: &str, task: Task) -> Heard<()> {
    ended(uid, task, Outcome::Done(None), &[])
}

fn shown(acts: &[Act<()>]) -> String {
    let show = |act: &Act<()>| match act {
        Act::Begin { uid, task: Task::Step(deed), .. } => format!("{deed:?} {uid}"),
        Act::Begin { uid, task, .. } => format!("{task:?} {uid}"),
        Act::Report { is_first: true, .. } => "report first".to_owned(),
        Act::Report { is_first: false, .. } => "report".to_owned(),
    };
    acts.iter().map(show).collect::<Vec<_>>().join(", ")
}

/// Plays a story from the beginning.
#[track_caller]
fn check(story: Vec<(i64, Heard<()>, &str)>) {
    let mut work = Work::new(PACE);
    for (millis, heard, expected) in story {
        let told = format!("at {millis} ms: {heard:?}");
        assert_eq!(shown(&work.step(at(millis), heard)), expected, "{told}");
        for (time, uid) in &work.due {
            assert_eq!(work.states.get(uid), Some(&State::Due(*time)), "{told}");
        }
        let is_due = |state: &&State| matches!(state, State::Due(_));
        assert_eq!(work.states.values().filter(is_due).count(), work.due.len(), "{told}");
    }
}

const START: Task = Task::Step(Deed::Start);

#[test]
fn a_pod_has_one_task_at_a_time_and_each_in_its_time() {
    check(vec![
        (0, applied("a", "Pending"), ""),
        (299, Heard::Time, ""),
        (300, Heard::Time, "Start a"),
        // A busy pod is left alone, whatever is heard of it.
        (310, applied("a", "Pending"), ""),
        (900, Heard::Time, ""),
        (910, applied("b", "Pending"), ""),
        // The stream of pods has not said that it runs, so what is known says to start it.
        (1_000, done("a", START), ""),
        (1_210, Heard::Time, "Start b"),
        (1_250, applied("a", "Running"), ""),
        (9_000, Heard::Time, ""),
    ]);
}

#[test]
fn what_fails_is_tried_again_after_pauses_that_double_up_to_a_bound() {
    check(vec![
        (0, applied("a", "Pending"), ""),
        (300, Heard::Time, "Start a"),
        (400, failed("a", START), "report first"),
        (899, Heard::Time, ""),
        (900, Heard::Time, "Start a"),
        (1_000, failed("a", START), "report"),
        // What is heard of the pod does not cut the pause short.
        (1_500, applied("a", "Pending"), ""),
        (1_999, Heard::Time, ""),
        (2_000, Heard::Time, "Start a"),
        (2_000, failed("a", START), "report"),
        (3_499, Heard::Time, ""),
        (3_500, Heard::Time, "Start a"),
        (3_500, failed("a", START), "report"),
        (4_999, Heard::Time, ""),
        (5_000, Heard::Time, "Start a"),
        // Once it succeeded, the next failure is a first one.
        (5_000, done("a", START), ""),
        (5_300, Heard::Time, "Start a"),
        (5_300, failed("a", START), "report first"),
        (5_800, Heard::Time, "Start a"),
    ]);
}

#[test]
fn a_driver_that_comes_ends_the_pauses_of_all_pods() {
    check(vec![
        (0, synced(&["gone"]), "Release gone"),
        (10, failed("gone", Task::Release), "report first"),
        (20, applied("a", "Pending"), ""),
        (320, Heard::Time, "Start a"),
        (330, ended("a", START, Outcome::Failed(()), &["a", "gone"]), "report first"),
        // A start takes its time also then; what is due at once begins at once.
        (340, Heard::DriversChanged, "Release gone"),
        (640, Heard::Time, "Start a"),
    ]);
}

#[test]
fn a_failure_of_one_task_is_no_pause_for_another() {
    let mut going = pod("a", "Running");
    going.metadata.deletion_timestamp =
        serde_json::from_value(json!("2026-01-02T03:04:35Z")).expect("a time");
    check(vec![
        (0, applied("a", "Running"), ""),
        (0, Heard::HealthChanged, "TellHealth a"),
        (0, failed("a", Task::TellHealth), "report first"),
        (10, Heard::Applied(Arc::new(going)), "Remove a"),
    ]);
}

#[test]
fn nothing_is_taken_back_before_all_pods_have_been_named() {
    check(vec![
        (0, reviewed(&["a", "gone"]), ""),
        (10, applied("a", "Running"), ""),
        (20, synced(&["a", "gone"]), "Release gone"),
        (30, reviewed(&["a", "gone"]), ""),
        (30, ended("gone", Task::Release, Outcome::Done(None), &["a"]), ""),
        (40, gone("a", &["a"]), "Release a"),
    ]);
}

#[test]
fn of_a_pod_that_is_gone_nothing_is_left() {
    let mut work = Work::new(PACE);
    work.step(at(0), synced(&[]));
    work.step(at(0), applied("a", "Pending"));
    work.step(at(0), Heard::<()>::HealthChanged);
    work.step(at(300), Heard::<()>::Time);
    work.step(at(300), failed("a", START));
    assert_eq!(shown(&work.step(at(310), gone("a", &[]))), "");
    let is_empty = work.pods.is_empty()
        && work.states.is_empty()
        && work.due.is_empty()
        && work.failures.is_empty()
        && work.unwell.is_empty();
    assert!(is_empty, "{work:?}");
}

#[test]
fn health_that_changes_while_it_is_told_or_is_not_told_is_told_again() {
    check(vec![
        (0, applied("a", "Running"), ""),
        (10, Heard::HealthChanged, "TellHealth a"),
        (20, Heard::HealthChanged, ""),
        (30, done("a", Task::TellHealth), "TellHealth a"),
        (40, failed("a", Task::TellHealth), "report first"),
        (540, Heard::Time, "TellHealth a"),
        (550, done("a", Task::TellHealth), ""),
    ]);
}

#[test]
fn what_we_said_of_a_pod_is_known_unless_the_stream_said_something_since() {
    for (said_since, next) in [(false, ""), (true, "Start a")] {
        let mut work = Work::new(PACE);
        work.step(at(0), applied("a", "Pending"));
        let begun = work.step(at(300), Heard::<()>::Time);
        let [Act::Begin { uid, pod: before, task }] = &begun[..] else { panic!("{begun:?}") };
        if said_since {
            work.step(at(310), applied("a", "Pending"));
        }
        let outcome: Outcome<()> = Outcome::Done(Some(Arc::new(pod("a", "Running"))));
        let (uid, before, held) = (uid.clone(), before.clone(), uids(&["a"]));
        work.step(at(320), Heard::Ended { uid, before, task: *task, outcome, held });
        assert_eq!(shown(&work.step(at(620), Heard::Time)), next, "said since: {said_since}");
    }
}
