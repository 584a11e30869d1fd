//! From the text of a file to manifests, each with the line on which it begins.
//!
//! Invariant: whatever is not understood is an error with file and line, and never left out.

use std::fmt;
use std::sync::Arc;

use schema::yaml::tree;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use serde_saphyr::Spanned;

/// Where something was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file as it was named to us.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.file, self.line)
    }
}

/// Something that cannot be taken in.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct BadInput {
    /// Where it stands.
    pub place: Place,
    /// What is wrong with it; what comes after `; hint: ` is a hint.
    pub what: String,
    /// The very spot, where it is known.
    pub excerpt: Option<Excerpt>,
}

impl BadInput {
    /// Something that is wrong with a whole manifest.
    #[must_use]
    pub fn at(place: Place, what: String) -> BadInput {
        BadInput { place, what, excerpt: None }
    }

    /// Something that is wrong at a spot of the text.
    pub(crate) fn in_text(file: &str, text: &str, at: tree::Place, what: String) -> BadInput {
        let place = Place { file: file.to_owned(), line: at.line.max(1) };
        BadInput { place, what, excerpt: Excerpt::cut(text, at) }
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BadInput { place, what, excerpt } = self;
        let Some(excerpt) = excerpt else { return write!(out, "{place}: {what}") };
        let (what, hint) = what.split_once(HINT).unwrap_or((what, ""));
        write!(out, "{place}:{}: {what}\n{excerpt}", excerpt.at.column)?;
        if hint.is_empty() { Ok(()) } else { write!(out, "\nhint: {hint}") }
    }
}

/// What comes between a complaint and its hint.
const HINT: &str = "; hint: ";

/// A line of a text, and a spot in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excerpt {
    at: tree::Place,
    /// The line, or the part of a long one that is around the spot.
    line: String,
    /// What comes before the spot, in spaces and tabs.
    margin: String,
}

/// How much of a line is shown before and after the spot.
const SHOWN_CHARS_MAX: usize = 60;

impl Excerpt {
    fn cut(text: &str, at: tree::Place) -> Option<Excerpt> {
        let line = text.lines().nth(usize::try_from(at.line.checked_sub(1)?).ok()?)?;
        let before = usize::try_from(at.column.checked_sub(1)?).ok()?;
        let first = before.saturating_sub(SHOWN_CHARS_MAX);
        let ends = line.chars().count() <= before + SHOWN_CHARS_MAX;
        let shown: String = line.chars().skip(first).take(before - first + SHOWN_CHARS_MAX).collect();
        let blank = |c: char| if c == '\t' { '\t' } else { ' ' };
        let mut margin: String =
            shown.chars().chain(std::iter::repeat(' ')).take(before - first).map(blank).collect();
        let mut line = shown;
        if first > 0 {
            line.insert_str(0, "...");
            margin.insert_str(0, "   ");
        }
        if !ends {
            line.push_str("...");
        }
        Some(Excerpt { at, line, margin })
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.at.line.to_string();
        let blank = " ".repeat(number.len());
        write!(out, "  {number} | {}\n  {blank} | {}^", self.line, self.margin)
    }
}

/// An object as somebody wrote it.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Where.
    pub place: Place,
    /// What.
    pub value: Value,
    /// Keys that came twice.
    pub duplicates: Vec<String>,
    /// The whole text that it was read from, to show where something in it is wrong; nothing if it comes from no text.
    pub text: Option<Arc<str>>,
}

impl Manifest {
    /// An object that was not read from a text.
    #[must_use]
    pub fn made(place: Place, value: Value) -> Manifest {
        Manifest { place, value, duplicates: Vec::new(), text: None }
    }
}

/// A list as far as its elements are concerned.
#[derive(Deserialize)]
struct ListForm {
    #[serde(default)]
    items: Option<Vec<Spanned<Value>>>,
}

/// Reads the manifests of a file: YAML with any number of documents, or JSON; lists are taken apart.
///
/// # Errors
/// The text is neither, or a document is no object.
pub fn read(file: &str, text: &str) -> Result<Vec<Manifest>, BadInput> {
    let source = Source { file, text: text.into() };
    let begins_as_json = text.trim_start().starts_with('{');
    if begins_as_json {
        let read = source.json();
        // A mapping in braces may be YAML as well, unless the file says that it is not.
        if read.is_ok() || file.ends_with(".json") {
            return read;
        }
    }
    source.yaml()
}

/// A text that manifests are read from.
struct Source<'f> {
    file: &'f str,
    text: Arc<str>,
}

