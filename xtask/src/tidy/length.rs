//! Files stay short enough to read in one sitting.
//!
//! Generated code and tables of test cases are excused by a marker in the head of the file; see `allowances`.

use super::allowances::excuses_length;
use super::tree::Tree;
use super::violation::Violation;

const RUST_LINES_MAX: usize = 600;
const ARCHITECTURE: &str = "ARCHITECTURE.md";
const ARCHITECTURE_LINES_MAX: usize = 250;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.rust() {
        let lines = text.lines().count();
        if lines > RUST_LINES_MAX && !excuses_length(text) {
            violations.push(Violation::new(
                path,
                RUST_LINES_MAX + 1,
                format!("the file has {lines} lines, at most {RUST_LINES_MAX} are allowed"),
                "split it by purpose; generated code and test tables say so with `tidy: allow(length): reason`",
            ));
        }
    }
    let lines = tree.text(ARCHITECTURE).map_or(0, |text| text.lines().count());
    if lines > ARCHITECTURE_LINES_MAX {
        violations.push(Violation::new(
            ARCHITECTURE,
            ARCHITECTURE_LINES_MAX + 1,
            format!("the map has {lines} lines, at most {ARCHITECTURE_LINES_MAX} are allowed"),
            "move detail into the crate it is about",
        ));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrongs(path: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|violation| violation.wrong).collect()
    }

    #[test]
    fn a_file_of_601_lines_is_too_long() {
        assert!(wrongs("core/model/src/lib.rs", &"//\n".repeat(600)).is_empty());
        let found = wrongs("core/model/src/lib.rs", &"//\n".repeat(601));
        assert_eq!(found, ["the file has 601 lines, at most 600 are allowed"]);
    }

    #[test]
    fn a_table_of_cases_may_be_longer_when_it_says_so() {
        let text = format!("//! tidy: allow(length): a table of cases\n{}", "//\n".repeat(900));
        assert!(wrongs("core/model/tests/table.rs", &text).is_empty());
    }

    #[test]
    fn the_map_stays_short() {
        let found = wrongs("ARCHITECTURE.md", &"\n".repeat(251));
        assert_eq!(found, ["the map has 251 lines, at most 250 are allowed"]);
        assert!(wrongs("docs/glossary.md", &"\n".repeat(251)).is_empty());
    }
}
