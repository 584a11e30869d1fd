//! The marker by which a file or a name is excused from a rule, always with a reason.
//!
//! The form is `tidy: allow(<rule>): <reason>` in a comment. Two rules can be excused:
//! - `length`, in the first ten lines of a file: generated code, or a table of test cases;
//! - `name`, on the line of the name or the one above it: a name that others chose, on the wire or in a trait.

use super::rust_text::comments_only;
use super::tree::Tree;
use super::violation::Violation;

/// How far into a file the marker for its length may stand.
const HEAD_LINES: usize = 10;

/// A rule that can be excused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Rule {
    Length,
    Name,
}

/// The lines, counted from 1, on which `rule` is excused.
fn marked_lines(text: &str, rule: Rule) -> impl Iterator<Item = usize> {
    let markers = text.lines().enumerate().filter_map(|(index, line)| Some((index + 1, parse(line)?)));
    markers
        .filter(move |(_, parsed)| *parsed == Ok(rule))
        .map(|(line, _)| line)
        .collect::<Vec<_>>()
        .into_iter()
}

/// Whether the whole file may be longer than the limit.
pub(crate) fn excuses_length(text: &str) -> bool {
    marked_lines(text, Rule::Length).any(|line| line <= HEAD_LINES)
}

/// Whether the name on `line` is excused.
pub(crate) fn excuses_name(text: &str, line: usize) -> bool {
    marked_lines(text, Rule::Name).any(|marked| marked == line || marked + 1 == line)
}

/// Markers that excuse nothing are violations themselves: a slip of the pen must not look like an excuse.
pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.rust() {
        for (index, line) in comments_only(text).lines().enumerate() {
            let problem = match parse(line) {
                Some(Err(problem)) => problem,
                Some(Ok(Rule::Length)) if index >= HEAD_LINES => {
                    "the marker for a file's length stands too far down".to_owned()
                }
                _ => continue,
            };
            let hint = "write `tidy: allow(length): reason` in the head of the file, or `tidy: allow(name): reason` \
                        at the name";
            violations.push(Violation::new(path, index + 1, problem, hint));
        }
    }
    violations
}

/// A marker in this line, if any: the rule it excuses, or what is wrong with it.
fn parse(line: &str) -> Option<Result<Rule, String>> {
    let comment = line.trim_start();
    let comment =
        comment.strip_prefix("//!").or_else(|| line.split_once("// ").map(|(_, comment)| comment))?;
    let rest = comment.trim_start().strip_prefix("tidy: allow(")?;
    let Some((rule, reason)) = rest.split_once(')') else {
        return Some(Err("the marker is not closed".to_owned()));
    };
    if reason.strip_prefix(':').is_none_or(|reason| reason.trim().is_empty()) {
        return Some(Err("the marker gives no reason".to_owned()));
    }
    Some(match rule {
        "length" => Ok(Rule::Length),
        "name" => Ok(Rule::Name),
        other => Err(format!("the rule `{other}` cannot be excused")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrongs(text: &str) -> Vec<String> {
        let violations = check(&Tree::of(&[("core/model/src/lib.rs", text)]));
        violations.into_iter().map(|violation| violation.wrong).collect()
    }

    #[test]
    fn a_reason_is_required() {
        assert_eq!(wrongs("//! tidy: allow(length)"), ["the marker gives no reason"]);
        assert_eq!(wrongs("//! tidy: allow(length): "), ["the marker gives no reason"]);
        assert!(wrongs("//! tidy: allow(length): a table of cases").is_empty());
    }

    #[test]
    fn only_known_rules_can_be_excused() {
        assert_eq!(wrongs("// tidy: allow(docs): no"), ["the rule `docs` cannot be excused"]);
        assert_eq!(wrongs("// tidy: allow(docs"), ["the marker is not closed"]);
    }

    #[test]
    fn length_is_excused_from_the_head_of_the_file_only() {
        let marker = "// tidy: allow(length): generated\n";
        assert!(excuses_length(marker));
        let late = "\n".repeat(HEAD_LINES) + marker;
        assert!(!excuses_length(&late));
        assert_eq!(wrongs(&late), ["the marker for a file's length stands too far down"]);
    }

    #[test]
    fn a_name_is_excused_from_its_own_line_or_the_one_above() {
        let text = "// tidy: allow(name): the wire's word\nstruct NodeInfo;\nstruct PodInfo; // tidy: allow(name): too\n\n";
        assert!(excuses_name(text, 2) && excuses_name(text, 3));
        assert!(!excuses_name(text, 5));
    }
}
