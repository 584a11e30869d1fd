//! The chart in `deploy/chart` belongs to this program: its CustomResourceDefinitions, versions, flags, controllers and kinds are those of
//! the program. Nothing here needs helm; `cargo xtask manifests --check` compares what helm makes of the chart.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use convert::followed::FOLLOWED;
use gates::Gate;
use serde_json::Value;

/// Verbs by group and resource.
type Rights = BTreeMap<(String, String), BTreeSet<String>>;

fn deploy() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("the crate lies two folders deep").join("deploy")
}

fn text(path: &str) -> String {
    fs::read_to_string(deploy().join(path)).unwrap_or_else(|error| unreachable!("deploy/{path}: {error}"))
}

fn documents(path: &str) -> Vec<Value> {
    let documents = serde_saphyr::from_multiple(&text(path));
    let documents: Vec<Value> = documents.unwrap_or_else(|error| unreachable!("deploy/{path}: {error}"));
    documents.into_iter().filter(|document| !document.is_null()).collect()
}

fn answer(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_supercargo")).args(arguments).output();
    let output = output.expect("the binary was built for this test");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("the answer is text")
}

fn words(value: &Value) -> Vec<String> {
    let words = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    words.map(str::to_owned).collect()
}

/// What rules allow, those for single objects aside.
fn rights<'a>(rules: impl IntoIterator<Item = &'a Value>) -> Rights {
    let mut rights = Rights::new();
    for rule in rules.into_iter().filter(|rule| rule["resourceNames"].is_null()) {
        for group in words(&rule["apiGroups"]) {
            for resource in words(&rule["resources"]) {
                rights.entry((group.clone(), resource)).or_default().extend(words(&rule["verbs"]));
            }
        }
    }
    rights
}

/// The rules of a part by what they are for.
fn sources(part: &str) -> BTreeMap<String, Vec<Value>> {
    let document = documents(&format!("chart/files/roles/{part}.yaml")).remove(0);
    let object = document.as_object().expect("a source of rules is an object");
    let rules = |rules: &Value| rules.as_array().expect("each key is a list of rules").clone();
    object.iter().map(|(key, list)| (key.clone(), rules(list))).collect()
}

#[test]
fn the_chart_has_the_definitions_of_our_kinds() {
    let hint = "hint: supercargo crds > deploy/chart/files/crds.yaml";
    assert!(
        text("chart/files/crds.yaml") == answer(&["crds"]),
        "the chart's definitions are not ours; {hint}"
    );
}

#[test]
fn the_versions_of_the_chart_are_those_of_the_program() {
    let chart = &documents("chart/Chart.yaml")[0];
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn each_controller_has_its_rules() {
    let mut expected: BTreeSet<String> =
        answer(&["controllers", "--list"]).lines().map(str::to_owned).collect();
    expected.insert("always".to_owned());
    assert_eq!(sources("controllers").into_keys().collect::<BTreeSet<String>>(), expected);
}

#[test]
fn the_scheduler_reads_the_kinds_that_it_follows_and_no_others() {
    let sources = sources("scheduler");
    let reads = |key: &str| -> BTreeSet<(String, String)> {
        let rights = rights(&sources[key]);
        for (resource, verbs) in &rights {
            assert_eq!(*verbs, ["list", "watch"].map(str::to_owned).into(), "{key}: {resource:?}");
        }
        rights.into_keys().collect()
    };
    let followed = |negotiates: bool| -> BTreeSet<(String, String)> {
        let rows =
            FOLLOWED.iter().filter(|row| (row.gate == Some(Gate::DRAControlPlaneController)) == negotiates);
        let group = |version: &str| version.split_once('/').map_or("", |(group, _)| group).to_owned();
        rows.map(|row| (group(row.api_version), row.plural.to_owned())).collect()
    };
    assert_eq!(reads("reads"), followed(false));
    assert_eq!(reads("negotiationReads"), followed(true));
}

#[test]
fn the_plain_manifests_have_the_rules_of_the_chart() {
    for (part, manifest) in [
        ("scheduler", "scheduler.yaml"),
        ("controllers", "controllers.yaml"),
        ("fabric", "fabric.yaml"),
        ("node", "node.yaml"),
        ("driver-controller", "driver-controller.yaml"),
    ] {
        let mut sources = sources(part);
        // These hold in one namespace only.
        sources.remove("nodeLeases");
        let expected = rights(sources.values().flatten());
        let manifest_objects = documents(manifest);
        let role = manifest_objects.iter().find(|object| object["kind"] == "ClusterRole");
        let role = role.unwrap_or_else(|| panic!("deploy/{manifest} has no role"));
        let found = rights(role["rules"].as_array().expect("a role has rules"));
        assert_eq!(found, expected, "deploy/{manifest}; hint: `cargo xtask manifests` with helm writes it");
    }
}

#[test]
fn no_rule_allows_everything_of_something() {
    for part in ["scheduler", "controllers", "fabric", "node", "driver-controller"] {
        let rules = sources(part);
        for rule in rules.values().flatten() {
            assert!(!rule.to_string().contains('*'), "{part}: {rule}");
        }
        let rights = rights(rules.values().flatten());
        assert!(!rights.contains_key(&(String::new(), "secrets".to_owned())), "{part} reads secrets");
    }
}

/// The flags of a text, as they are written in it.
fn flags(text: &str) -> BTreeSet<&str> {
    let is_end = |char: char| !(char.is_ascii_lowercase() || char == '-');
    let after = text.split("--").skip(1).filter_map(|rest| rest.split(is_end).next());
    after.filter(|flag| flag.len() > 1 && !flag.starts_with('-')).collect()
}

#[test]
fn the_flags_in_the_chart_exist() {
    let common = text("chart/templates/_workload.tpl");
    for part in ["scheduler", "controllers", "fabric", "node"] {
        let template = text(&format!("chart/templates/{part}.yaml"));
        let (help, lines) = (answer(&[part, "--help"]), template.lines().chain(common.lines()));
        let help = flags(&help);
        let lines: Vec<&str> =
            lines.filter(|line| line.contains("$args") || line.trim_start().starts_with("- --")).collect();
        let used = flags(&lines.join("\n")).into_iter().map(str::to_owned).collect::<BTreeSet<String>>();
        assert!(used.len() > 3, "{part}: {used:?}");
        for flag in used {
            assert!(help.contains(&*flag) || flag == "v", "{part} has no flag --{flag}");
        }
    }
}

#[test]
fn a_flag_that_is_not_there_would_be_noticed() {
    assert_eq!(
        flags("- --secure-port={{ x }} printf \"--leader-elect\""),
        ["secure-port", "leader-elect"].into()
    );
}
