//! What a create, an update or a patch that is no apply does to managed fields.
//!
//! Who changed a field owns it, alone; who owned a field that is gone owns it no more.

use std::sync::OnceLock;

use schema::{Kind, Table};
use serde_json::{Map, Value};

use super::create::created;
use super::entries::{self, Entries, Entry, Identity};
use super::fieldset::FieldSet;
use super::form::nothing;
use super::owned::Owned;
use super::walk::{Difference, compare};
use super::{Manager, Operation};

/// Sets the managed fields of `new` after a create (`old` is `None`), an update or a patch.
///
/// Both objects are in the version of the request and in the form in which they are written (`schema::fill`). `new`
/// has its defaults, but nothing yet that the server or a rule of the kind adds, because that is owned by nobody; and
/// it still has `managedFields` as they were sent: an empty list, or a list of one empty entry, turns tracking off.
/// `reset` are the fields that a request of this kind cannot change.
pub fn track(
    table: &Table,
    kind: &Kind,
    old: Option<&Value>,
    new: &mut Value,
    manager: &Manager<'_>,
    reset: &FieldSet<'_>,
) {
    let sent =
        new.get_mut("metadata").and_then(Value::as_object_mut).and_then(|meta| meta.remove("managedFields"));
    let mut entries = given(old, sent.as_ref(), manager);
    let written = match old {
        None if entries.is_empty() && reset.is_flat() => {
            let fields = created(table, table.get(kind.object), new, reset);
            entries::single(fields, &identity_of(kind, manager), manager.time)
        }
        // Nobody starts to track an object that exists; an apply does.
        Some(_) if entries.is_empty() => return,
        _ => {
            let empty = old.is_none().then(|| nothing(table, kind)).unwrap_or_default();
            let change = Change { table, kind, old: old.unwrap_or(&empty), new };
            update(&change, &mut entries, manager, manager.known_name(), reset);
            entries.cap(table, kind.object);
            entries.write()
        }
    };
    if let Some(written) = written
        && let Value::Object(fields) = new
        && let Value::Object(meta) = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()))
    {
        meta.insert("managedFields".to_owned(), written);
    }
}

fn identity_of<'a>(kind: &'a Kind, manager: &Manager<'a>) -> Identity<'a> {
    Identity::new(manager.known_name(), Operation::Update, &kind.api_version, manager.subresource)
}

/// The entries to start from: those that were sent, if they make sense and the request may set them, else the old ones.
fn given<'a>(old: Option<&'a Value>, sent: Option<&'a Value>, manager: &Manager<'_>) -> Entries<'a> {
    let old = old.and_then(managed_fields);
    let had = || Entries::written(old).unwrap_or_default();
    // Most who send managed fields send back what they got.
    if !manager.subresource.is_empty() || sent == old {
        return had();
    }
    if let Some(Value::Array(list)) = sent
        && (list.is_empty() || matches!(&list[..], [Value::Object(only)] if only.is_empty()))
    {
        return Entries::default();
    }
    Entries::sent(sent).ok().filter(|entries| !entries.is_empty()).unwrap_or_else(had)
}

/// The managed fields that an object has.
pub(super) fn managed_fields(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

/// An object that became another.
#[derive(Clone, Copy)]
pub(super) struct Change<'a> {
    pub table: &'a Table,
    pub kind: &'a Kind,
    pub old: &'a Value,
    pub new: &'a Value,
}

impl<'a> Change<'a> {
    /// How the object changed, except for the fields that the request cannot change.
    pub fn difference(&self, reset: &FieldSet<'_>) -> Difference<'a> {
        let Difference { changed, removed } = compare(self.table, self.kind.object, self.old, self.new);
        Difference { changed: changed.outside(reset), removed: removed.outside(reset) }
    }
}

/// Gives what changed to `name`.
pub(super) fn update<'a>(
    change: &Change<'a>,
    entries: &mut Entries<'a>,
    manager: &Manager<'a>,
    name: &'a str,
    reset: &FieldSet<'_>,
) {
    let api_version = change.kind.api_version.as_str();
    let id = change.kind.object;
    let difference = change.difference(reset);
    entries.lose(change.table, id, &difference, |_, _, _| {});
    let taken = difference.changed.difference(untracked());
    if taken.is_empty() {
        return;
    }
    let identity = Identity::new(name, Operation::Update, api_version, manager.subresource);
    let fields = match entries.0.remove(&identity) {
        Some(had) => taken.union(had.fields.into_set(change.table, id)),
        None => taken,
    };
    let fields = Owned::Set(fields);
    entries.0.insert(identity, Entry { api_version, time: Some(manager.time), fields });
}

/// What the server decides, so that nobody owns it.
pub(super) fn untracked() -> &'static FieldSet<'static> {
    static SET: OnceLock<FieldSet<'static>> = OnceLock::new();
    SET.get_or_init(|| {
        FieldSet::of(&[
            &["apiVersion"],
            &["kind"],
            &["metadata"],
            &["metadata", "clusterName"],
            &["metadata", "creationTimestamp"],
            &["metadata", "generation"],
            &["metadata", "managedFields"],
            &["metadata", "name"],
            &["metadata", "namespace"],
            &["metadata", "resourceVersion"],
            &["metadata", "selfLink"],
            &["metadata", "uid"],
        ])
    })
}

/// Takes back new times if nothing else changed, so that a request that changes nothing writes nothing.
///
/// To be called with the object as it would be stored.
pub fn keep_times(old: &Value, new: &mut Value) {
    let (Some(Value::Array(had)), Some(Value::Array(have))) = (managed_fields(old), managed_fields(new))
    else {
        return;
    };
    let same_but_time = |(a, b): (&Value, &Value)| match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let plain = |entry: &&Map<String, Value>| entry.len() - usize::from(entry.contains_key("time"));
            plain(&a) == plain(&b)
                && a.iter().all(|(name, value)| name == "time" || b.get(name) == Some(value))
        }
        _ => false,
    };
    if had == have || had.len() != have.len() || !had.iter().zip(have).all(same_but_time) {
        return;
    }
    let had = had.clone();
    let set = |object: &mut Value, list: Vec<Value>| -> Option<Value> {
        object.get_mut("metadata")?.as_object_mut()?.insert("managedFields".to_owned(), Value::Array(list))
    };
    let have = set(new, had);
    if let Some(Value::Array(have)) = have
        && new != old
    {
        set(new, have);
    }
}
