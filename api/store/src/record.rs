//! What a journal keeps of a change: enough to make it again.

use std::sync::Arc;

use schema::table;
use thiserror::Error;

use crate::entry::{Entry, Key};
use crate::store::Resource;

/// A change, or an object of a snapshot, as bytes.
///
/// `op | revision | group/version/kind | namespace | name | JSON`, each text with its length before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    resource: Resource,
    key: Key,
    revision: u64,
    tail: Option<Arc<[u8]>>,
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
    pub(crate) fn put(resource: Resource, key: &Key, revision: u64, tail: &Arc<[u8]>) -> Self {
        Self { resource, key: key.clone(), revision, tail: Some(Arc::clone(tail)) }
    }

    pub(crate) fn remove(resource: Resource, key: &Key, revision: u64) -> Self {
        Self { resource, key: key.clone(), revision, tail: None }
    }

    /// The record of an object that is there, for a snapshot.
    pub fn of(resource: Resource, key: &Key, entry: &Entry) -> Self {
        Self::put(resource, key, entry.revision(), entry.tail())
    }

    pub(crate) fn resource(&self) -> Resource {
        self.resource
    }

    pub(crate) fn key(&self) -> Key {
        self.key.clone()
    }

    pub(crate) fn tail(&self) -> Option<&[u8]> {
        self.tail.as_deref()
    }

    /// The revision of the change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The record as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let kind = self.resource.kind();
        let tail = self.tail.as_deref().unwrap_or_default();
        let mut out = Vec::with_capacity(tail.len() + 128);
        out.push(if self.tail.is_some() { PUT } else { REMOVE });
        out.extend_from_slice(&self.revision.to_le_bytes());
        for text in [&format!("{}/{}", kind.api_version, kind.kind), &*self.key.namespace, &*self.key.name] {
            let length = u16::try_from(text.len()).expect("names are shorter than 64 KiB");
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        out.extend_from_slice(tail);
        out
    }

    /// Reads a record.
    ///
    /// # Errors
    /// When the bytes are none, or of a kind that is not served.
    pub fn decode(bytes: &[u8]) -> Result<Self, Unreadable> {
        let (op, rest) = bytes.split_first().ok_or(Unreadable::Malformed)?;
        let (revision, mut rest) = rest.split_first_chunk::<8>().ok_or(Unreadable::Malformed)?;
        let mut text = || -> Option<&str> {
            let (length, after) = rest.split_first_chunk::<2>()?;
            let (text, after) = after.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
            rest = after;
            std::str::from_utf8(text).ok()
        };
        let (kind, namespace, name) = text()
            .zip(text())
            .zip(text())
            .map(|((kind, namespace), name)| (kind, namespace, name))
            .ok_or(Unreadable::Malformed)?;
        let (api_version, short) = kind.rsplit_once('/').ok_or(Unreadable::Malformed)?;
        let found = table().kind(api_version, short).and_then(Resource::of);
        Ok(Self {
            resource: found.ok_or_else(|| Unreadable::UnknownKind(kind.to_owned()))?,
            key: Key::new(namespace, name),
            revision: u64::from_le_bytes(*revision),
            tail: match *op {
                PUT => Some(rest.into()),
                REMOVE => None,
                _ => return Err(Unreadable::Malformed),
            },
        })
    }
}
