//! The page about reason codes is what the code says.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use decisions::event_reasons;
use decisions::reason::Reason;
use explain::{Constraint, Edit};
use inventory::devices::DeviceState;
use model::code::Code;

const HEAD: &str = "\
# Reason codes

Every reason why a pod waits has a code: one word that stays the same in all versions, while messages may change. This page is made
from the code; `REGENERATE=1 cargo test -p supercargo --test suite reasons` updates it.

Codes are in

- `supercargo explain`, after the name of the pod and in brackets, and in its JSON as `reasons`, `reason` and `code`;
- the metric `supercargo_scheduler_waiting_pods`, as the label `reason`;
- the log of the scheduler, as `reasons` of a pod that has no place (level debug).

Events and conditions have the reasons that Kubernetes gives them, such as `FailedScheduling` and `Unschedulable`, so that tools that
look for these find them. Their message is the first line of `supercargo explain`.
";

/// A section with a table of codes.
fn section(page: &mut String, title: &str, about: &str, codes: &[Code]) {
    let _ = write!(page, "\n## {title}\n\n");
    if !about.is_empty() {
        let _ = write!(page, "{about}\n\n");
    }
    page.push_str("| code | what it means | what to do |\n|---|---|---|\n");
    for Code { name, meaning, advice } in codes {
        let _ = writeln!(page, "| `{name}` | {meaning} | {advice} |");
    }
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let about = "`SchedulingGated` is set by the API server.";
    section(&mut page, "Events and conditions of pods", about, &event_reasons::ALL);
    for (title, codes) in Reason::catalogue() {
        section(&mut page, title, "", &codes);
    }
    let about = "In `supercargo explain`, what a pod or group asks for and what is in its way.";
    section(&mut page, "Constraints", about, Constraint::catalogue());
    let about = "In `supercargo explain`, what would help.";
    section(&mut page, "Changes", about, Edit::catalogue());
    section(&mut page, "States of devices", "In `supercargo devices -o json`.", DeviceState::catalogue());
    page
}

#[test]
fn the_page_about_reasons_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reasons.md");
    let made = page();
    if env::var_os("REGENERATE").is_some() {
        fs::write(&path, &made).expect("the folder can be written to");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let hint = "hint: REGENERATE=1 cargo test -p supercargo --test suite reasons";
    assert!(committed == made, "docs/reasons.md is not what the code says; {hint}");
}

#[test]
fn every_code_has_a_meaning_and_advice_and_cells_keep_to_their_table() {
    for line in page().lines().filter(|line| line.starts_with("| `")) {
        assert_eq!(line.matches(" | ").count(), 2, "{line}");
        assert!(!line.contains("|  |"), "{line}");
    }
}
