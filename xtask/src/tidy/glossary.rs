//! The glossary has every word for a state: each life cycle has a row, which names its file and all of its stages.
//!
//! In the row the stages stand in emphasis, `*Writing*`, and nothing else does: so a stage that is new, renamed or gone is noticed.

use std::collections::BTreeSet;

use super::markdown::code_spans;
use super::rust_text::code_only;
use super::tree::Tree;
use super::violation::Violation;

const GLOSSARY: &str = "docs/glossary.md";

/// Where the enum of a life cycle is called `…Stage`.
const CRATES: [&str; 3] = ["core/cluster/src/", "core/decisions/src/", "core/scheduler/src/"];

/// Life cycles whose enums are called something else.
const OTHERS: [(&str, &str); 2] =
    [("core/scheduler/src/queue/waiting.rs", "Place"), ("api/scheduling/src/protocol.rs", "State")];

/// The end of every life cycle needs no word.
const END: &str = "Over";

/// The states of a life cycle.
struct Stages {
    name: String,
    line: usize,
    variants: BTreeSet<String>,
}

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.rust().filter(|(path, _)| CRATES.iter().any(|root| path.starts_with(root))) {
        let found = stages(text, |name| name.ends_with("Stage"));
        violations.extend(found.iter().flat_map(|stages| compare(tree, path, stages)));
    }
    for (path, name) in OTHERS {
        let Some(text) = tree.text(path) else { continue };
        match &stages(text, |found| found == name)[..] {
            [] => {
                let wrong = format!("the states of a life cycle are not in an enum `{name}` any more");
                violations.push(Violation::new(path, 1, wrong, "name the enum in `glossary.rs` of tidy"));
            }
            found => violations.extend(found.iter().flat_map(|stages| compare(tree, path, stages))),
        }
    }
    violations
}

/// The enums of a file with such a name.
fn stages(text: &str, is_it: impl Fn(&str) -> bool) -> Vec<Stages> {
    let code = code_only(text);
    let lines: Vec<&str> = code.lines().collect();
    let named = |(at, line): (usize, &&str)| {
        let rest =
            line.split_once("enum ").filter(|(before, _)| before.is_empty() || before.starts_with("pub"));
        let name = rest?.1.split(|char: char| !char.is_alphanumeric()).next().unwrap_or_default();
        is_it(name).then(|| Stages {
            name: name.to_owned(),
            line: at + 1,
            variants: variants(&lines[at + 1..]),
        })
    };
    lines.iter().enumerate().filter_map(named).collect()
}

/// The variants of an enum, given the lines after its first: they alone are indented by one step and begin with a capital letter.
fn variants(lines: &[&str]) -> BTreeSet<String> {
    let body = lines.iter().take_while(|line| !line.starts_with('}'));
    let variant = |line: &&str| {
        let name = line.strip_prefix("    ").filter(|name| name.starts_with(char::is_uppercase))?;
        Some(name.split(|char: char| !char.is_alphanumeric()).next().unwrap_or_default().to_owned())
    };
    body.filter_map(variant).filter(|name| name != END).collect()
}

/// Holds the stages against the row of the glossary that names their file.
fn compare(tree: &Tree, path: &str, stages: &Stages) -> Vec<Violation> {
    let Stages { name, line, variants } = stages;
    let rows = tree.text(GLOSSARY).unwrap_or_default().lines().enumerate();
    let row = rows.filter(|(_, row)| row.starts_with('|')).find(|(_, row)| code_spans(row).contains(&path));
    let Some((at, row)) = row else {
        let hint = format!("add a row with every stage as `*Stage*`, and with the path `{path}`");
        return vec![Violation::new(path, *line, format!("the glossary has no row for `{name}`"), hint)];
    };
    let told = emphasised(row);
    let missing = variants.difference(&told).map(|variant| {
        let wrong = format!("the glossary does not say what `{variant}` of `{name}` means");
        Violation::new(
            path,
            *line,
            wrong,
            format!("add `*{variant}*` to the row of {GLOSSARY} that names this file"),
        )
    });
    let stale = told.difference(variants).map(|word| {
        let wrong = format!("`{word}` is no stage of `{name}`");
        Violation::new(
            GLOSSARY,
            at + 1,
            wrong,
            format!("name the stages as `{path}` does, and emphasise nothing else"),
        )
    });
    missing.chain(stale).collect()
}

/// The words of a row between single asterisks.
fn emphasised(row: &str) -> BTreeSet<String> {
    row.split('*').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "core/scheduler/src/life_cycles/landing.rs";
    const STAGES: &str = "/// How far.\n#[derive(Debug)]\npub(crate) enum LandingStage {\n    /// Not yet: Never.\n    Near,\n    \
                          Low {\n        /// Since.\n        since: Timestamp,\n    },\n    Down(Wheel),\n    Over,\n}\n\nenum Event {\n    Sunk,\n}\n";

    fn wrongs(text: &str, row: &str) -> Vec<String> {
        let tree = Tree::of(&[(FILE, text), (GLOSSARY, row)]);
        check(&tree)
            .into_iter()
            .map(|found| format!("{}:{}: {}", found.path, found.line, found.wrong))
            .collect()
    }

    #[test]
    fn a_stage_without_a_word_and_a_word_without_a_stage_are_found() {
        let row = format!("| word |\n| Landing | *Near*, *Low* or *Down*; `{FILE}` |");
        assert!(wrongs(STAGES, &row).is_empty());
        let without = row.replace("*Low* or *Down*", "*Low*");
        assert_eq!(
            wrongs(STAGES, &without),
            [format!("{FILE}:3: the glossary does not say what `Down` of `LandingStage` means")]
        );
        let renamed = row.replace("*Down*", "*Down* on *Earth*");
        assert_eq!(
            wrongs(STAGES, &renamed),
            [format!("{GLOSSARY}:2: `Earth` is no stage of `LandingStage`")]
        );
    }

    #[test]
    fn a_life_cycle_without_a_row_is_found() {
        assert_eq!(
            wrongs(STAGES, "no row"),
            [format!("{FILE}:3: the glossary has no row for `LandingStage`")]
        );
        assert!(wrongs("enum Landing {\n    Near,\n}\n", "").is_empty(), "it is called no stage");
    }

    #[test]
    fn the_queue_and_the_protocol_have_enums_of_other_names() {
        let (queue, _) = OTHERS[0];
        let of = |text: &str| check(&Tree::of(&[(queue, text), (GLOSSARY, "")])).remove(0).wrong;
        assert_eq!(of("enum Place {\n    Ready,\n}\n"), "the glossary has no row for `Place`");
        assert_eq!(of("enum Seat {}\n"), "the states of a life cycle are not in an enum `Place` any more");
    }
}
