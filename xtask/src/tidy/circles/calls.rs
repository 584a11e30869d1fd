//! What a module calls of another without naming it: methods of a type that several modules extend.

use std::collections::{BTreeMap, BTreeSet};

use super::super::rust_text::code_only;
use super::graph::Graph;
use super::imports::is_word;
use super::sources::{Source, Sources};

/// Methods that types of the standard library have as well: of whom they are called is not told by the name.
const USUAL: [&str; 40] = [
    "all", "any", "begin", "clear", "clone", "contains", "count", "drain", "end", "entry", "extend",
    "filter", "find", "first", "get", "get_mut", "insert", "is_empty", "iter", "join", "keys", "last", "len",
    "map", "max", "min", "new", "next", "of", "pop", "position", "push", "remove", "retain", "sort", "split",
    "step", "sum", "take", "values",
];

/// A method by its type and its name.
type Method = (String, String);

/// Where methods are defined.
struct Methods<'s> {
    defined: BTreeMap<Method, BTreeSet<&'s str>>,
    /// Types by the name of a method that they have.
    types: BTreeMap<&'s str, BTreeSet<String>>,
    /// Types that several files extend.
    shared: BTreeSet<String>,
}

/// The body of an `impl` without a trait, or with one.
struct Block<'s> {
    of: String,
    is_inherent: bool,
    body: &'s str,
}

/// The methods that types of other crates have.
pub(super) fn defined_elsewhere<'f>(files: impl Iterator<Item = (&'f str, &'f str)>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, text) in files {
        let code = code_only(text);
        let defined = blocks(&code).into_iter().flat_map(|block| defined(block.body).collect::<Vec<_>>());
        names.extend(defined.map(str::to_owned));
    }
    names
}

/// Adds what modules call of each other. A name that a type of another crate has as well says nothing unless it is called on `self`.
pub(super) fn add_edges(sources: &Sources, elsewhere: &BTreeSet<String>, graph: &mut Graph) {
    let methods = Methods::new(sources);
    for source in sources.iter() {
        for block in blocks(&source.code) {
            for name in calls(block.body, "self") {
                methods.uses(graph, source, (&block.of, &name), format!("`{name}()`"));
            }
        }
        for name in calls(&source.code, "") {
            let types = methods.types.get(name.as_str()).into_iter().flatten().collect::<Vec<_>>();
            if let [of] = types[..]
                && methods.shared.contains(of)
                && !USUAL.contains(&name.as_str())
                && !elsewhere.contains(&name)
            {
                methods.uses(graph, source, (of, &name), format!("`{name}()`"));
            }
        }
        for of in &methods.shared {
            for name in associated(&source.code, of) {
                methods.uses(graph, source, (of, &name), format!("`{of}::{name}`"));
            }
        }
    }
}

impl<'s> Methods<'s> {
    fn new(sources: &'s Sources) -> Methods<'s> {
        let mut methods =
            Methods { defined: BTreeMap::new(), types: BTreeMap::new(), shared: BTreeSet::new() };
        let mut extended: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for source in sources.iter() {
            for block in blocks(&source.code) {
                for name in defined(block.body) {
                    methods.types.entry(name).or_default().insert(block.of.clone());
                    if block.is_inherent {
                        let method = (block.of.clone(), name.to_owned());
                        methods.defined.entry(method).or_default().insert(&source.path);
                    }
                }
                if block.is_inherent {
                    extended.entry(block.of).or_default().insert(&source.path);
                }
            }
        }
        methods.shared =
            extended.into_iter().filter(|(_, files)| files.len() > 1).map(|(of, _)| of).collect();
        methods
    }

    /// A module calls a method of a type, if one file alone defines it.
    fn uses(&self, graph: &mut Graph, source: &Source, (of, name): (&str, &str), reason: String) {
        let files = self.defined.get(&(of.to_owned(), name.to_owned()));
        if let Some([file]) = files.map(|files| files.iter().collect::<Vec<_>>()).as_deref() {
            graph.add(&source.path, file, || reason);
        }
    }
}

/// The `impl` blocks of a file.
fn blocks(code: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let starts = code.match_indices("\nimpl").map(|(at, _)| at + 1);
    for start in code.starts_with("impl").then_some(0).into_iter().chain(starts) {
        let Some(open) = code[start..].find('{').map(|at| start + at) else { continue };
        let end = code[open..].find("\n}").map_or(code.len(), |at| open + at);
        let head = without_generics(&code[start + "impl".len()..open]);
        let is_inherent = !head.contains(" for ");
        let of = head.rsplit(" for ").next().unwrap_or_default();
        let of = of.split_whitespace().next().unwrap_or_default();
        let of = of.rsplit("::").next().unwrap_or_default().to_owned();
        found.push(Block { of, is_inherent, body: &code[open..end] });
    }
    found
}

/// A head without what stands in angle brackets.
fn without_generics(head: &str) -> String {
    let mut depth = 0_i32;
    let mut kept = String::new();
    for char in head.chars() {
        match char {
            '<' => depth += 1,
            '>' => depth -= 1,
            char if depth == 0 => kept.push(char),
            _ => {}
        }
    }
    kept
}

/// The functions that a block defines.
fn defined(body: &str) -> impl Iterator<Item = &str> {
    body.lines().filter(|line| line.starts_with("    ") && !line.starts_with("     ")).filter_map(|line| {
        let (_, after) = line.split_once("fn ")?;
        let end = after.find(|char| !is_word(char))?;
        Some(&after[..end])
    })
}

/// The methods that are called on something, if only on what has this name.
fn calls(code: &str, receiver: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices('.') {
        let after = &code[at + 1..];
        let end = after.find(|char| !is_word(char)).unwrap_or(after.len());
        let is_call = end > 0 && after[end..].starts_with(['(', ':']);
        let before = code[..at].trim_end();
        let is_of = before.ends_with(receiver)
            && !before[..before.len() - receiver.len()].ends_with(|char| is_word(char) || char == '.');
        if is_call && (receiver.is_empty() || is_of) {
            found.insert(after[..end].to_owned());
        }
    }
    found
}

/// The functions that are called by the name of a type.
fn associated(code: &str, of: &str) -> BTreeSet<String> {
    let name = format!("{of}::");
    let uses = code.match_indices(&name).filter(|(at, _)| !code[..*at].ends_with(is_word));
    uses.map(|(at, _)| {
        let after = &code[at + name.len()..];
        after[..after.find(|char| !is_word(char)).unwrap_or(after.len())].to_owned()
    })
    .collect()
}