impl Source<'_> {
    fn yaml(&self) -> Result<Vec<Manifest>, BadInput> {
        let mut manifests = Vec::new();
        for (first, document) in documents(&self.text) {
            let first = first as u64;
            let Spanned { value, referenced, .. } = self.parsed::<Spanned<Value>>(first, document)?;
            if !is_list(&value) {
                manifests.push(self.manifest(first + referenced.line(), value, Vec::new())?);
                continue;
            }
            // A list is the whole file, so it is never held twice.
            drop(value);
            let list: ListForm = self.parsed(first, document)?;
            for item in list.items.into_iter().flatten() {
                manifests.push(self.manifest(first + item.referenced.line(), item.value, Vec::new())?);
            }
        }
        Ok(manifests)
    }

    /// A document that so many lines come before.
    fn parsed<'t, T: Deserialize<'t>>(&self, first: u64, document: &'t str) -> Result<T, BadInput> {
        let options = serde_saphyr::options! { legacy_octal_numbers: true, with_snippet: false };
        serde_saphyr::from_str_with_options(document, options).map_err(|error| {
            let fault = tree::fault(&error);
            let at = tree::Place { line: first + fault.at.line, ..fault.at };
            BadInput::in_text(self.file, &self.text, at, fault.what)
        })
    }

    fn manifest(&self, line: u64, value: Value, duplicates: Vec<String>) -> Result<Manifest, BadInput> {
        let place = Place { file: self.file.to_owned(), line };
        if !value.is_object() {
            let what = "a manifest is an object with apiVersion and kind".to_owned();
            return Err(BadInput::at(place, what));
        }
        Ok(Manifest { place, value, duplicates, text: Some(self.text.clone()) })
    }

    /// Reads JSON values, one after the other.
    fn json(&self) -> Result<Vec<Manifest>, BadInput> {
        let text = &*self.text;
        let (mut line, mut counted) = (1, 0);
        let mut manifests = Vec::new();
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        loop {
            let rest = &text[values.byte_offset()..];
            let begin = text.len() - rest.trim_start().len();
            line += text[counted..begin].matches('\n').count() as u64;
            counted = begin;
            let Some(value) = values.next() else { return Ok(manifests) };
            let value = value.map_err(|error| self.bad_json(&error))?;
            let document = schema::parse(value.get().as_bytes()).map_err(|error| {
                let place = Place { file: self.file.to_owned(), line };
                BadInput::at(place, error.to_string())
            })?;
            let mut value = document.value;
            if !is_list(&value) {
                manifests.push(self.manifest(line, value, document.duplicates)?);
                continue;
            }
            if let Value::Array(items) = value["items"].take() {
                for item in items {
                    manifests.push(self.manifest(line, item, Vec::new())?);
                }
            }
        }
    }

    fn bad_json(&self, error: &serde_json::Error) -> BadInput {
        let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let at = tree::Place { line: number(error.line()), column: number(error.column()) };
        let told = error.to_string();
        let what = told.split(" at line ").next().unwrap_or(&told).to_owned();
        BadInput::in_text(self.file, &self.text, at, what)
    }
}

fn is_list(value: &Value) -> bool {
    value["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) && value.get("items").is_some()
}

/// The documents of a text that say something, each with how many lines come before it.
fn documents(text: &str) -> Vec<(usize, &str)> {
    let mut documents = Vec::new();
    let (mut first, mut begin, mut end) = (0, 0, 0);
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let bare = line.trim_end();
        if bare == "---" || line.starts_with("--- ") || line.starts_with("---\t") {
            documents.push((first, &text[begin..end]));
            (first, begin) = (at, end);
        }
        end += line.len();
    }
    documents.push((first, &text[begin..]));
    let says_something = |line: &str| {
        let line = line.trim_start_matches("---").trim();
        !line.is_empty() && !line.starts_with('#') && line != "..."
    };
    documents.retain(|(_, document)| document.lines().any(says_something));
    documents
}

/// The document of a text that a line is in, as a tree in which every field has its place; nothing if it cannot be read so.
pub(crate) fn tree_at(text: &str, line: u64) -> Option<tree::Node> {
    let documents = documents(text);
    let (first, document) = documents.iter().rfind(|(first, _)| (*first as u64) < line)?;
    // Empty lines in place of what comes before make the parser tell the lines of the whole text.
    tree::read(&format!("{}{document}", "\n".repeat(*first))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(u64, String)> {
        let read = read("f.yaml", text).expect("good manifests");
        let name = |value: &Value| value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        read.iter().map(|one| (one.place.line, name(&one.value))).collect()
    }

    #[test]
    fn documents_lists_and_json_are_taken_apart_and_know_their_lines() {
        let named = |line: u64, name: &str| (line, name.to_owned());
        let yaml = "# nothing yet\n---\nkind: A\nmetadata: {name: a}\n---\n---\n# more\nkind: List\nitems:\n- kind: B\n  metadata: {name: b}\n- {kind: C, metadata: {name: c}}\n";
        assert_eq!(lines(yaml), [named(3, "a"), named(10, "b"), named(12, "c")]);
        let json = "{\"kind\": \"A\", \"metadata\": {\"name\": \"a\"}}\n\n{\"kind\": \"PodList\", \"items\": [{\"metadata\": {\"name\": \"b\"}}]}\n";
        assert_eq!(lines(json), [named(1, "a"), named(3, "b")]);
        assert_eq!(lines("{kind: A, metadata: {name: a}}\n"), [named(1, "a")]);
        assert!(lines("").is_empty() && lines("---\n# nothing\n---\n").is_empty());
    }

    #[test]
    fn what_is_not_understood_is_an_error_with_its_line() {
        let table = [
            ("f.yaml", "kind: A\n---\nkind: B\nmetadata: [\n", 4..=5),
            ("f.yaml", "kind: A\n---\nkind: B\nkind: C\n", 4..=4),
            ("f.yaml", "kind: A\n---\n- kind: B\n", 3..=3),
            ("f.json", "{\"kind\": \"A\"}\n{\"kind\": }\n", 2..=2),
        ];
        for (file, text, expected) in table {
            let error = read(file, text).expect_err("it is wrong");
            assert!(expected.contains(&error.place.line), "{error} for {text:?}");
            assert!(error.to_string().starts_with(&format!("{file}:")), "{error}");
        }
    }
}
