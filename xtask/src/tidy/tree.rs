//! The files of the workspace, read once.
//!
//! Holds the path of every file and the text of those that people write. Build output and version control are left
//! out; everything else counts, whether committed yet or not, so that a violation shows before the commit.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::CannotLook;

/// Folders that hold no source.
const SKIPPED_FOLDERS: [&str; 3] = [".git", "target", "node_modules"];

/// Endings of files that are written by hand and therefore read.
const TEXT_ENDINGS: [&str; 8] = [".rs", ".md", ".toml", ".sh", ".yaml", ".yml", ".js", ".css"];

/// All files of the workspace by path from its root, with forward slashes.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, Option<String>>,
}

impl Tree {
    pub(crate) fn load(root: &Path) -> Result<Self, CannotLook> {
        let mut tree = Self::default();
        tree.walk(root, "")?;
        Ok(tree)
    }

    fn walk(&mut self, folder: &Path, prefix: &str) -> Result<(), CannotLook> {
        let failed = |error| CannotLook(format!("cannot read {}: {error}", folder.display()));
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            if entry.file_type().map_err(failed)?.is_dir() {
                if !SKIPPED_FOLDERS.contains(&name.as_str()) {
                    self.walk(&entry.path(), &format!("{path}/"))?;
                }
                continue;
            }
            let text = if is_text(&path) { fs::read_to_string(entry.path()).ok() } else { None };
            self.files.insert(path, text);
        }
        Ok(())
    }

    /// Every path, in order.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Every file that was read, with its text.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// The Rust files with their text.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// The Markdown documents with their text.
    pub(crate) fn markdown(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".md"))
    }

    /// The text of one file, if it exists and was read.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// Whether `path` is a file or a folder with at least one file.
    pub(crate) fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self.files.range(folder.clone()..).next().is_some_and(|(file, _)| file.starts_with(&folder))
    }

    /// The line, counted from 1, that begins with `needle`, or else the first that contains it, or else 1.
    pub(crate) fn line_of(&self, path: &str, needle: &str) -> usize {
        let text = self.text(path).unwrap_or_default();
        let begins = text.lines().position(|line| line.trim_start().starts_with(needle));
        let found = begins.or_else(|| text.lines().position(|line| line.contains(needle)));
        found.map_or(1, |index| index + 1)
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned())));
        Self { files: files.collect() }
    }
}

fn is_text(path: &str) -> bool {
    path.starts_with(".ci/") || TEXT_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn a_folder_exists_when_a_file_lies_in_it() {
        let tree = Tree::of(&[("docs/glossary.md", ""), ("docs-old/note.md", "")]);
        assert!(tree.exists("docs") && tree.exists("docs/") && tree.exists("docs/glossary.md"));
        assert!(!tree.exists("doc") && !tree.exists("docs/gloss"));
    }

    #[test]
    fn a_needle_is_found_on_its_line() {
        let tree = Tree::of(&[("Cargo.toml", "description = \"not clap\"\nclap = 1\n")]);
        assert_eq!(tree.line_of("Cargo.toml", "clap"), 2);
        assert_eq!(tree.line_of("Cargo.toml", "not"), 1);
        assert_eq!(tree.line_of("Cargo.toml", "absent"), 1);
    }
}
