//! Which objects a list or watch wants: by label and by field.

mod field;
mod label;

use thiserror::Error;

pub(crate) use field::selectable_count;
pub use field::{FieldSelector, selectable};
pub use label::LabelSelector;

use crate::stored_object::{Key, StoredObject};

/// A selector that makes no sense.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadSelector {
    /// The text has another form.
    #[error("unable to parse the selector {selector:?}: {what}")]
    Malformed {
        /// The whole selector.
        selector: String,
        /// What is wrong with it.
        what: String,
    },
    /// The kind has no such field, or it cannot be selected by.
    #[error("field label not supported: {0}; hint: use metadata.name or metadata.namespace")]
    UnknownField(String),
}

/// What a list or watch wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// By label.
    pub labels: LabelSelector,
    /// By field.
    pub fields: FieldSelector,
}

impl Selection {
    /// Everything is wanted.
    pub fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    /// The object is wanted.
    pub fn picks(&self, key: &Key, stored: &StoredObject) -> bool {
        self.labels.picks(stored.labels()) && self.fields.picks(key, stored.fields())
    }
}
