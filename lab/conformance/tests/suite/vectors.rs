//! The checked-in vectors pass, and a wrong answer would be noticed.

use std::fs;
use std::path::{Path, PathBuf};

use conformance::replay::Tally;
use conformance::{Form, Suite, admission, cel, gangs, plugins, quantity, replay, vectors, volumes};

fn recorded(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors").join(file)
}

fn run(suite: Suite, file: PathBuf) -> (Tally, String) {
    let mut report = Vec::new();
    let tally = replay::run(suite, &[file], &mut report, None).expect("the vectors are readable");
    (tally, String::from_utf8(report).expect("the report is text"))
}

#[test]
fn all_quantity_vectors_pass() {
    let (tally, report) = run(quantity::SUITE, recorded("quantity.jsonl.gz"));
    assert_eq!(tally, Tally { passed: 2400, failed: 0 }, "{report}");
}

#[test]
fn all_selector_vectors_pass_and_all_costs_agree() {
    let (tally, report) = run(cel::SUITE, recorded("cel.jsonl.gz"));
    assert_eq!(tally, Tally { passed: 3300, failed: 0 }, "{report}");
    assert!(report.starts_with("cost agreement: 100.00 % (16835 of 16835)\n"), "{report}");
}

#[test]
fn a_wrong_verdict_about_a_device_is_counted_and_shown() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong-cel.jsonl");
    let right = r#"{"name":"right-1","driver":"d","expression":"device.driver == 'd'","devices":[{"name":"a"}],"expect":{"compile":"ok","estimatedMaxCost":3,"devices":[{"match":true,"cost":3}]}}"#;
    let wrong = r#"{"name":"wrong-1","driver":"d","expression":"device.driver == 'd'","devices":[{"name":"a"}],"expect":{"compile":"ok","estimatedMaxCost":4,"devices":[{"match":false,"cost":3}]}}"#;
    fs::write(&path, format!("{right}\n{wrong}\n")).expect("the test directory is writable");
    let (tally, report) = run(cel::SUITE, path);
    assert_eq!(tally, Tally { passed: 1, failed: 1 });
    let wanted = "wrong-1\n  devices[0]: expected false\n  devices[0]: actual   true\n\
                  cost agreement: 75.00 % (3 of 4)\n1 passed, 1 failed\n";
    assert_eq!(report, wanted);
}

#[test]
fn admission_agrees_on_every_recorded_object() {
    let (tally, report) = run(admission::SUITE, recorded("validation.jsonl.gz"));
    assert_eq!(tally, Tally { passed: 835, failed: 0 }, "{report}");
}

/// Three cases end with a deletion whose answer is a `Status`, which admission has no part in.
#[test]
fn admission_agrees_on_every_recorded_change() {
    let (tally, report) = run(admission::SUITE, recorded("updates.jsonl.gz"));
    let differs = |line: &&str| line.starts_with("updates/");
    let names: Vec<&str> = report.lines().filter(differs).collect();
    assert_eq!(
        names,
        [
            "updates/Workload/delete",
            "updates/CompositePodGroup/delete",
            "updates/PriorityClass/global-default"
        ],
        "{report}"
    );
    assert!(!report.contains("verdict") && !report.contains("causes"), "{report}");
    assert_eq!(tally, Tally { passed: 249, failed: 3 });
}

#[test]
fn every_gang_is_bound_in_one_domain_if_it_can_be_and_not_at_all_otherwise() {
    let (tally, report) = run(gangs::SUITE, recorded("gangs.jsonl.gz"));
    assert_eq!(tally, Tally { passed: 300, failed: 0 }, "{report}");
}

