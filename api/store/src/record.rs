//! What a journal keeps of a change: enough to make it again.

use std::collections::BTreeMap;
use std::sync::Arc;

use schema::table;
use thiserror::Error;

use crate::select::selectable_count;
use crate::store::Resource;
use crate::stored_object::{Key, StoredObject};

/// A change, or an object of a snapshot, as bytes.
///
/// `op | revision | kind | namespace | name`, and for an object `ties | labels | fields | JSON`: what selectors and the
/// garbage collector look at stands beside the JSON, so that a store is rebuilt without reading any JSON. Each text has its
/// length before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    resource: Resource,
    key: Key,
    revision: u64,
    object: Option<Arc<StoredObject>>,
}

/// Bytes that are no record of ours.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unreadable {
    /// The bytes end too early or have another form.
    #[error("the record is malformed")]
    Malformed,
    /// The record is of a kind that is not served.
    #[error("the record is of the unknown kind {0}")]
    UnknownKind(String),
}

const PUT: u8 = 1;
const REMOVE: u8 = 2;

impl Record {
    /// The record of an object that is there.
    pub fn of(resource: Resource, key: &Key, stored: &Arc<StoredObject>) -> Self {
        Self { resource, key: key.clone(), revision: stored.revision(), object: Some(Arc::clone(stored)) }
    }

    pub(crate) fn remove(resource: Resource, key: &Key, revision: u64) -> Self {
        Self { resource, key: key.clone(), revision, object: None }
    }

    /// The kind of the object.
    pub fn resource(&self) -> Resource {
        self.resource
    }

    /// The name of the object.
    pub fn key(&self) -> Key {
        self.key.clone()
    }

    /// The object, unless it was removed.
    pub fn object(&self) -> Option<&Arc<StoredObject>> {
        self.object.as_ref()
    }

    /// The revision of the change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The record as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let kind = self.resource.kind();
        let mut out = Vec::with_capacity(self.object.as_ref().map_or(0, |stored| stored.bytes()) + 128);
        out.push(if self.object.is_some() { PUT } else { REMOVE });
        out.extend_from_slice(&self.revision.to_le_bytes());
        write_text(&mut out, &format!("{}/{}", kind.api_version, kind.kind));
        write_text(&mut out, &self.key.namespace);
        write_text(&mut out, &self.key.name);
        if let Some(stored) = &self.object {
            out.push(u8::from(stored.has_ties()));
            write_length(&mut out, stored.labels().len());
            for (key, value) in stored.labels() {
                write_text(&mut out, key);
                write_text(&mut out, value);
            }
            write_length(&mut out, stored.fields().len());
            stored.fields().iter().for_each(|field| write_text(&mut out, field));
            out.extend_from_slice(stored.tail());
        }
        out
    }

    /// Reads a record.
    ///
    /// # Errors
    /// When the bytes are none, or of a kind that is not served.
    pub fn decode(bytes: &[u8]) -> Result<Self, Unreadable> {
        let mut reader = Reader(bytes);
        let (op, revision) = reader.head().ok_or(Unreadable::Malformed)?;
        let names = (|| Some((reader.text()?, reader.text()?, reader.text()?)))();
        let (kind, namespace, name) = names.ok_or(Unreadable::Malformed)?;
        let (api_version, short) = kind.rsplit_once('/').ok_or(Unreadable::Malformed)?;
        let resource = table().kind(api_version, short).and_then(Resource::of);
        let resource = resource.ok_or_else(|| Unreadable::UnknownKind(kind.to_owned()))?;
        let key = Key::new(namespace, name);
        let object = match op {
            PUT => Some(Arc::new(reader.object(resource, revision).ok_or(Unreadable::Malformed)?)),
            REMOVE => None,
            _ => return Err(Unreadable::Malformed),
        };
        Ok(Self { resource, key, revision, object })
    }
}

fn write_length(out: &mut Vec<u8>, length: usize) {
    let length = u32::try_from(length).expect("what a request may send is shorter than 4 GiB");
    out.extend_from_slice(&length.to_le_bytes());
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    write_length(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// Bytes that are still to be read.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn head(&mut self) -> Option<(u8, u64)> {
        let (op, rest) = self.0.split_first()?;
        let (revision, rest) = rest.split_first_chunk::<8>()?;
        self.0 = rest;
        Some((*op, u64::from_le_bytes(*revision)))
    }

    fn length(&mut self) -> Option<usize> {
        let (length, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        usize::try_from(u32::from_le_bytes(*length)).ok()
    }

    fn text(&mut self) -> Option<&'b str> {
        let length = self.length()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    fn object(&mut self, resource: Resource, revision: u64) -> Option<StoredObject> {
        let (ties, rest) = self.0.split_first()?;
        self.0 = rest;
        let mut labels = BTreeMap::new();
        for _ in 0..self.length()? {
            labels.insert(self.text()?.to_owned(), self.text()?.to_owned());
        }
        let mut fields = Vec::new();
        for _ in 0..self.length()? {
            fields.push(self.text()?.to_owned());
        }
        let kind = resource.kind();
        let stored = StoredObject::restored(revision, self.0.into(), labels, fields, *ties != 0);
        // A newer program may select by other fields than the one that wrote the record.
        if stored.fields().len() == selectable_count(kind) {
            Some(stored)
        } else {
            stored.with_fields_of(kind)
        }
    }
}
