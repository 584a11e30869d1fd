//! Why a configuration is not applied, and what to tell whoever sent it.

use std::fmt;

use thiserror::Error;

use super::Operation;
use super::entries::Identity;
use super::fieldset::FieldSet;

/// Why a configuration is not applied.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ApplyError {
    /// Others own fields to which the configuration gives other values: 409.
    #[error("{}", conflict_message(.0))]
    Conflicts(Vec<Conflict>),
    /// The configuration is none for this resource: 400.
    #[error("{0}")]
    Malformed(String),
    /// The configuration has not the shape of its kind: 500, as Kubernetes answers.
    #[error("{0}")]
    Internal(String),
}

/// A field that another owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The name of the owner.
    pub manager: String,
    /// How the owner set the field.
    pub operation: Operation,
    /// The version in which the owner set the field.
    pub api_version: String,
    /// The subresource through which the owner set the field.
    pub subresource: String,
    /// The field, such as `.spec.devices`.
    pub field_path: String,
}

impl Conflict {
    fn owner(&self) -> String {
        let mut text = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == Operation::Update {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }
}

/// The message of the cause in a Status.
impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "conflict with {}", self.owner())
    }
}

fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        return format!("Apply failed with 1 conflict: {only}: {}", only.field_path);
    }
    let mut lines = Vec::new();
    for group in conflicts.chunk_by(|a, b| a.owner() == b.owner()) {
        lines.push(format!("conflicts with {}:", group[0].owner()));
        lines.extend(group.iter().map(|conflict| format!("- {}", conflict.field_path)));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

/// What others own and would lose.
pub(super) struct Conflicts<'a>(pub Vec<(Identity<'a>, &'a str, FieldSet<'a>)>);

impl Conflicts<'_> {
    /// The conflicts about other fields than these.
    pub fn without(self, allowed: &FieldSet<'_>) -> Self {
        let left =
            self.0.into_iter().map(|(owner, version, fields)| (owner, version, fields.difference(allowed)));
        Self(left.filter(|(_, _, fields)| !fields.is_empty()).collect())
    }

    /// One conflict for each field.
    pub fn tell(self) -> ApplyError {
        let of_owner = |(owner, api_version, fields): &(Identity<'_>, &str, FieldSet<'_>)| {
            let conflict = |field_path| Conflict {
                manager: owner.name.to_owned(),
                operation: owner.operation,
                api_version: (*api_version).to_owned(),
                subresource: owner.subresource.to_owned(),
                field_path,
            };
            fields.paths().into_iter().map(conflict).collect::<Vec<_>>()
        };
        ApplyError::Conflicts(self.0.iter().flat_map(of_owner).collect())
    }
}
