//! Selectors over fields: `spec.nodeName=node-1,status.phase!=Failed`.

use schema::{Kind, Selectable};
use serde_json::Value;

use super::BadSelector;
use crate::stored_object::Key;

/// Requirements on fields that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    field: Field,
    value: String,
    equal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Namespace,
    /// The position among the kind's selectable fields.
    Own(usize),
}

/// How many fields of the kind can be selected by.
pub(crate) fn selectable_count(kind: &Kind) -> usize {
    kind.selectable.len()
}

/// The values of the kind's selectable fields in an object of its stored version.
pub fn selectable(kind: &Kind, object: &Value) -> Vec<String> {
    let text = |field: &Selectable| match object.pointer(&field.path) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => field.unset.to_owned(),
        Some(other) => other.to_string(),
    };
    kind.selectable.iter().map(text).collect()
}

impl FieldSelector {
    /// Reads a selector as kubectl's `--field-selector` takes it.
    ///
    /// # Errors
    /// When the text has another form, or the kind cannot be selected by a field.
    pub fn parse(kind: &Kind, text: &str) -> Result<Self, BadSelector> {
        let mut requirements = Vec::new();
        for part in split(text) {
            let malformed = || BadSelector::Malformed {
                selector: text.to_owned(),
                what: format!("{part:?} is no requirement such as metadata.name=x"),
            };
            let (name, value, equal) = if let Some((name, value)) = part.split_once("!=") {
                (name, value, false)
            } else if let Some((name, value)) = part.split_once("==") {
                (name, value, true)
            } else {
                part.split_once('=').map(|(name, value)| (name, value, true)).ok_or_else(malformed)?
            };
            let field = find(kind, name).ok_or_else(|| BadSelector::UnknownField(name.to_owned()))?;
            requirements.push(Requirement { field, value: unescape(value).ok_or_else(malformed)?, equal });
        }
        Ok(Self(requirements))
    }

    /// Nothing is required.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// The one name that is wanted, if there is one.
    pub fn name(&self) -> Option<&str> {
        let by_name = self.0.iter().find(|requirement| requirement.field == Field::Name && requirement.equal);
        by_name.map(|requirement| requirement.value.as_str())
    }

    /// The object meets every requirement.
    pub fn picks(&self, key: &Key, fields: &[String]) -> bool {
        self.0.iter().all(|requirement| {
            let have = match requirement.field {
                Field::Name => &*key.name,
                Field::Namespace => &*key.namespace,
                Field::Own(at) => fields.get(at).map_or("", String::as_str),
            };
            (have == requirement.value) == requirement.equal
        })
    }
}

fn find(kind: &Kind, name: &str) -> Option<Field> {
    match name {
        "metadata.name" => Some(Field::Name),
        "metadata.namespace" if kind.scope == schema::Scope::Namespaced => Some(Field::Namespace),
        _ => kind.selectable.iter().position(|field| field.name == name).map(Field::Own),
    }
}

/// The parts between commas that no backslash escapes; empty ones are left out.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if c == ',' && !escaped {
            parts.push(&text[start..at]);
            start = at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

fn unescape(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => plain.push(characters.next().filter(|next| "\\,=".contains(*next))?),
            '=' | ',' => return None,
            other => plain.push(other),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use schema::table;
    use serde_json::json;

    use super::{FieldSelector, selectable};
    use crate::stored_object::Key;

    #[test]
    fn pods_are_found_by_node_and_phase() {
        let kind = table().kind("v1", "Pod").expect("pods are served");
        let fields = selectable(kind, &json!({"spec": {"nodeName": "n"}, "status": {"phase": "Running"}}));
        let key = Key::new("default", "p");
        let picks = |text: &str| FieldSelector::parse(kind, text).expect("well formed").picks(&key, &fields);
        assert!(picks("spec.nodeName=n,status.phase!=Failed,metadata.namespace==default"));
        assert!(!picks("spec.nodeName="));
        assert!(picks("spec.hostNetwork=false"));
    }

    #[test]
    fn unknown_fields_and_malformed_texts_are_refused() {
        let kind = table().kind("resource.k8s.io/v1", "ResourceClaim").expect("claims are served");
        for bad in ["spec.x=1", "metadata.name>1", "metadata.name", "=x", "metadata.name=a=b"] {
            assert!(FieldSelector::parse(kind, bad).is_err(), "{bad}");
        }
    }
}
