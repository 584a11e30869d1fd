//! Why an object does not get through.

use std::fmt;

use objects::Object;

/// An object that core cannot be told about.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConvertError {
    /// Something is looked up by a name that it does not have.
    #[error("{object}: {field} is empty")]
    Unnamed {
        /// The object.
        object: ObjectName,
        /// Where the name should be.
        field: String,
    },
    /// It is not what its kind says.
    #[error("{object}: {reason}")]
    Unreadable {
        /// The object.
        object: ObjectName,
        /// What is wrong.
        reason: String,
    },
    /// A number means nothing where it stands.
    #[error("{object}: {field} is {value}, which is below zero")]
    Negative {
        /// The object.
        object: ObjectName,
        /// The number's place.
        field: String,
        /// The number.
        value: i64,
    },
    /// An annotation that stands for a field means nothing.
    #[error(
        "{object}: annotation {annotation} is invalid: {why}; hint: docs/differences.md describes its format"
    )]
    Annotation {
        /// The object.
        object: ObjectName,
        /// The annotation.
        annotation: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// An allocation takes configuration from a place where there is none, so its object has changed since.
    #[error("{object}: {field} is gone")]
    Gone {
        /// The object.
        object: ObjectName,
        /// Where the configuration should be.
        field: String,
    },
}

/// An object by kind and name, to be told to people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectName {
    kind: &'static str,
    namespace: String,
    name: String,
}

impl ObjectName {
    pub(crate) fn of<T: Object>(object: &T) -> ObjectName {
        let meta = object.metadata();
        ObjectName { kind: T::KIND, namespace: meta.namespace.clone(), name: meta.name.clone() }
    }

    pub(crate) fn named<T: Object>(name: &str) -> ObjectName {
        ObjectName { kind: T::KIND, namespace: String::new(), name: name.to_owned() }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.namespace.as_str(), self.name.as_str()) {
            (_, "") => write!(out, "{} without a name", self.kind),
            ("", name) => write!(out, "{} {name}", self.kind),
            (namespace, name) => write!(out, "{} {namespace}/{name}", self.kind),
        }
    }
}

/// Asks for a name; the place is only spelled out when it is needed.
pub(crate) fn named<T: Object>(
    object: &T,
    name: &str,
    field: impl FnOnce() -> String,
) -> Result<std::sync::Arc<str>, ConvertError> {
    if name.is_empty() {
        return Err(ConvertError::Unnamed { object: ObjectName::of(object), field: field() });
    }
    Ok(name.into())
}
