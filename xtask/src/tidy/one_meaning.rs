//! One word, one meaning: words that once named a dozen types each name at most one, in the whole workspace.
//!
//! These words fit nearly everything, so that a reader has to know the file to know the type. Types of tests are not looked at, and
//! neither are variants and associated types, which are read together with the name of what they belong to.
//!
//! Other words may name a type of a module's own, which is read beside what uses it, and one public type in core at most.

use std::collections::BTreeMap;

use super::names::given_names;
use super::rust_text::code_only;
use super::tree::Tree;
use super::violation::Violation;

/// The words, as names of types.
const WORDS: [&str; 5] = ["Answer", "Entry", "Plan", "Stage", "Step"];

/// Words that name at most one public type of core.
const PUBLIC_WORDS: [&str; 8] = ["Event", "Found", "Kept", "Outcome", "Part", "Place", "Question", "Verdict"];

/// Words after which the name of a type is given.
const TYPES: [&str; 5] = ["struct", "enum", "union", "trait", "type"];

/// Where a type is defined.
type Definition<'t> = (&'t str, usize);

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut defined: BTreeMap<&str, Vec<Definition<'_>>> = BTreeMap::new();
    for (path, text) in tree.rust().filter(|(path, _)| !is_test(path)) {
        let is_core = path.starts_with("core/");
        for (word, line, is_public) in definitions(text) {
            if WORDS.contains(&word) || (is_core && is_public) {
                defined.entry(word).or_default().push((path, line));
            }
        }
    }
    let several = defined.into_iter().filter(|(_, places)| places.len() > 1);
    several.flat_map(|(word, places)| told(word, &places)).collect()
}

fn told(word: &str, places: &[Definition<'_>]) -> Vec<Violation> {
    let violation = |(path, line): &Definition<'_>| {
        let others = places.iter().filter(|place| **place != (*path, *line));
        let others: Vec<String> = others.map(|(path, line)| format!("{path}:{line}")).collect();
        let wrong = format!("`{word}` is the name of another type too: {}", others.join(", "));
        let hint =
            "name the type by what it is in its place, such as `ClaimAction`; docs/glossary.md has our words";
        Violation::new(path, *line, wrong, hint)
    };
    places.iter().map(violation).collect()
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Each of the words that names a type outside of the tests of the file, its line, and whether other crates see it.
fn definitions(text: &str) -> Vec<(&'static str, usize, bool)> {
    let code = code_only(text);
    let lines: Vec<&str> = code.lines().collect();
    let is_tests =
        |pair: &[&str]| pair[0].trim() == "#[cfg(test)]" && pair[1].trim_start().starts_with("mod tests {");
    let tests_from = lines.windows(2).position(is_tests).unwrap_or(lines.len());
    let is_associated = |line: usize| lines[line - 1].starts_with(' ');
    let given = given_names(&code).into_iter().filter(|given| {
        TYPES.contains(&given.keyword)
            && given.line <= tests_from
            && !(given.keyword == "type" && is_associated(given.line))
    });
    let word = |name: &str| WORDS.iter().chain(&PUBLIC_WORDS).find(|word| **word == name).copied();
    let is_public = |line: usize| lines[line - 1].trim_start().starts_with("pub ");
    given.filter_map(|given| Some((word(given.name)?, given.line, is_public(given.line)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrongs(files: &[(&str, &str)]) -> Vec<String> {
        let found = check(&Tree::of(files));
        found.into_iter().map(|found| format!("{}:{}: {}", found.path, found.line, found.wrong)).collect()
    }

    #[test]
    fn a_second_type_of_the_name_is_found_with_the_first() {
        let files = [
            ("core/a/src/lib.rs", "\npub struct Step;"),
            ("lab/b/src/lib.rs", "pub(crate) type Step = u64;"),
        ];
        let told = [
            "core/a/src/lib.rs:2: `Step` is the name of another type too: lab/b/src/lib.rs:1",
            "lab/b/src/lib.rs:1: `Step` is the name of another type too: core/a/src/lib.rs:2",
        ];
        assert_eq!(wrongs(&files), told);
        assert!(wrongs(&files[..1]).is_empty(), "one type may have the name");
    }

    #[test]
    fn two_in_one_file_are_two() {
        let text = "enum Plan {}\nmod inner {\n    struct Plan;\n}\n";
        assert_eq!(wrongs(&[("core/a/src/lib.rs", text)]).len(), 2);
    }

    #[test]
    fn of_some_words_only_public_types_of_core_count() {
        let [one, other] = ["core/a/src/lib.rs", "core/b/src/lib.rs"];
        let public = "pub enum Verdict {}";
        assert_eq!(wrongs(&[(one, public), (other, public)]).len(), 2);
        for others in ["enum Verdict {}", "pub(crate) enum Verdict {}", "pub enum PodVerdict {}"] {
            assert!(wrongs(&[(one, public), (other, others)]).is_empty(), "{others}");
        }
        assert!(wrongs(&[(one, public), ("lab/b/src/lib.rs", public)]).is_empty());
    }

    #[test]
    fn other_names_variants_associated_types_and_tests_are_fine() {
        let one = ("core/a/src/lib.rs", "struct Entry;\nstruct Cargo;");
        let others = [
            (
                "core/b/src/lib.rs",
                "struct Cargo;\nstruct MapEntry;\nenum Shown { Entry(u8) }\nfn f(x: Entry) {}",
            ),
            ("core/b/src/walk.rs", "impl Walk for Tree {\n    type Entry = u8;\n}"),
            ("core/b/src/walk/tests.rs", "struct Entry;"),
            ("core/b/tests/suite/main.rs", "struct Entry;"),
            ("core/b/src/inline.rs", "#[cfg(test)]\nmod tests {\n    struct Entry;\n}"),
            ("core/b/src/said.rs", "// struct Entry\nconst SAID: &str = \"struct Entry\";"),
        ];
        for other in others {
            assert!(wrongs(&[one, other]).is_empty(), "{}", other.0);
        }
    }
}