/// Three pods say for themselves what they need (`spec.resources`). The scorer of NodeResourcesFit in Kubernetes adds up what
/// their containers say, unlike its filter and unlike BalancedAllocation, so that other nodes are the best.
#[test]
fn nodes_and_victims_are_those_of_the_default_plugins_of_kubernetes() {
    let file = recorded("plugins.jsonl.gz");
    let (tally, report) = run(plugins::SUITE, file.clone());
    let differing: Vec<&str> = report.lines().filter(|line| line.starts_with("podlevel-")).collect();
    assert_eq!(differing, ["podlevel-0072", "podlevel-0100", "podlevel-0106"], "{report}");
    assert_eq!(tally, Tally { passed: 2197, failed: 3 }, "{report}");
    let differs = |line: &&str| line.starts_with("  ");
    assert!(report.lines().filter(differs).all(|line| line.starts_with("  best: ")), "{report}");
    for case in vectors::open(&file).expect("the vectors are readable") {
        let case = case.expect("a case");
        let is_said_for_the_pod = case.content["pod"]["spec"]["resources"].is_object();
        assert!(is_said_for_the_pod || !differing.contains(&&*case.name), "{}", case.name);
    }
}

#[test]
fn nodes_for_volumes_and_the_volumes_there_are_those_of_kubernetes() {
    let (tally, report) = run(volumes::SUITE, recorded("volumes.jsonl.gz"));
    assert_eq!(tally, Tally { passed: 504, failed: 0 }, "{report}");
}

#[test]
fn a_wrong_answer_is_counted_and_shown() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong.jsonl");
    let line = r#"{"name":"wrong-1","A":"1","B":"x","expect":{"a":{"canonical":"1","value":1,"milli":999},"b":{"error":"format"}}}"#;
    fs::write(&path, format!("{line}\n")).expect("the test directory is writable");
    let (tally, report) = run(quantity::SUITE, path);
    assert_eq!(tally, Tally { passed: 0, failed: 1 });
    assert_eq!(report, "wrong-1\n  a.milli: expected 999\n  a.milli: actual   1000\n0 passed, 1 failed\n");
}

#[test]
fn a_case_without_an_answer_fails() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unanswered.jsonl");
    fs::write(&path, "{\"name\":\"odd-1\",\"A\":\"1\",\"expect\":{}}\n")
        .expect("the test directory is writable");
    let (tally, report) = run(quantity::SUITE, path);
    assert_eq!(tally, Tally { passed: 0, failed: 1 });
    assert!(report.contains("no answer: no text B"), "{report}");
}

#[test]
fn a_panic_fails_its_case_alone() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("panics.jsonl");
    fs::write(&path, "{\"name\":\"bad-1\",\"expect\":0}\n{\"name\":\"good-1\",\"n\":1,\"expect\":1}\n")
        .expect("the test directory is writable");
    let suite = Suite {
        expected: conformance::expect,
        answer: |case| Ok(case.get("n").expect("the bad case has no n").clone()),
        differences: conformance::exact,
        agreement: None,
        form: Form::Any,
    };
    let (tally, report) = run(suite, path);
    assert_eq!(tally, Tally { passed: 1, failed: 1 });
    assert!(report.contains("no answer: it panicked"), "{report}");
}

#[test]
fn times_are_summed_and_the_slowest_case_is_named() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("timed.jsonl");
    fs::write(
        &path,
        "{\"name\":\"quick-1\",\"micros\":7}\n{\"name\":\"slow-1\",\"micros\":12345}\n{\"name\":\"odd-1\"}\n",
    )
    .expect("the test directory is writable");
    let suite = Suite {
        expected: |_| serde_json::Value::Null,
        answer: |case| {
            let micros = case.get("micros").ok_or_else(|| anyhow::anyhow!("it has no time"))?;
            Ok(serde_json::json!({ "micros": micros, "outcome": "none" }))
        },
        differences: |_, _| Vec::new(),
        agreement: None,
        form: Form::Timed,
    };
    let (mut report, mut dump) = (Vec::new(), Vec::new());
    replay::run(suite, &[path], &mut report, Some(&mut dump)).expect("the vectors are readable");
    let report = String::from_utf8(report).expect("the report is text");
    assert!(
        report.ends_with("12.352 ms in total, slowest 12.345 ms: slow-1\n2 passed, 1 failed\n"),
        "{report}"
    );
    let dump = String::from_utf8(dump).expect("the dump is text");
    let lines: Vec<&str> = dump.lines().collect();
    let wanted = [
        r#"{"micros":7,"name":"quick-1","outcome":"none"}"#,
        r#"{"micros":12345,"name":"slow-1","outcome":"none"}"#,
        r#"{"error":"no answer: it has no time","name":"odd-1"}"#,
    ];
    assert_eq!(lines, wanted);
}
