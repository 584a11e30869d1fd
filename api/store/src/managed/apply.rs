//! Server-side apply: a client says which fields it wants, and the server knows what that client wanted before.

use std::fmt;

use schema::{Kind, Table, conform};
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::adjust::with_named_fields;
use super::entries::{Entries, Entry, Identity};
use super::fieldset::FieldSet;
use super::form::nothing;
use super::last_applied;
use super::merge::{merge, remove};
use super::owned::Owned;
use super::step::same;
use super::tracker::{Change, managed_fields, untracked, update};
use super::walk::fields_of;
use super::{Manager, Operation, check};

/// Who is said to have set what was there before anybody was asked.
const BEFORE: &str = "before-first-apply";

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

/// Applies `config` to `live`, or to nothing, and returns the object with its managed fields.
///
/// `live` is in the version of the request and as it is written (`schema::fill`); so is what returns, except that
/// defaults, and what the server decides, are still to be set. What `manager` applied before and does not list now is
/// removed, unless others own it. `reset` are the fields that a request of this kind cannot change.
///
/// # Errors
/// When others own what would change and `force` is not set, or the configuration makes no sense.
pub fn apply(
    table: &Table,
    kind: &Kind,
    live: Option<&Value>,
    config: &Value,
    manager: &Manager<'_>,
    force: bool,
    reset: &FieldSet<'_>,
) -> Result<Value, ApplyError> {
    check_type(kind, config)?;
    let empty = nothing(table, kind);
    let live = typed(kind, live.unwrap_or(&empty));
    let mut entries = Entries::written(managed_fields(&live))
        .map_err(|error| ApplyError::Internal(format!("failed to decode managed fields: {error}")))?;
    if entries.is_empty() {
        let change = Change { table, kind, old: &empty, new: &live };
        update(&change, &mut entries, manager, BEFORE, reset);
    }
    check::check(table, kind.object, config).map_err(|error| {
        ApplyError::Internal(format!(
            "failed to create typed patch object ({}): {error}",
            described(kind, config)
        ))
    })?;
    let request = Request { table, kind, live: &live, config, manager, reset };
    let (mut object, entries) = request.run(&entries, force)?;
    if manager.name == last_applied::KUBECTL {
        last_applied::renew(&mut object, config);
    }
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.remove("managedFields");
    }
    let mut object = conform(table, kind.object, object, &mut Vec::new()).map_err(|mismatch| {
        ApplyError::Internal(format!(
            "failed to convert new object ({}): {mismatch}",
            described(kind, config)
        ))
    })?;
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.extend(entries.map(|entries| ("managedFields".to_owned(), entries)));
    }
    Ok(object)
}

fn check_type(kind: &Kind, config: &Value) -> Result<(), ApplyError> {
    let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion") != kind.api_version || text("kind") != kind.kind {
        return Err(ApplyError::Malformed(format!(
            "invalid object type: {:?} {:?}; hint: send {:?} {:?}",
            text("apiVersion"),
            text("kind"),
            kind.api_version,
            kind.kind
        )));
    }
    if managed_fields(config).is_some_and(Value::is_array) {
        return Err(ApplyError::Malformed("metadata.managedFields must be nil".to_owned()));
    }
    Ok(())
}

fn described(kind: &Kind, config: &Value) -> String {
    let name =
        |name: &str| config.get("metadata").and_then(|meta| meta.get(name)?.as_str()).unwrap_or_default();
    format!("{}/{}; {}, Kind={}", name("namespace"), name("name"), kind.api_version, kind.kind)
}

/// The object with its version and kind, which a new one does not have yet.
fn typed(kind: &Kind, object: &Value) -> Value {
    let mut object = object.clone();
    if let Value::Object(fields) = &mut object {
        fields.insert("apiVersion".to_owned(), json!(kind.api_version));
        fields.insert("kind".to_owned(), json!(kind.kind));
        fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    }
    object
}

/// One apply, all parts of which make sense.
struct Request<'a> {
    table: &'a Table,
    kind: &'a Kind,
    live: &'a Value,
    config: &'a Value,
    manager: &'a Manager<'a>,
    reset: &'a FieldSet<'a>,
}

