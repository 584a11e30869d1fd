//! One stored object: its JSON, ready to be sent, and what selectors look at.
//!
//! The JSON is kept without `apiVersion`, `kind` and `resourceVersion`, which depend on who asks and when it was written,
//! and begins inside `metadata`. So an answer is a head and these bytes, and a write serialises an object once, before
//! its revision is known.

use std::collections::BTreeMap;
use std::sync::Arc;

use schema::Kind;
use serde_json::{Map, Value};

use crate::select::selectable;

/// Where an object is: its namespace, empty for kinds that live in none, and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Key {
    /// The key of a namespace and a name.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

/// An object that is to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    tail: Arc<[u8]>,
    labels: BTreeMap<String, String>,
    fields: Vec<String>,
    has_ties: bool,
}

/// The object has owners, or is being deleted and waits for something.
fn has_ties(meta: &Map<String, Value>) -> bool {
    meta.contains_key("ownerReferences") || meta.contains_key("deletionTimestamp")
}

impl Body {
    /// Serialises an object; `fields` are the values of the kind's selectable fields, in the kind's order.
    pub fn new(object: &Value, fields: Vec<String>) -> Self {
        let empty = Map::new();
        let top = object.as_object().unwrap_or(&empty);
        let meta = top.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
        let mut tail = Vec::with_capacity(1024);
        let entries = meta.iter().filter(|(name, _)| *name != "resourceVersion");
        write_entries(&mut tail, entries, false);
        tail.push(b'}');
        let rest =
            top.iter().filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata"));
        write_entries(&mut tail, rest, true);
        tail.push(b'}');
        let labels = meta.get("labels").and_then(Value::as_object).unwrap_or(&empty);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            tail: tail.into(),
            labels: labels.iter().map(|(key, value)| (key.clone(), text(value))).collect(),
            fields,
            has_ties: has_ties(meta),
        }
    }

    /// The object at a revision.
    pub(crate) fn at(self, revision: u64) -> StoredObject {
        StoredObject {
            revision,
            tail: self.tail,
            labels: self.labels,
            fields: self.fields.into(),
            has_ties: self.has_ties,
        }
    }
}

fn write_entries<'a>(
    out: &mut Vec<u8>,
    entries: impl Iterator<Item = (&'a String, &'a Value)>,
    mut comma: bool,
) {
    for (name, value) in entries {
        if comma {
            out.push(b',');
        }
        comma = true;
        serde_json::to_writer(&mut *out, name).expect("a vector takes all bytes");
        out.push(b':');
        serde_json::to_writer(&mut *out, value).expect("a vector takes all bytes");
    }
}

/// A stored object.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredObject {
    revision: u64,
    tail: Arc<[u8]>,
    labels: BTreeMap<String, String>,
    fields: Arc<[String]>,
    has_ties: bool,
}

impl StoredObject {
    /// The revision of its last change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// It has owners, or is being deleted and waits for something: what a garbage collector looks at.
    pub fn has_ties(&self) -> bool {
        self.has_ties
    }

    /// Its labels.
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// The values of the kind's selectable fields.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        let labels: usize = self.labels.iter().map(|(key, value)| key.len() + value.len() + 64).sum();
        self.tail.len() + labels + self.fields.iter().map(|field| field.len() + 24).sum::<usize>() + 96
    }

    /// Writes the object as JSON, as an answer to a request for the kind in its stored version.
    pub fn write_object(&self, api_version: &str, kind: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"kind\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"apiVersion\":\"");
        out.extend_from_slice(api_version.as_bytes());
        out.extend_from_slice(b"\",");
        self.write_tail(out);
    }

    /// Writes the object as an element of a list, which has no kind of its own.
    pub fn write_item(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        self.write_tail(out);
    }

    fn write_tail(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"metadata\":{\"resourceVersion\":\"");
        out.extend_from_slice(self.revision.to_string().as_bytes());
        out.extend_from_slice(if self.tail.first() == Some(&b'}') { b"\"" } else { b"\"," });
        out.extend_from_slice(&self.tail);
    }

    /// The object as a value, in its stored version.
    pub fn value(&self, api_version: &str, kind: &str) -> Value {
        let mut text = Vec::with_capacity(self.tail.len() + 128);
        self.write_object(api_version, kind, &mut text);
        serde_json::from_slice(&text).expect("what was serialised can be read again")
    }

    /// The same object at another revision, as a deletion shows it.
    #[must_use]
    pub fn moved_to(&self, revision: u64) -> Self {
        Self { revision, ..self.clone() }
    }

    pub(crate) fn tail(&self) -> &Arc<[u8]> {
        &self.tail
    }

    /// An object that comes from a journal.
    pub(crate) fn restored(
        revision: u64,
        tail: Arc<[u8]>,
        labels: BTreeMap<String, String>,
        fields: Vec<String>,
        has_ties: bool,
    ) -> Self {
        Self { revision, tail, labels, fields: fields.into(), has_ties }
    }

    /// The same object with the selectable fields read from its JSON.
    pub(crate) fn with_fields_of(self, kind: &Kind) -> Option<Self> {
        let mut text = Vec::with_capacity(self.tail.len() + 64);
        self.write_item(&mut text);
        let value: Value = serde_json::from_slice(&text).ok()?;
        Some(Self { fields: selectable(kind, &value).into(), ..self })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Body;

    #[test]
    fn an_object_comes_back_with_its_revision_and_the_kind_that_was_asked_for() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
            "metadata": {"name": "x", "labels": {"l": "1"}, "resourceVersion": "7"}});
        let stored = Body::new(&object, vec![]).at(42);
        let mut expected = object;
        expected["metadata"]["resourceVersion"] = json!("42");
        assert_eq!(stored.value("v1", "ConfigMap"), expected);
        assert_eq!(stored.labels()["l"], "1");
        let mut item = Vec::new();
        stored.write_item(&mut item);
        let item: serde_json::Value = serde_json::from_slice(&item).expect("an item is JSON");
        assert!(item.get("kind").is_none() && item["data"] == json!({"a": "b"}));
    }
}
