//! The format: what the README shows works, and what is wrong is found, with file and line.

use std::fs;
use std::path::Path;

use scenarios::{Fault, Verdict, files, folder, read, verdicts};

/// The example of the README.
fn example() -> String {
    let readme = fs::read_to_string(folder().join("README.md")).expect("there is a README");
    let (_, from) = readme.split_once("```yaml\n").expect("it has an example");
    from.split_once("```").expect("the example has an end").0.to_owned()
}

/// What is said about the example with one part written otherwise.
fn complaint(old: &str, new: &str) -> String {
    let text = example();
    assert!(text.contains(old), "the example has no {old:?}");
    let outcomes = match verdicts("f.yaml", &text.replacen(old, new, 1)) {
        Err(failure) => return failure.to_string(),
        Ok(outcomes) => outcomes,
    };
    let failures = outcomes.into_iter().filter_map(|outcome| match outcome.verdict {
        Verdict::Failed(failure) => Some(failure.to_string()),
        Verdict::Passed | Verdict::Pending { .. } => None,
    });
    failures.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_example_of_the_readme_passes() {
    let outcomes = verdicts("README.md", &example()).expect("the example is a scenario");
    assert!(matches!(outcomes[..], [ref only] if only.verdict == Verdict::Passed), "{outcomes:?}");
}

#[test]
fn the_example_of_pods_in_the_readme_passes() {
    let readme = fs::read_to_string(folder().join("README.md")).expect("there is a README");
    let example = readme.split("```yaml\n").nth(2).expect("it has a second example");
    let example = example.split_once("```").expect("the example has an end").0;
    let outcomes = verdicts("README.md", example).expect("the example is a scenario");
    assert!(matches!(outcomes[..], [ref only] if only.verdict == Verdict::Passed), "{outcomes:?}");
    let told = |old: &str, new: &str| {
        let outcomes = match verdicts("f.yaml", &example.replacen(old, new, 1)) {
            Ok(outcomes) => outcomes,
            Err(failure) => return failure.to_string(),
        };
        format!("{:?}", outcomes[0].verdict)
    };
    assert!(told("small: 25", "small: 26").contains("NodeResourcesFit of small: found    25"));
    assert!(told("schedule: packed, on: small", "schedule: packed, on: large").contains("found    on small"));
    assert!(told("2 Insufficient cpu", "1 Insufficient cpu").contains("found    refused: 0/2 nodes"));
    assert!(told("NodeResourcesFit: {small", "NodeResourceFit: {small").contains("gives no scores"));
    assert!(told("type: MostAllocated", "type: Most").contains("the configuration is wrong"));
    assert!(
        told(", on: small}", "}")
            .contains("`schedule` needs either `on` or `refused`, or `scores` or `writes`")
    );
}

#[test]
fn the_example_of_drivers_in_the_readme_passes() {
    let readme = fs::read_to_string(folder().join("README.md")).expect("there is a README");
    let example = readme.split("```yaml\n").nth(3).expect("it has a third example");
    let example = example.split_once("```").expect("the example has an end").0;
    let outcomes = verdicts("README.md", example).expect("the example is a scenario");
    assert!(matches!(outcomes[..], [ref only] if only.verdict == Verdict::Passed), "{outcomes:?}");
    let told = |old: &str, new: &str| {
        assert!(example.contains(old), "the example has no {old:?}");
        match verdicts("f.yaml", &example.replacen(old, new, 1)) {
            Ok(outcomes) => format!("{:?}", outcomes[0].verdict),
            Err(failure) => failure.to_string(),
        }
    };
    let checks = [
        ("writes: 1", "writes: 2", "expected 2 writes"),
        ("writes: 1", "writes: 0", "expected 0 writes"),
        ("writes: 1", "refused: nothing is left", "expected … nothing is left …"),
        ("writes: 1", "has: {node-2: 1}, blind: true, elsewhere: node-3", "nothing is left on node-3"),
        ("driver: fpga", "driver: gpu", "there is no driver gpu.example.com; hint: list it in `drivers`"),
        ("unsuitableNodes: [node-2]", "unsuitableNodes: 2", "unsuitableNodes: expected 2"),
        ("negotiate: p, on: node-1", "negotiate: p, drivers: [], on: node-1", "found p refused: waiting for"),
        ("negotiate: p, on: node-1", "negotiate: p", "`negotiate` needs either `on` or `refused`"),
        ("- start: p", "- gone: Pod/p", "Pod/p is still there"),
        ("- start: p", "- {start: p, refused: nobody}", "found    started"),
        ("- start: p", "- object: Pod/q\n    shows: {}", "Pod/q is not there"),
        (
            "- start: p",
            "- {patch: Pod/p, with: {spec: {nodeName: other}}, refused: never}",
            "expected … never …",
        ),
        ("- start: p", "- {patch: Pod/p, with: {status: {phase: Failed}}, refused: never}", "found    taken"),
        (
            "- start: p",
            "- controllers: nodes",
            "there is no controller nodes; hint: there are claims and contexts",
        ),
        ("copies: 2", "copies: two", "`copies` is a number, with `of` and an object"),
    ];
    for (old, new, expected) in checks {
        let told = told(old, new);
        assert!(told.contains(expected), "{new}: {told}");
    }
}

#[test]
fn unknown_keys_are_errors_with_file_and_line() {
    let told = complaint("steps:", "stages:");
    assert!(told.starts_with("f.yaml:30\n") && told.contains("unknown field `stages`"), "{told}");
    let told = complaint("    gives: {mine/gpu: gpu-0}", "    give: {mine/gpu: gpu-0}");
    assert!(told.starts_with("f.yaml:33\n") && told.contains("unknown field `give`"), "{told}");
    let told = complaint("devices: [{name: gpu-0}]", "devices: [{nam: gpu-0}]");
    assert!(
        told.starts_with("f.yaml:12: ") && told.contains("unknown field \"spec.devices[0].nam\""),
        "{told}"
    );
    let told = complaint("DRADeviceBindingConditions", "DRADeviceBindingCondition");
    assert!(told.contains("unknown feature gate DRADeviceBindingCondition"), "{told}");
}

#[test]
fn an_object_that_the_api_server_refuses_is_an_error() {
    let told = complaint("resourceSliceCount: 1", "resourceSliceCount: 0");
    assert!(told.contains("ResourceSlice/node-1-gpus is not admitted"), "{told}");
}

#[test]
fn a_step_does_one_thing() {
    let told = complaint("  - release: mine", "  - {release: mine, delete: Node/node-1}");
    assert!(told.contains("a step does one thing, and this does release and delete"), "{told}");
    let told = complaint("  - release: mine", "  - {release: mine, on: node-1}");
    assert!(
        told.contains("`on` belongs to `allocate` and `schedule` and `together` and `negotiate`, and this step does release"),
        "{told}"
    );
    let told = complaint("    gives: {mine/gpu: gpu-0}\n", "");
    assert!(told.contains("`allocate` needs either `gives` or `refused`"), "{told}");
}

#[test]
fn another_device_than_expected_is_shown_side_by_side() {
    let told = complaint("gives: {mine/gpu: gpu-0}", "gives: {mine/gpu: gpu-7}");
    let wanted = "f.yaml:31: A device goes to one claim at a time: step 1, allocate mine on node-1\n    \
                  mine/gpu: expected gpu-7\n    mine/gpu: found    gpu-0";
    assert_eq!(told, wanted);
}

#[test]
fn another_outcome_than_expected_is_shown_with_its_reason() {
    let told = complaint(
        "refused: \"held: gpu.example.com/node-1/gpu-0 by default/mine\"",
        "gives: {yours/gpu: gpu-0}",
    );
    assert!(told.contains("step 3") && told.contains("found    refused: claim default/yours"), "{told}");
    let told = complaint("gives: {mine/gpu: gpu-0}", "refused: too few");
    assert!(
        told.contains("expected refused: too few") && told.contains("found    mine/gpu: gpu-0"),
        "{told}"
    );
    let told = complaint("by default/mine", "by default/others");
    assert!(told.contains("expected … held: gpu.example.com/node-1/gpu-0 by default/others …"), "{told}");
    let told = complaint("driver: gpu.example.com, device", "driver: other.example.com, device");
    assert!(
        told.contains("status.allocation.devices.results[0].driver: expected \"other.example.com\""),
        "{told}"
    );
}

#[test]
fn what_is_pending_must_fail_and_a_mistake_is_never_pending() {
    let told = complaint("title:", "pending: not yet\ntitle:");
    assert!(told.contains("it comes out as it says now; hint: take out `pending: not yet`"), "{told}");
    let pending =
        format!("pending: not yet\n{}", example().replacen("mine/gpu: gpu-0", "mine/gpu: gpu-7", 1));
    let outcomes = verdicts("f.yaml", &pending).expect("the example is a scenario");
    assert!(matches!(outcomes[0].verdict, Verdict::Pending { .. }), "{outcomes:?}");
    let mistaken = format!("pending: not yet\n{}", example().replacen("release: mine", "release: nobody", 1));
    let outcomes = verdicts("f.yaml", &mistaken).expect("the example is a scenario");
    assert!(matches!(&outcomes[0].verdict, Verdict::Failed(failure) if failure.fault == Fault::Scenario));
}

#[test]
fn a_scenario_in_which_nothing_happens_is_an_error() {
    let text = "title: t\ngiven: []\nsteps: []\n";
    assert!(read("f.yaml", text).is_err_and(|failure| failure.what == "a scenario without steps"));
    let text = "title: t\ngiven: []\nscenarios: []\n";
    assert!(read("f.yaml", text).is_err_and(|failure| failure.what == "there is no scenario"));
}

#[test]
fn a_folder_without_scenarios_is_an_error() {
    let empty = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-scenarios");
    fs::create_dir_all(&empty).expect("the test directory is writable");
    let told = files(&empty).expect_err("there are none").to_string();
    assert!(told.ends_with("has no scenarios; hint: they are files that end in .yaml"), "{told}");
}