impl Request<'_> {
    /// The merged object, and the managed fields that it will have.
    fn run(&self, entries: &Entries<'_>, force: bool) -> Result<(Value, Option<Value>), ApplyError> {
        match self.attempt(entries.clone(), force) {
            Err(conflicts) if self.manager.name == last_applied::KUBECTL => {
                let Some(before) = last_applied::configuration(self.kind, self.live) else {
                    return Err(conflicts.tell());
                };
                if check::check(self.table, self.kind.object, &before).is_err() {
                    return Err(conflicts.tell());
                }
                let own = last_applied::untouched(self.table, self.kind, &before, self.live);
                let left = conflicts.without(&own);
                if left.0.is_empty() {
                    self.attempt(entries.clone(), true).map_err(Conflicts::tell)
                } else {
                    Err(left.tell())
                }
            }
            result => result.map_err(Conflicts::tell),
        }
    }

    fn attempt<'e>(
        &'e self,
        mut entries: Entries<'e>,
        force: bool,
    ) -> Result<(Value, Option<Value>), Conflicts<'e>> {
        let (name, subresource) = (self.manager.known_name(), self.manager.subresource);
        let identity = Identity::new(name, Operation::Apply, &self.kind.api_version, subresource);
        let last = entries.0.remove(&identity);
        let mut merged = merge(self.table, self.kind.object, self.live, self.config);
        let own = fields_of(self.table, self.kind.object, self.config).outside(self.reset);
        let time = last.as_ref().and_then(|last| last.time);
        if let Some(last) = last {
            let last = last.fields.into_set(self.table, self.kind.object);
            merged = self.prune(merged, &entries, &own, &last);
        }
        let change = Change { table: self.table, kind: self.kind, old: self.live, new: &merged };
        let difference = change.difference(self.reset);
        let mut conflicts = Vec::new();
        entries.lose(self.table, self.kind.object, &difference, |identity, entry, fields| {
            let taken = fields.intersection(&difference.changed);
            if !force && !taken.is_empty() {
                conflicts.push((*identity, entry.api_version, taken));
            }
        });
        if !conflicts.is_empty() {
            return Err(Conflicts(conflicts));
        }
        let own = own.difference(untracked());
        // An apply that changes nothing leaves no time, not even that of its first entry.
        let time = if same(self.live, &merged) { time } else { Some(self.manager.time) };
        if !own.is_empty() {
            let api_version = self.kind.api_version.as_str();
            entries.0.insert(identity, Entry { api_version, time, fields: Owned::Set(own) });
        }
        let written = entries.write();
        Ok((merged, written))
    }

    /// Takes out what the applier listed last time and nobody lists or owns now.
    fn prune(&self, merged: Value, entries: &Entries<'_>, own: &FieldSet<'_>, last: &FieldSet<'_>) -> Value {
        let (table, id) = (self.table, self.kind.object);
        let named = |set| with_named_fields(table, id, set);
        if last.is_empty() {
            return merged;
        }
        let last = named(last.clone());
        let pruned = remove(table, id, &merged, &last);
        let owned = entries
            .0
            .values()
            .fold(own.clone(), |owned, entry| owned.union(entry.fields.clone().into_set(table, id)));
        let all = named(fields_of(table, id, &merged));
        let unowned = all.clone().difference(&named(fields_of(table, id, &pruned))).difference(&named(owned));
        let pruned = remove(table, id, &merged, &unowned);
        let gone = all.difference(&named(fields_of(table, id, &pruned))).intersection(&last);
        remove(table, id, &merged, &gone)
    }
}

/// What others own and would lose.
struct Conflicts<'a>(Vec<(Identity<'a>, &'a str, FieldSet<'a>)>);

impl Conflicts<'_> {
    fn without(self, allowed: &FieldSet<'_>) -> Self {
        let left =
            self.0.into_iter().map(|(owner, version, fields)| (owner, version, fields.difference(allowed)));
        Self(left.filter(|(_, _, fields)| !fields.is_empty()).collect())
    }

    fn tell(self) -> ApplyError {
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
