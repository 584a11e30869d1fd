//! Texts that users read do without the phrases that `docs/writing.md` lists.
//!
//! Looked at are documents (but not their code spans and commands), help texts, and string literals of code that is not a test.
//! Messages of assertions are for us, and may use our own words.

use super::markdown::{Place, code_spans, lines};
use super::rust_text::{Literal, literals};
use super::tree::Tree;
use super::violation::Violation;

const LIST: &str = "docs/writing.md";

/// The heading above the table of the list.
const HEADING: &str = "## Refused phrases";

/// Documents besides those in `docs`, and the folders below which a README is for users.
const DOCUMENTS: [&str; 2] = ["README.md", "CHANGELOG.md"];
const FOLDERS: [&str; 3] = ["docs/", "examples/", "deploy/"];

/// Documents about the code, which use the words of the code.
const ABOUT_CODE: [&str; 3] = ["docs/decisions/", "docs/glossary.md", LIST];

/// Rooms whose string literals users read.
const ROOMS: [&str; 4] = ["api/", "core/", "edge/", "apps/"];

/// What takes a message that no user reads.
const ASSERTIONS: [&str; 10] = [
    "expect",
    "expect_err",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "panic",
    "unreachable",
];

/// A phrase in lower case, and what to write instead.
struct Phrase {
    text: String,
    instead: String,
}

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let phrases = phrases(tree.text(LIST).unwrap_or_default());
    if phrases.is_empty() {
        let wrong = format!("there is no phrase below `{HEADING}`");
        return vec![Violation::new(LIST, 1, wrong, "keep the table of refused phrases")];
    }
    let mut violations = Vec::new();
    for (path, text) in tree.markdown().filter(|(path, _)| is_for_users(path)) {
        let prose = prose(text);
        for (index, (number, line)) in prose.iter().enumerate() {
            let next = prose.get(index + 1).filter(|(next, _)| next == &(number + 1));
            let both = format!("{line} {}", next.map(|(_, text)| text.as_str()).unwrap_or_default());
            violations.extend(find(&phrases, &both, line.len()).map(|phrase| report(path, *number, phrase)));
        }
    }
    for (path, text) in tree.rust().filter(|(path, _)| is_code(path)) {
        let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
        for literal in literals(text).iter().filter(|literal| is_read(literal)) {
            let shown = shown(&literal.text);
            violations
                .extend(find(&phrases, &shown, shown.len()).map(|phrase| report(path, literal.line, phrase)));
        }
        // Clap makes help texts of the comments of arguments.
        for (index, line) in text.lines().enumerate().filter(|_| path.starts_with("apps/")) {
            if let Some(comment) = line.trim_start().strip_prefix("///") {
                let comment = comment.to_owned();
                let found = find(&phrases, &comment, comment.len());
                violations.extend(found.map(|phrase| report(path, index + 1, phrase)));
            }
        }
    }
    violations
}

fn report(path: &str, line: usize, phrase: &Phrase) -> Violation {
    let wrong = format!("`{}` is not the word of the field in a text for users", phrase.text);
    Violation::new(path, line, wrong, format!("write: {}; {LIST} has the list", phrase.instead))
}

/// The rows of the table: phrases in code spans in the first column, advice in the second.
fn phrases(list: &str) -> Vec<Phrase> {
    let (_, table) = list.split_once(HEADING).unwrap_or_default();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.flat_map(|row| {
        let mut cells = row.trim_matches('|').split('|');
        let phrases = code_spans(cells.next().unwrap_or_default());
        let instead = cells.next().unwrap_or_default().trim().to_owned();
        phrases
            .into_iter()
            .map(move |text| Phrase { text: text.to_lowercase(), instead: instead.clone() })
            .collect::<Vec<_>>()
    })
    .collect()
}

fn is_for_users(path: &str) -> bool {
    let is_readme = path.ends_with("/README.md") || path.starts_with("docs/");
    let is_ours = DOCUMENTS.contains(&path) || is_readme && FOLDERS.iter().any(|root| path.starts_with(root));
    is_ours && !ABOUT_CODE.iter().any(|root| path.starts_with(root))
}

fn is_code(path: &str) -> bool {
    let is_test = ["/tests/", "/benches/", "/generated/"].iter().any(|part| path.contains(part));
    ROOMS.iter().any(|room| path.starts_with(room)) && !is_test && !path.ends_with("/tests.rs")
}

