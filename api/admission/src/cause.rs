//! Why an object was refused: one cause for each field that is wrong, with the reason and path that clients
//! of Kubernetes know and a sentence of our own.

use std::fmt;

use schema::Path;

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It must be set.
    Required,
    /// Its value makes no sense here.
    Invalid,
    /// Its value is none of those that are known.
    NotSupported,
    /// Another element has the same key.
    Duplicate,
    /// It has too many bytes.
    TooLong,
    /// It has too many elements.
    TooMany,
    /// It may not be set, or not to this value, in this situation.
    Forbidden,
    /// It names something that is not there.
    NotFound,
}

impl Reason {
    /// The text that clients know.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Forbidden => "FieldValueForbidden",
            Self::NotFound => "FieldValueNotFound",
        }
    }
}

/// One field that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What is wrong with it.
    pub reason: Reason,
    /// Where it is, such as `spec.devices[3].name`.
    pub field: String,
    /// A sentence that says what would be right.
    pub message: String,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// The causes that were found so far. The same cause is kept once.
#[derive(Debug, Default)]
pub struct Causes(Vec<Cause>);

/// So many causes tell a reader enough, and a hostile object cannot make the answer arbitrarily large.
const CAUSES_MAX: usize = 1_000;
const MESSAGE_BYTES_MAX: usize = 1_024;
const FIELD_BYTES_MAX: usize = 2_048;

/// Takes off what is beyond `bytes_max`, because a text that somebody sent may be part of it.
pub(crate) fn cut(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push('…');
    }
    text
}

impl Causes {
    /// Nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The causes in the order in which they were found.
    pub fn into_vec(self) -> Vec<Cause> {
        self.0
    }

    fn add(&mut self, reason: Reason, path: &Path<'_>, message: String) {
        let (field, message) = (cut(path.to_string(), FIELD_BYTES_MAX), cut(message, MESSAGE_BYTES_MAX));
        self.keep(Cause { reason, field, message });
    }

    /// The causes that were found apart.
    pub fn extend(&mut self, others: Self) {
        for cause in others.0 {
            self.keep(cause);
        }
    }

    fn keep(&mut self, cause: Cause) {
        if self.0.len() < CAUSES_MAX && !self.0.contains(&cause) {
            self.0.push(cause);
        }
    }

    /// The field must be set.
    pub fn required(&mut self, path: &Path<'_>, message: &str) {
        self.add(Reason::Required, path, message.to_owned());
    }

    /// The value makes no sense here.
    pub fn invalid(&mut self, path: &Path<'_>, message: impl Into<String>) {
        self.add(Reason::Invalid, path, message.into());
    }

    /// One cause for each fault that a check of the value's form found.
    pub fn malformed(&mut self, path: &Path<'_>, value: &str, faults: Vec<&'static str>) {
        for fault in faults {
            self.invalid(path, format!("{:?}: {fault}", shortened(value)));
        }
    }

    /// The value is none of those that are known.
    pub fn not_supported(&mut self, path: &Path<'_>, value: &str, known: &[&str]) {
        self.add(
            Reason::NotSupported,
            path,
            format!("{:?} is none of {}", shortened(value), known.join(", ")),
        );
    }

    /// The same in the words of Kubernetes.
    pub fn unsupported(&mut self, path: &Path<'_>, value: &str, supported: &[&str]) {
        let supported: Vec<String> = supported.iter().map(|one| format!("{one:?}")).collect();
        let (value, supported) = (shortened(value), supported.join(", "));
        self.add(
            Reason::NotSupported,
            path,
            format!("Unsupported value: {value:?}: supported values: {supported}"),
        );
    }

    /// Another element has the same key.
    pub fn duplicate(&mut self, path: &Path<'_>, key: &str) {
        self.add(Reason::Duplicate, path, format!("{:?} comes twice", shortened(key)));
    }

    /// The text has too many bytes.
    pub fn too_long(&mut self, path: &Path<'_>, most: usize) {
        self.add(Reason::TooLong, path, format!("may have at most {most} bytes"));
    }

    /// The list has too many elements.
    pub fn too_many(&mut self, path: &Path<'_>, have: usize, most: usize) {
        self.add(Reason::TooMany, path, format!("has {have} elements and may have at most {most}"));
    }

    /// The field may not be set, or not to this value, in this situation.
    pub fn forbidden(&mut self, path: &Path<'_>, message: impl Into<String>) {
        self.add(Reason::Forbidden, path, message.into());
    }

    /// The value names something that is not there.
    pub fn not_found(&mut self, path: &Path<'_>, value: &str) {
        self.add(Reason::NotFound, path, format!("{:?} is not there", shortened(value)));
    }

    /// The value must stay what it was.
    pub fn immutable<T: PartialEq>(&mut self, path: &Path<'_>, new: &T, old: &T) {
        if new != old {
            self.invalid(path, "cannot be changed once it is set");
        }
    }

    /// The list's length, and then every element; a list that is too long is not looked into.
    pub fn each<T>(
        &mut self,
        list: &[T],
        most: usize,
        path: &Path<'_>,
        mut check: impl FnMut(&mut Self, &T, &Path<'_>),
    ) {
        if list.len() > most {
            self.too_many(path, list.len(), most);
            return;
        }
        for (index, item) in list.iter().enumerate() {
            check(self, item, &path.index(index));
        }
    }

    /// Like `each`, and no two elements may have the same key.
    pub fn each_once<T, K: Ord + fmt::Debug>(
        &mut self,
        list: &[T],
        most: usize,
        path: &Path<'_>,
        key: impl Fn(&T) -> K,
        check: impl FnMut(&mut Self, &T, &Path<'_>),
    ) {
        self.each(list, most, path, check);
        if list.len() > most {
            return;
        }
        let mut seen = std::collections::BTreeSet::new();
        for (index, item) in list.iter().enumerate() {
            let key = key(item);
            let text = format!("{key:?}");
            if !seen.insert(key) {
                self.duplicate(&path.index(index), text.trim_matches('"'));
            }
        }
    }
}

/// No limit on a list's length.
pub const ANY_NUMBER: usize = usize::MAX;

/// Enough of a value to recognise it.
pub(crate) fn shortened(value: &str) -> String {
    match value.char_indices().nth(64) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}
