//! What all kinds have in common, and reading and writing whole objects and lists.

use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use crate::meta::ObjectMeta;
use crate::wire::wire;

/// A kind with its metadata.
///
/// It is read and written by the functions here, whose code is in this crate once for each kind. The code that reads a pod is large: a
/// crate that called serde's generic functions instead would be compiled with a copy of it. So they cannot be called where the kind
/// is not known.
pub trait Object: Default + Clone + Sized {
    /// Such as `resource.k8s.io/v1`.
    const API_VERSION: &'static str;
    /// Such as `ResourceClaim`.
    const KIND: &'static str;

    /// Name, labels, owners and history.
    fn metadata(&self) -> &ObjectMeta;

    /// Name, labels, owners and history.
    fn metadata_mut(&mut self) -> &mut ObjectMeta;

    /// Reads one object from JSON.
    ///
    /// # Errors
    /// When the JSON is broken or a field has another type than the kind says.
    fn read(json: &[u8]) -> Result<Self, serde_json::Error>;

    /// Reads one object from a JSON value.
    ///
    /// # Errors
    /// When a field has another type than the kind says.
    fn read_value(value: &Value) -> Result<Self, serde_json::Error>;

    /// Reads a list of objects from JSON.
    ///
    /// # Errors
    /// When the JSON is broken or a field of an object has another type than the kind says.
    fn read_list(json: &[u8]) -> Result<List<Self>, serde_json::Error>;

    /// The object as JSON.
    fn write(&self) -> Vec<u8>;

    /// The object as a JSON value.
    fn write_value(&self) -> Value;
}

/// Why [`Object::write`] cannot fail.
pub(crate) const WRITABLE: &str = "wire types have string keys and finite numbers";

/// JSON that is no object of the kind that was expected.
#[derive(Debug, Error)]
#[error("cannot read a {kind}: {source}")]
pub struct Unreadable {
    kind: &'static str,
    #[source]
    source: serde_json::Error,
}

/// Reads one object.
///
/// # Errors
/// When the JSON is broken or a field has another type than the kind says.
pub fn decode<T: Object>(json: &[u8]) -> Result<T, Unreadable> {
    T::read(json).map_err(|source| Unreadable { kind: T::KIND, source })
}

/// A list of objects as the API serves it.
#[derive(Clone, Debug, Default)]
pub struct List<T> {
    /// The revision of the list, and where to go on.
    pub metadata: ListMeta,
    /// The objects.
    pub items: Vec<T>,
}

wire! {
    /// The revision of a list, and where to go on.
    pub struct ListMeta {
        resource_version: String = "resourceVersion",
        continue_: String = "continue",
        remaining_item_count: Option<i64> = "remainingItemCount",
    }
}

/// Reads a list of objects.
///
/// # Errors
/// When the JSON is broken or a field of an object has another type than the kind says.
pub fn decode_list<T: Object>(json: &[u8]) -> Result<List<T>, Unreadable> {
    T::read_list(json).map_err(|source| Unreadable { kind: T::KIND, source })
}

/// What [`Object::read_list`] does for every kind.
pub(crate) fn read_list<T: DeserializeOwned>(json: &[u8]) -> Result<List<T>, serde_json::Error> {
    #[derive(serde::Deserialize)]
    struct Wire<T> {
        #[serde(default)]
        metadata: ListMeta,
        items: Option<Vec<T>>,
    }
    let list: Wire<T> = serde_json::from_slice(json)?;
    Ok(List { metadata: list.metadata, items: list.items.unwrap_or_default() })
}