/// Whether users can read the literal: one word alone is a name.
fn is_read(literal: &Literal) -> bool {
    literal.text.contains(' ') && !ASSERTIONS.contains(&literal.caller.as_str())
}

/// The lines of a document without code spans, commands and code.
fn prose(text: &str) -> Vec<(usize, String)> {
    let is_read = |place: &Place, text: &str| match place {
        Place::Prose => true,
        Place::Fenced(language) => ["text", "console"].contains(&language.as_str()) && !text.starts_with('$'),
    };
    let lines = lines(text).into_iter().filter(|line| is_read(&line.place, line.text));
    lines.map(|line| (line.number, line.text.split('`').step_by(2).collect::<Vec<_>>().join("`"))).collect()
}

/// A literal as users see it, without what is filled in.
fn shown(literal: &str) -> String {
    let mut shown = String::new();
    let mut rest = literal;
    while let Some((before, after)) = rest.split_once('{') {
        shown.push_str(before);
        shown.push_str("{}");
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    shown.push_str(rest);
    shown.replace("\\n", " ").replace("\\\n", " ")
}

/// The phrases that begin before byte `end` of the text, as whole words.
fn find<'a>(phrases: &'a [Phrase], text: &str, end: usize) -> impl Iterator<Item = &'a Phrase> {
    let head = text[..end].split_whitespace().collect::<Vec<_>>().join(" ").len();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    phrases.iter().filter(move |phrase| {
        text.match_indices(&phrase.text).any(|(at, found)| at < head && stands_alone(&text, at, found.len()))
    })
}

/// Whether what is found is no part of a longer word, a path or a file name.
fn stands_alone(text: &str, at: usize, length: usize) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || "_-/".contains(char);
    let mut after = text[at + length..].chars();
    let continues = match after.next() {
        Some('.') => after.next().is_some_and(char::is_alphanumeric),
        Some(char) => is_part(char),
        None => false,
    };
    !continues && !text[..at].ends_with(|char: char| is_part(char) || char == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# Words\n`room`\n## Refused phrases\n| Phrase | Instead |\n|---|---|\n\
                         | `room` | capacity |\n| `is tried again`, `anew` | is retried |\n";

    fn wrongs(path: &str, text: &str) -> Vec<(usize, String)> {
        let violations = check(&Tree::of(&[(LIST, TABLE), (path, text)]));
        let phrase = |wrong: String| wrong.split('`').nth(1).unwrap_or_default().to_owned();
        violations.into_iter().map(|violation| (violation.line, phrase(violation.wrong))).collect()
    }

    #[test]
    fn phrases_are_found_in_prose_also_across_lines() {
        assert_eq!(wrongs("README.md", "A\nNo Room here."), [(2, "room".to_owned())]);
        assert_eq!(wrongs("docs/guides/a.md", "It is\ntried again."), [(1, "is tried again".to_owned())]);
        assert_eq!(wrongs("docs/a.md", "```text\nroom\n```"), [(2, "room".to_owned())]);
    }

    #[test]
    fn code_spans_commands_and_documents_about_the_code_are_free() {
        assert!(wrongs("README.md", "`room` rooms a/room.yaml room.yaml\n```sh\nroom\n```").is_empty());
        assert!(wrongs("README.md", "```console\n$ room\n```").is_empty());
        assert!(wrongs("ARCHITECTURE.md", "room").is_empty());
        assert!(wrongs("docs/glossary.md", "room").is_empty());
    }

    #[test]
    fn messages_are_looked_at_and_assertions_are_not() {
        let text =
            "fn f() {\n    g(\"no room\");\n    assert!(x, \"no room\");\n    y.expect(\"no room\")\n}";
        assert_eq!(wrongs("core/model/src/a.rs", text), [(2, "room".to_owned())]);
        assert!(wrongs("core/model/src/a.rs", "let a = \"in {room}\";\nlet b = \"room\";").is_empty());
        assert!(wrongs("core/model/src/a.rs", "\n#[cfg(test)]\nmod tests {\n\"no room\"").is_empty());
        assert!(wrongs("core/model/tests/a.rs", "\"no room\"").is_empty());
        assert_eq!(wrongs("apps/a/src/a.rs", "/// What is done anew"), [(1, "anew".to_owned())]);
    }

    #[test]
    fn a_list_without_phrases_is_a_mistake() {
        let found = check(&Tree::of(&[(LIST, "# Words\n")]));
        assert_eq!(found.len(), 1);
    }
}
