//! Dashboards and alerts in `deploy/` name metrics that our parts export, and labels that these metrics have.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use telemetry::metrics::{ControllerMetrics, Exposition, Metrics, NodeMetrics};

fn deploy() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("the crate lies two folders deep").join("deploy")
}

/// The metrics of all parts with their types.
fn exported() -> BTreeMap<String, String> {
    let texts =
        [Metrics::default().text(), ControllerMetrics::default().text(), NodeMetrics::default().text()];
    let line = |line: &str| {
        let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
        Some((name.to_owned(), kind.to_owned()))
    };
    texts.iter().flat_map(|text| text.lines()).filter_map(line).collect()
}

/// Every expression of alerts and dashboards, with its place.
fn expressions() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in ["alerts", "dashboards"] {
        for file in fs::read_dir(deploy().join(folder)).expect("the folder is there") {
            let path = file.expect("an entry can be read").path();
            let text = fs::read_to_string(&path).expect("a file can be read");
            // JSON is YAML, too.
            let document: Value =
                serde_saphyr::from_str(&text).unwrap_or_else(|error| unreachable!("{path:?}: {error}"));
            collect(&document, &path.display().to_string(), &mut found);
        }
    }
    found
}

fn collect(value: &Value, place: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("expr", Value::String(expression)) => found.push((place.to_owned(), expression.clone())),
                    _ => collect(value, place, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, place, found)),
        _ => {}
    }
}

/// The names of metrics in an expression: words with an underscore, outside of braces, quotes and brackets.
fn names(expression: &str) -> BTreeSet<String> {
    let (mut names, mut word, mut depth) = (BTreeSet::new(), String::new(), 0_i32);
    let mut listed = 0_i32;
    for char in expression.chars().chain([' ']) {
        if char.is_ascii_alphanumeric() || char == '_' || char == '$' {
            word.push(char);
            continue;
        }
        let is_grouping = matches!(&*word, "by" | "le");
        if word.contains('_')
            && !word.starts_with('$')
            && depth == 0
            && listed == 0
            && word != "histogram_quantile"
        {
            names.insert(word.clone());
        }
        let begins_list = word == "by" || (char == '(' && listed < 0);
        word.clear();
        match char {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            // What follows `by` are labels.
            '(' if begins_list => listed = 1,
            ')' if listed == 1 => listed = 0,
            ' ' if is_grouping && begins_list => listed = -1,
            _ => {}
        }
    }
    names
}

#[test]
fn names_are_found_in_expressions() {
    let found = |text| names(text).into_iter().collect::<Vec<String>>();
    assert_eq!(
        found("sum by (api_kind, le) (rate(a_b_total{c_d=\"e_f\"}[$__rate_interval])) / g_h > 1"),
        ["a_b_total", "g_h"]
    );
    assert_eq!(found("histogram_quantile(0.99, sum by (le, x_y) (rate(a_bucket[5m]))) > 0"), ["a_bucket"]);
}

#[test]
fn every_metric_of_alerts_and_dashboards_is_exported() {
    let exported = exported();
    let expressions = expressions();
    assert!(expressions.len() > 40, "{}", expressions.len());
    for (place, expression) in expressions {
        let names = names(&expression);
        assert!(!names.is_empty(), "{place}: {expression} names no metric");
        for name in names {
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| {
                let base = name.strip_suffix(suffix)?;
                (exported.get(base)? == "histogram").then(|| base.to_owned())
            });
            let is_plain = exported.get(&name).is_some_and(|kind| kind != "histogram");
            assert!(is_plain || base.is_some(), "{place}: nothing exports {name}");
        }
    }
}
