//! Names say what a thing is: the words that say nothing are refused in files, modules, types and functions.
//!
//! `api/objects` may use them for types and functions, because Kubernetes has fields such as `nodeInfo` and `data`;
//! elsewhere a name that others chose is excused by a marker, see `allowances`. Fields and variables are not looked at.

use super::allowances::excuses_name;
use super::rust_text::code_only;
use super::tree::Tree;
use super::violation::Violation;

const BANNED: [&str; 10] =
    ["util", "utils", "common", "helper", "helpers", "manager", "managers", "info", "data", "process"];

/// Words after which a name is given.
const DEFINING: [&str; 8] = ["fn", "struct", "enum", "union", "trait", "type", "mod", "macro_rules"];

/// Where types and functions carry the names of the wire.
const WIRE_FOLDER: &str = "api/objects/";

const HINT: &str = "name the thing by what it is or decides; docs/glossary.md has our words";

/// A name given on a line.
pub(super) struct Given<'a> {
    pub(super) keyword: &'a str,
    pub(super) name: &'a str,
    pub(super) line: usize,
}

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations: Vec<Violation> = tree.paths().filter_map(check_path).collect();
    for (path, text) in tree.rust() {
        let code = code_only(text);
        for given in given_names(&code) {
            let Some(word) = banned_word(given.name) else { continue };
            let on_the_wire = path.starts_with(WIRE_FOLDER) && given.keyword != "mod";
            if !on_the_wire && !excuses_name(text, given.line) {
                let wrong = format!("`{} {}` is named with `{word}`", given.keyword, given.name);
                violations.push(Violation::new(path, given.line, wrong, HINT));
            }
        }
    }
    violations
}

fn check_path(path: &str) -> Option<Violation> {
    let part = path.split('/').find(|part| banned_word(part.split('.').next().unwrap_or(part)).is_some())?;
    let word = banned_word(part.split('.').next().unwrap_or(part))?;
    Some(Violation::new(path, 1, format!("the path part `{part}` is named with `{word}`"), HINT))
}

/// The first banned word in a name, whether it is written in snake, kebab or camel case.
fn banned_word(name: &str) -> Option<&'static str> {
    let words = words_of(name);
    BANNED.into_iter().find(|banned| words.iter().any(|word| word == banned))
}

fn words_of(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, char) in chars.iter().enumerate() {
        if !char.is_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let after_lower = at > 0 && (chars[at - 1].is_lowercase() || chars[at - 1].is_numeric());
        let before_lower = at > 0 && chars.get(at + 1).is_some_and(|next| next.is_lowercase());
        if char.is_uppercase() && (after_lower || before_lower) {
            words.push(String::new());
        }
        words.last_mut().expect("the list starts with a word").extend(char.to_lowercase());
    }
    words
}

/// Every name that the code gives to a file-level or nested item.
pub(super) fn given_names(code: &str) -> Vec<Given<'_>> {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let mut given = Vec::new();
    for (index, line) in code.lines().enumerate() {
        for keyword in DEFINING {
            for (at, _) in line.match_indices(keyword) {
                let after = &line[at + keyword.len()..];
                if line[..at].ends_with(|char: char| is_word(char) || char == '#') {
                    continue;
                }
                let after =
                    if keyword == "macro_rules" { after.strip_prefix('!').unwrap_or(after) } else { after };
                let Some(name) = after.strip_prefix(' ').map(str::trim_start) else { continue };
                let name = name.strip_prefix("r#").unwrap_or(name);
                let end = name.find(|char| !is_word(char)).unwrap_or(name.len());
                given.push(Given { keyword, name: &name[..end], line: index + 1 });
            }
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrongs(path: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|violation| violation.wrong).collect()
    }

    #[test]
    fn names_split_into_words_in_every_case() {
        assert_eq!(words_of("HTTPData_of-node2Info"), ["http", "data", "of", "node2", "info"]);
        assert_eq!(words_of("metadata"), ["metadata"]);
    }

    #[test]
    fn types_functions_and_modules_with_empty_words_are_found() {
        let path = "core/model/src/lib.rs";
        assert_eq!(wrongs(path, "pub struct NodeInfo;"), ["`struct NodeInfo` is named with `info`"]);
        assert_eq!(
            wrongs(path, "  pub(crate) fn process_pod() {}"),
            ["`fn process_pod` is named with `process`"]
        );
        assert_eq!(wrongs(path, "mod utils;"), ["`mod utils` is named with `utils`"]);
        assert_eq!(wrongs(path, "trait PodManager {}"), ["`trait PodManager` is named with `manager`"]);
        assert_eq!(wrongs(path, "type Data = u8;"), ["`type Data` is named with `data`"]);
        assert_eq!(wrongs(path, "enum CommonKind {}"), ["`enum CommonKind` is named with `common`"]);
        assert_eq!(wrongs(path, "macro_rules! helper {"), ["`macro_rules helper` is named with `helper`"]);
    }

    #[test]
    fn uses_fields_longer_words_comments_and_strings_are_fine() {
        let path = "core/model/src/lib.rs";
        let text = "use std::process::Command; // fn data\nstruct Metadata { data: u8, info: fn(u8) }\n\
                    fn processed() { let common = \"fn data()\"; }\nstruct Informer { r#type: u8 }\nfn prefix_data2() {}";
        assert!(wrongs(path, text).is_empty(), "{:?}", wrongs(path, text));
    }

    #[test]
    fn paths_with_empty_words_are_found() {
        let expected = "the path part `node_info.rs` is named with `info`";
        assert_eq!(wrongs("core/model/src/node_info.rs", ""), [expected]);
        assert_eq!(wrongs("lab/tests/data/a.md", ""), ["the path part `data` is named with `data`"]);
        assert!(wrongs("core/model/src/database.rs", "").is_empty());
    }

    #[test]
    fn the_wire_keeps_its_words() {
        assert!(wrongs("api/objects/src/node.rs", "pub struct NodeSystemInfo;\nfn data() {}").is_empty());
        assert_eq!(wrongs("api/objects/src/node.rs", "mod info;"), ["`mod info` is named with `info`"]);
        let excused = "// tidy: allow(name): the trait's own word\nfn process() {}";
        assert!(wrongs("core/model/src/lib.rs", excused).is_empty());
    }
}
