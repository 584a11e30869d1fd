//! The files of one crate as modules: their code without tests, what they define, and what they pass on.

use std::collections::{BTreeMap, BTreeSet};

use super::super::rust_text::code_only;
use super::imports::{Import, imports};

/// A module, as far as it says what it depends on.
#[derive(Debug)]
pub(super) struct Source {
    /// Path from the workspace root.
    pub(super) path: String,
    /// The module's path within the crate.
    pub(super) module: Vec<String>,
    /// Its code but for imports.
    pub(super) code: String,
    /// What it imports or passes on, by absolute paths.
    pub(super) imports: Vec<Import>,
}

/// The modules of a crate.
#[derive(Debug, Default)]
pub(super) struct Sources {
    all: Vec<Source>,
    by_module: BTreeMap<Vec<String>, usize>,
}

impl Sources {
    /// The modules in these files below a root.
    pub(super) fn new<'f>(root: &str, files: impl Iterator<Item = (&'f str, &'f str)>) -> Sources {
        let mut sources = Sources::default();
        for (path, text) in files.filter(|(path, _)| !path.ends_with("/tests.rs")) {
            let module = module_of(path.strip_prefix(root).unwrap_or(path));
            let code = without_tests(&code_only(text));
            sources.by_module.insert(module.clone(), sources.all.len());
            sources.all.push(Source { path: path.to_owned(), module, code, imports: Vec::new() });
        }
        let modules: BTreeSet<Vec<String>> = sources.by_module.keys().cloned().collect();
        for source in &mut sources.all {
            let (imports, rest) = imports(&source.code, &source.module, &modules);
            (source.imports, source.code) = (imports, rest);
        }
        sources
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Source> {
        self.all.iter()
    }

    /// Whether there is a module at a path.
    pub(super) fn is_module(&self, path: &[String]) -> bool {
        self.by_module.contains_key(path)
    }

    /// The file that defines what a path within the crate names, and the name, seen through modules that pass it on.
    pub(super) fn defining(&self, path: &[String]) -> Option<(&Source, String)> {
        let mut path = path.to_vec();
        // A name is passed on a few times at the most.
        for _ in 0..8 {
            let module = (0..path.len()).rev().find(|end| self.is_module(&path[..*end]))?;
            let source = &self.all[self.by_module[&path[..module]]];
            let name = path[module].clone();
            let passed_on = source.imports.iter().find(|import| import.is_public && import.name == name);
            match passed_on {
                Some(import) => path = [&import.path[..], &path[module + 1..]].concat(),
                None => return Some((source, name)),
            }
        }
        None
    }
}

/// The path of a module within its crate, by that of its file below the root.
fn module_of(file: &str) -> Vec<String> {
    let mut parts: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
        parts.pop();
    }
    parts
}

/// Code up to the tests, which stand at the end.
fn without_tests(code: &str) -> String {
    let lines: Vec<&str> = code.lines().collect();
    let is_test = |pair: &[&str]| pair[0].starts_with("#[cfg(test)]") && pair[1].trim_end().ends_with('{');
    let end = lines.windows(2).position(is_test).unwrap_or(lines.len());
    lines[..end].join("\n")
}
