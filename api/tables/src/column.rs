//! What a column is.

use serde_json::{Value, json};

/// A column of a kind's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading, which kubectl writes in capitals.
    pub name: &'static str,
    /// `string`, `integer`, `boolean` or `date`.
    pub kind: &'static str,
    /// `name` for the object's name, and empty for everything else.
    pub format: &'static str,
    /// What the column shows.
    pub description: &'static str,
    /// Zero for columns that are always shown, more for those of `-o wide`.
    pub priority: i32,
}

/// The object's name, in the first column of almost every kind.
pub(crate) const NAME: Column = Column {
    name: "Name",
    kind: "string",
    format: "name",
    description: "The name of the object, unique among its kind in its namespace.",
    priority: 0,
};

/// The object's age.
pub(crate) const AGE: Column = Column::text("Age", "How long ago the object was created.");

impl Column {
    /// A column of text.
    pub(crate) const fn text(name: &'static str, description: &'static str) -> Self {
        Self { name, kind: "string", format: "", description, priority: 0 }
    }

    /// A column of whole numbers.
    pub(crate) const fn integer(name: &'static str, description: &'static str) -> Self {
        Self { kind: "integer", ..Self::text(name, description) }
    }

    /// A column of `true` and `false`.
    pub(crate) const fn boolean(name: &'static str, description: &'static str) -> Self {
        Self { kind: "boolean", ..Self::text(name, description) }
    }

    /// The same column, shown only by `-o wide`.
    pub(crate) const fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }

    /// The definition as a Table carries it.
    pub(crate) fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}
