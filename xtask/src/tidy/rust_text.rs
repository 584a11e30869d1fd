//! Just enough of Rust's lexical rules to tell code from comments and from text in quotes.
//!
//! Both views keep the line structure of the file, so a position in a view is a position in the file.

#[derive(Clone, Copy, Eq, PartialEq)]
enum Part {
    Code,
    Comment,
    Quoted,
}

/// The file with comments and the inside of literals blanked out.
pub(crate) fn code_only(text: &str) -> String {
    keep(text, Part::Code)
}

/// The file with everything but comments blanked out.
pub(crate) fn comments_only(text: &str) -> String {
    keep(text, Part::Comment)
}

/// A string literal with the line, counted from 1, on which it begins, and the function or macro that it is an argument of.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Literal {
    pub(crate) line: usize,
    pub(crate) caller: String,
    /// As it is written, with escapes and without quotes.
    pub(crate) text: String,
}

/// The string literals of the file.
pub(crate) fn literals(text: &str) -> Vec<Literal> {
    let chars: Vec<char> = text.chars().collect();
    let (mut literals, mut callers, mut word) = (Vec::new(), Vec::new(), String::new());
    let (mut at, mut line) = (0, 1);
    while at < chars.len() {
        let (part, end) = next_part(&chars, at);
        let here: String = chars[at..end].iter().collect();
        match part {
            Part::Quoted if !here.ends_with('\'') => {
                let caller = callers.last().cloned().unwrap_or_default();
                let text = here.trim_start_matches(['b', 'c', 'r', '#']).trim_end_matches('#');
                literals.push(Literal { line, caller, text: text.trim_matches('"').to_owned() });
            }
            Part::Code => match chars[at] {
                '(' | '[' | '{' => callers.push(std::mem::take(&mut word)),
                ')' | ']' | '}' => {
                    callers.pop();
                    word.clear();
                }
                '!' => {}
                char if is_word(char) => word.push_str(&here),
                _ => word.clear(),
            },
            Part::Quoted | Part::Comment => {}
        }
        line += here.matches('\n').count();
        at = end;
    }
    literals
}

fn keep(text: &str, wanted: Part) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut view = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let (part, end) = next_part(&chars, at);
        let shown = |char: &char| if part == wanted || *char == '\n' { *char } else { ' ' };
        view.extend(chars[at..end].iter().map(shown));
        at = end;
    }
    view
}

/// The part that begins at `at`, and where it ends.
fn next_part(chars: &[char], at: usize) -> (Part, usize) {
    let rest = &chars[at..];
    let after_word = at > 0 && is_word(chars[at - 1]);
    let (part, length) = match rest {
        ['/', '/', ..] => (Part::Comment, rest.iter().position(|char| *char == '\n').unwrap_or(rest.len())),
        ['/', '*', ..] => (Part::Comment, block_comment(rest)),
        ['"', ..] => (Part::Quoted, quoted(rest, 0, '"')),
        ['b' | 'c', '"', ..] if !after_word => (Part::Quoted, quoted(rest, 1, '"')),
        ['b', '\'', ..] if !after_word => (Part::Quoted, quoted(rest, 1, '\'')),
        ['r', '"' | '#', ..] if !after_word => raw(rest, 1),
        ['b' | 'c', 'r', '"' | '#', ..] if !after_word => raw(rest, 2),
        ['\'', '\\', ..] => (Part::Quoted, quoted(rest, 0, '\'')),
        ['\'', _, '\'', ..] => (Part::Quoted, 3),
        _ => (Part::Code, 1),
    };
    (part, at + length)
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The length of a literal whose opening quote stands at `open`, with backslash escapes.
fn quoted(rest: &[char], open: usize, quote: char) -> usize {
    let mut at = open + 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            char if char == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A raw string, whose hashes begin at `open`; or a raw identifier such as `r#type`, which is code.
fn raw(rest: &[char], open: usize) -> (Part, usize) {
    let hashes = rest[open..].iter().take_while(|char| **char == '#').count();
    if rest.get(open + hashes) != Some(&'"') {
        let name = rest[open + hashes..].iter().take_while(|char| is_word(**char)).count();
        return (Part::Code, open + hashes + name);
    }
    let mut at = open + hashes + 1;
    while at < rest.len() {
        let closes = rest[at] == '"'
            && rest[at + 1..].iter().take(hashes).filter(|char| **char == '#').count() == hashes;
        if closes {
            return (Part::Quoted, at + 1 + hashes);
        }
        at += 1;
    }
    (Part::Quoted, rest.len())
}

#[cfg(test)]
mod tests {
    use super::{code_only, comments_only, literals};

    /// The view with runs of blanks made one, so that cases stay readable.
    fn code(text: &str) -> String {
        code_only(text).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_quoted_text_are_not_code() {
        assert_eq!(code("a // b\nc"), "a c");
        assert_eq!(code("a /* b /* c */ d */ e"), "a e");
        assert_eq!(code(r#"f("x \" // y", b"z") + g"#), "f( , ) + g");
        assert_eq!(code("f(r#\"a \" b\"#, br\"c\\\") + g"), "f( , ) + g");
    }

    #[test]
    fn literals_know_their_line_and_their_caller() {
        let text = "f(\n  \"a \\\"b\", 'c', x) // \"d\"\nassert!(g(1), r#\"e \"f\"#)";
        let found: Vec<_> =
            literals(text).into_iter().map(|found| (found.line, found.caller, found.text)).collect();
        let expected = [(2, "f", "a \\\"b"), (3, "assert", "e \"f")];
        assert_eq!(found, expected.map(|(line, caller, text)| (line, caller.to_owned(), text.to_owned())));
    }

    #[test]
    fn lifetimes_and_characters_are_told_apart() {
        assert_eq!(
            code("fn f<'a>(x: &'a str) { '\"'; '\\''; b'\"'; x }"),
            "fn f<'a>(x: &'a str) { ; ; ; x }"
        );
    }

    #[test]
    fn raw_identifiers_are_code() {
        assert_eq!(code("let r#type = var\"s\";"), "let r#type = var ;");
    }

    #[test]
    fn lines_stay_where_they_are() {
        assert_eq!(code_only("\"a\nb\"\nc").lines().nth(2), Some("c"));
        assert_eq!(comments_only("x // y\nz").lines().next(), Some("  // y"));
    }

    #[test]
    fn an_unfinished_literal_ends_with_the_file() {
        assert_eq!(code("a \"b\\"), "a");
        assert_eq!(code("a r#\"b\""), "a");
        assert_eq!(code("a /* b"), "a");
    }
}
