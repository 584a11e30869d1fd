//! From the text of a file to manifests, each with the line on which it begins.
//!
//! Invariant: whatever is not understood is an error with file and line, and never left out.

use std::fmt;

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
#[error("{place}: {what}")]
pub struct BadInput {
    /// Where it stands.
    pub place: Place,
    /// What is wrong with it.
    pub what: String,
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
    let begins_as_json = text.trim_start().starts_with('{');
    if begins_as_json {
        let read = json(file, text);
        // A mapping in braces may be YAML as well, unless the file says that it is not.
        if read.is_ok() || file.ends_with(".json") {
            return read;
        }
    }
    let mut manifests = Vec::new();
    for (first, document) in documents(text) {
        // Empty lines in place of what came before make the parser tell the lines of the file.
        let padded = format!("{}{document}", "\n".repeat(first));
        let Spanned { value, referenced, .. } = yaml::<Spanned<Value>>(file, &padded)?;
        let place = Place { file: file.to_owned(), line: referenced.line() };
        if !is_list(&value) {
            manifests.push(manifest(place, value, Vec::new())?);
            continue;
        }
        // A list is the whole file, so it is never held twice.
        drop(value);
        let list: ListForm = yaml(file, &padded)?;
        for item in list.items.into_iter().flatten() {
            let place = Place { file: file.to_owned(), line: item.referenced.line() };
            manifests.push(manifest(place, item.value, Vec::new())?);
        }
    }
    Ok(manifests)
}

fn manifest(place: Place, value: Value, duplicates: Vec<String>) -> Result<Manifest, BadInput> {
    if !value.is_object() {
        return Err(BadInput { place, what: "a manifest is an object with apiVersion and kind".to_owned() });
    }
    Ok(Manifest { place, value, duplicates })
}

fn is_list(value: &Value) -> bool {
    value["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) && value.get("items").is_some()
}

fn yaml<'t, T: Deserialize<'t>>(file: &str, text: &'t str) -> Result<T, BadInput> {
    let options = serde_saphyr::options! { legacy_octal_numbers: true, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        BadInput { place: Place { file: file.to_owned(), line }, what: error.to_string() }
    })
}

/// The documents of a text that say something, each with how many lines come before it.
fn documents(text: &str) -> Vec<(usize, String)> {
    let mut documents: Vec<(usize, String)> = vec![(0, String::new())];
    for (at, line) in text.lines().enumerate() {
        let is_boundary = line == "---" || line.starts_with("--- ") || line.starts_with("---\t");
        if is_boundary {
            documents.push((at, String::new()));
        }
        let document = &mut documents.last_mut().expect("there is one from the start").1;
        document.push_str(line);
        document.push('\n');
    }
    let says_something = |line: &str| {
        let line = line.trim_start_matches("---").trim();
        !line.is_empty() && !line.starts_with('#') && line != "..."
    };
    documents.retain(|(_, document)| document.lines().any(says_something));
    documents
}

/// Reads JSON values, one after the other.
fn json(file: &str, text: &str) -> Result<Vec<Manifest>, BadInput> {
    let bad = |line: usize, what: String| {
        let line = u64::try_from(line).unwrap_or(u64::MAX);
        BadInput { place: Place { file: file.to_owned(), line }, what }
    };
    let mut manifests = Vec::new();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    loop {
        let before = &text[..values.byte_offset()];
        let rest = &text[before.len()..];
        let blank = rest.len() - rest.trim_start().len();
        let line = text[..before.len() + blank].matches('\n').count() + 1;
        let Some(value) = values.next() else { return Ok(manifests) };
        let value = value.map_err(|error| bad(error.line(), error.to_string()))?;
        let document = schema::parse(value.get().as_bytes()).map_err(|error| bad(line, error.to_string()))?;
        let place = Place { file: file.to_owned(), line: u64::try_from(line).unwrap_or(u64::MAX) };
        let mut value = document.value;
        if !is_list(&value) {
            manifests.push(manifest(place, value, document.duplicates)?);
            continue;
        }
        if let Value::Array(items) = value["items"].take() {
            for item in items {
                manifests.push(manifest(place.clone(), item, Vec::new())?);
            }
        }
    }
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
