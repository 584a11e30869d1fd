//! Nothing unfinished and nothing about one machine stays behind.

use super::rust_text::code_only;
use super::tree::Tree;
use super::violation::Violation;

/// Written in two halves, so that this file does not find itself.
const REMINDER: &str = concat!("FIX", "ME");
const UNFINISHED: &str = concat!("todo", "!");

/// Places that exist on the author's machine only.
const MACHINE_PATHS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.texts() {
        let code = if path.ends_with(".rs") { code_only(text) } else { String::new() };
        let mut code_lines = code.lines();
        for (index, line) in text.lines().enumerate() {
            let code_line = code_lines.next().unwrap_or_default();
            let mut report = |wrong: String, hint: &str| {
                violations.push(Violation::new(path, index + 1, wrong, hint));
            };
            if !path.ends_with(".md") && line.contains(REMINDER) {
                report(format!("`{REMINDER}` was left behind"), "do it now, or open an issue");
            }
            if has_word(code_line, UNFINISHED) {
                report(
                    format!("`{UNFINISHED}` was left behind"),
                    "finish it, or return an error that says what is missing",
                );
            }
            if let Some(place) = MACHINE_PATHS.iter().find(|place| mentions_place(line, place)) {
                report(format!("`{place}` is a place on one machine"), "use a path from the workspace root");
            }
        }
    }
    violations
}

fn has_word(line: &str, word: &str) -> bool {
    let begins = |at: usize| !line[..at].ends_with(|char: char| char.is_alphanumeric() || char == '_');
    line.match_indices(word).any(|(at, _)| begins(at))
}

/// Whether the line names the place as an absolute path and not as the middle of another path or address.
fn mentions_place(line: &str, place: &str) -> bool {
    let begins =
        |at: usize| !line[..at].ends_with(|char: char| char.is_alphanumeric() || "_-.~*>}".contains(char));
    line.match_indices(place).any(|(at, _)| begins(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrongs(path: &str, text: &str) -> Vec<(usize, String)> {
        let violations = check(&Tree::of(&[(path, text)]));
        violations.into_iter().map(|violation| (violation.line, violation.wrong)).collect()
    }

    #[test]
    fn unfinished_code_is_found_but_not_talk_about_it() {
        let found = wrongs("core/model/src/lib.rs", &format!("\nfn f() {{ {UNFINISHED}() }}"));
        assert_eq!(found, [(2, format!("`{UNFINISHED}` was left behind"))]);
        assert!(wrongs("core/model/src/lib.rs", &format!("//! Never {UNFINISHED} here")).is_empty());
        assert!(wrongs("core/model/src/lib.rs", &format!("my_{UNFINISHED}()")).is_empty());
    }

    #[test]
    fn reminders_are_found_in_comments_and_scripts() {
        let expected = [(1, format!("`{REMINDER}` was left behind"))];
        assert_eq!(wrongs("core/model/src/lib.rs", &format!("// {REMINDER} later")), expected);
        assert_eq!(wrongs(".ci/run", &format!("# {REMINDER} later")), expected);
        assert!(wrongs("CONTRIBUTING.md", &format!("no {REMINDER} please")).is_empty());
    }

    #[test]
    fn places_on_one_machine_are_found() {
        for place in MACHINE_PATHS {
            let expected = [(1, format!("`{place}` is a place on one machine"))];
            assert_eq!(wrongs("README.md", &format!("see `{place}main`")), expected);
            assert_eq!(wrongs("core/model/src/lib.rs", &format!("let a = \"{place}b\";")), expected);
            assert!(wrongs("README.md", &format!("see docs{place}main")).is_empty());
        }
    }
}
