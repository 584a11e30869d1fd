//! The fields of an entry, which stay as they were written until a change touches them.

use schema::{StructId, Table};
use serde_json::{Map, Value};

use super::adjust::reconcile;
use super::fieldset::FieldSet;

/// What an entry owns.
#[derive(Clone, Debug)]
pub(super) enum Owned<'a> {
    /// As this server wrote it, so that its texts can be compared.
    Written(&'a Value),
    /// As a set.
    Set(FieldSet<'a>),
}

impl<'a> Owned<'a> {
    /// The fields as a set that fits the schema.
    pub fn into_set(self, table: &Table, id: StructId) -> FieldSet<'a> {
        let mut set = match self {
            Self::Set(set) => set,
            // What this server wrote can be read; if it were lost, nobody would own the fields.
            Self::Written(fields) => FieldSet::from_json(fields).unwrap_or_default(),
        };
        reconcile(table, id, &mut set);
        set
    }

    pub fn to_json(&self) -> Value {
        match self {
            Self::Written(fields) => (*fields).clone(),
            Self::Set(set) => set.to_json(),
        }
    }

    /// Whether a place of `set` may be among the fields. Only `false` is certain.
    pub fn may_touch(&self, set: &FieldSet<'_>) -> bool {
        match self {
            Self::Set(_) => true,
            Self::Written(fields) => fields.as_object().is_some_and(|fields| touches(fields, set)),
        }
    }
}

/// A place counts as touched even if only what is below it is owned, because the schema may have joined it since.
fn touches(fields: &Map<String, Value>, set: &FieldSet<'_>) -> bool {
    set.nodes.iter().any(|node| match fields.get(&node.path_element.text()) {
        Some(_) if node.member => true,
        Some(Value::Object(below)) => touches(below, &node.children),
        _ => false,
    })
}
