//! Texts of objects as shared texts, and back.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Texts to be shared.
pub(crate) fn shared(texts: &[String]) -> Vec<Arc<str>> {
    texts.iter().map(|text| Arc::from(text.as_str())).collect()
}

/// A map of texts to be shared.
pub(crate) fn shared_map(texts: &BTreeMap<String, String>) -> BTreeMap<Arc<str>, Arc<str>> {
    texts.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect()
}

/// A text to be shared, if there is one.
pub(crate) fn some(text: &str) -> Option<Arc<str>> {
    (!text.is_empty()).then(|| text.into())
}

/// Texts to be written.
pub(crate) fn owned(texts: &[impl ToString]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}
