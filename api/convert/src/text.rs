//! Texts of objects as shared texts, and back.

use std::sync::Arc;

/// Texts to be shared.
pub(crate) fn shared(texts: &[String]) -> Vec<Arc<str>> {
    texts.iter().map(|text| Arc::from(text.as_str())).collect()
}

/// Texts to be written.
pub(crate) fn owned(texts: &[Arc<str>]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}
