//! What a module imports, and what it names by a path.

use std::collections::BTreeSet;

use super::graph::Graph;
use super::sources::Sources;

/// A name that a module imports from its own crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// Where it comes from, as a path within the crate.
    pub(super) path: Vec<String>,
    /// What it is called here.
    pub(super) name: String,
    /// Whether it is passed on.
    pub(super) is_public: bool,
}

/// Adds what modules use of each other by name.
pub(super) fn add_edges(sources: &Sources, graph: &mut Graph) {
    for source in sources.iter() {
        let mut uses = |path: &[String]| {
            if let Some((defining, name)) = sources.defining(path) {
                graph.add(&source.path, &defining.path, || format!("`{name}`"));
            }
        };
        for import in &source.imports {
            if sources.is_module(&import.path) {
                for name in members(&source.code, &import.name) {
                    uses(&[&import.path[..], &[name]].concat());
                }
            } else if !import.is_public || has_word(&source.code, &import.name) {
                uses(&import.path);
            }
        }
        for path in paths_in(&source.code) {
            let path = absolute(&path, &source.module, |child| is_child(sources, &source.module, child));
            path.into_iter().for_each(|path| uses(&path));
        }
    }
}

fn is_child(sources: &Sources, module: &[String], child: &str) -> bool {
    sources.is_module(&[module, &[child.to_owned()]].concat())
}

/// The imports from the module's own crate, and the code without any import.
pub(super) fn imports(
    code: &str,
    module: &[String],
    modules: &BTreeSet<Vec<String>>,
) -> (Vec<Import>, String) {
    let mut found = Vec::new();
    let mut rest = String::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        if is_declaration(line) {
            rest.push('\n');
            continue;
        }
        let Some((visibility, tree)) = split_use(line) else {
            rest.push_str(line);
            rest.push('\n');
            continue;
        };
        let mut text = tree.to_owned();
        while !text.contains(';') {
            let Some(more) = lines.next() else { break };
            text.push_str(more);
        }
        let mut leaves = Vec::new();
        flatten(text.trim().trim_end_matches(';'), &[], &mut leaves);
        for (path, name) in leaves {
            let is_child = |child: &str| modules.contains(&[module, &[child.to_owned()]].concat());
            let Some(path) = absolute(&path, module, is_child) else { continue };
            found.push(Import { path, name, is_public: visibility });
        }
    }
    (found, rest)
}

/// Whether a line says that there is a module, which is no use of it.
fn is_declaration(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    matches!(words[..], ["mod", name] | [_, "mod", name] if name.ends_with(';'))
}

/// Whether a line begins an import, whether that is public, and what follows.
fn split_use(line: &str) -> Option<(bool, &str)> {
    let after = line.strip_prefix("use ");
    if let Some(tree) = after {
        return Some((false, tree));
    }
    let rest = line.strip_prefix("pub")?;
    let rest = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
    Some((true, rest.trim_start().strip_prefix("use ")?))
}

/// The paths of a tree of imports, each with the name that it has here.
fn flatten(tree: &str, before: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let tree = tree.trim();
    if let Some((head, inner)) = tree.split_once('{') {
        let head = [before, &segments(head)].concat();
        let inner = inner.strip_suffix('}').unwrap_or(inner);
        split_at_commas(inner).into_iter().for_each(|part| flatten(part, &head, found));
    } else if !tree.is_empty() {
        let (path, alias) =
            tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias.trim())));
        let mut path = [before, &segments(path)].concat();
        path.retain(|part| part != "self" || before.is_empty());
        if let Some(last) = path.last().cloned() {
            found.push((path, alias.unwrap_or(&last).to_owned()));
        }
    }
}

fn segments(path: &str) -> Vec<String> {
    path.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Parts between commas that are in no braces.
fn split_at_commas(text: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0_i32, 0);
    let mut parts = Vec::new();
    for (at, char) in text.char_indices() {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// A path within the crate, if it is one.
fn absolute(path: &[String], module: &[String], is_child: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([module, rest].concat()),
        "super" => {
            let mut above = module.split_last()?.1;
            let mut rest = rest;
            while let Some((first, after)) = rest.split_first().filter(|(first, _)| *first == "super") {
                debug_assert_eq!(first, "super");
                (above, rest) = (above.split_last()?.1, after);
            }
            Some([above, rest].concat())
        }
        child if is_child(child) => Some([module, path].concat()),
        _ => None,
    }
}

/// The names that code takes out of a module by the module's own name.
fn members(code: &str, module: &str) -> BTreeSet<String> {
    paths_in(code).into_iter().filter(|path| path[0] == *module).map(|path| path[1].clone()).collect()
}

/// The paths of at least two parts that code names.
fn paths_in(code: &str) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("::") {
        let head = code[..at].rfind(|char| !is_word(char)).map_or(0, |before| before + 1);
        // Only the first pair of a path tells where it begins.
        if head == at || code[..head].ends_with("::") {
            continue;
        }
        let mut parts = vec![code[head..at].to_owned()];
        let mut rest = &code[at..];
        while let Some(after) = rest.strip_prefix("::") {
            let end = after.find(|char| !is_word(char)).unwrap_or(after.len());
            if end == 0 {
                break;
            }
            parts.push(after[..end].to_owned());
            rest = &after[end..];
        }
        if parts.len() > 1 {
            found.insert(parts);
        }
    }
    found
}

fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word)
        .any(|(at, _)| !code[..at].ends_with(is_word) && !code[at + word.len()..].starts_with(is_word))
}

pub(super) fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}
