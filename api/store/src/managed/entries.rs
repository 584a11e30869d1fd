//! The entries of `metadata.managedFields`: who set which fields, how and when.

use std::collections::BTreeMap;

use schema::{StructId, Table};
use serde_json::{Map, Value, json};

use super::Operation;
use super::fieldset::{BadFields, FieldSet};
use super::owned::Owned;
use super::walk::Difference;

/// With more entries of updates than this, the oldest are joined.
const UPDATES_MAX: usize = 10;
/// Who is said to have set the fields of joined entries.
const ANCIENT: &str = "ancient-changes";

/// What makes an entry that entry. The order, which conflicts are told in, puts subresources before the object itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity<'a> {
    pub name: &'a str,
    pub operation: Operation,
    /// Empty for an apply: who applies has one entry, whatever the versions.
    api_version: &'a str,
    whole: bool,
    pub subresource: &'a str,
}

impl<'a> Identity<'a> {
    pub fn new(name: &'a str, operation: Operation, api_version: &'a str, subresource: &'a str) -> Self {
        let api_version = if operation == Operation::Apply { "" } else { api_version };
        Self { name, operation, api_version, whole: subresource.is_empty(), subresource }
    }
}

/// What an entry says.
#[derive(Clone, Debug)]
pub(super) struct ManagedFieldsEntry<'a> {
    pub api_version: &'a str,
    pub time: Option<&'a str>,
    pub fields: Owned<'a>,
}

/// All entries of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries<'a>(pub BTreeMap<Identity<'a>, ManagedFieldsEntry<'a>>);

impl<'a> Entries<'a> {
    /// The entries that this server wrote.
    pub fn written(list: Option<&'a Value>) -> Result<Self, BadFields> {
        Self::read_with(list, |fields| {
            Ok(fields.map_or_else(|| Owned::Set(FieldSet::default()), Owned::Written))
        })
    }

    /// The entries that somebody sent.
    pub fn sent(list: Option<&'a Value>) -> Result<Self, BadFields> {
        let read = |fields: Option<&'a Value>| fields.map(FieldSet::from_json).transpose();
        Self::read_with(list, |fields| Ok(Owned::Set(read(fields)?.unwrap_or_default())))
    }

    fn read_with(
        list: Option<&'a Value>,
        read: impl Fn(Option<&'a Value>) -> Result<Owned<'a>, BadFields>,
    ) -> Result<Self, BadFields> {
        let mut entries = BTreeMap::new();
        for entry in list.and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
            let operation = match text("operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                other => return Err(BadFields(format!("operation {other:?} is neither Apply nor Update"))),
            };
            let api_version = text("apiVersion");
            if api_version.is_empty() {
                return Err(BadFields("an entry needs an apiVersion".to_owned()));
            }
            if text("fieldsType") != "FieldsV1" {
                return Err(BadFields(format!("fieldsType {:?} must be \"FieldsV1\"", text("fieldsType"))));
            }
            let fields = read(entry.get("fieldsV1"))?;
            let time = entry.get("time").and_then(Value::as_str);
            let identity = Identity::new(text("manager"), operation, api_version, text("subresource"));
            entries.insert(identity, ManagedFieldsEntry { api_version, time, fields });
        }
        Ok(Self(entries))
    }

    /// Whether nobody is known to have set anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes what was changed or removed from every entry, and drops entries that have nothing left. `taken` gets what
    /// an entry loses to the author of the change.
    pub fn lose(
        &mut self,
        table: &Table,
        id: StructId,
        difference: &Difference<'_>,
        mut taken: impl FnMut(&Identity<'a>, &ManagedFieldsEntry<'a>, &FieldSet<'a>),
    ) {
        self.0.retain(|identity, entry| {
            if !entry.fields.may_touch(&difference.changed) && !entry.fields.may_touch(&difference.removed) {
                return true;
            }
            let fields = std::mem::replace(&mut entry.fields, Owned::Set(FieldSet::default()));
            let fields = fields.into_set(table, id);
            taken(identity, entry, &fields);
            let kept = fields.difference(&difference.changed).difference(&difference.removed);
            let any = !kept.is_empty();
            entry.fields = Owned::Set(kept);
            any
        });
    }

    /// Writes the entries in their order: updates after applies, then by time, name, version and subresource.
    pub fn write(&self) -> Option<Value> {
        if self.is_empty() {
            return None;
        }
        let mut entries: Vec<_> = self.0.iter().collect();
        entries.sort_by(|(a, a_entry), (b, b_entry)| {
            let key = |identity: &Identity<'a>, entry: &ManagedFieldsEntry<'a>| {
                (identity.operation, entry.time, identity.name, entry.api_version, identity.subresource)
            };
            key(a, a_entry).cmp(&key(b, b_entry))
        });
        Some(Value::Array(entries.into_iter().map(|(identity, entry)| entry.write(identity)).collect()))
    }

    /// Joins the oldest entries of updates, version by version, until there are few enough.
    pub fn cap(&mut self, table: &Table, id: StructId) {
        let mut updates: Vec<(Option<&'a str>, Identity<'a>)> = self
            .0
            .iter()
            .filter(|(identity, _)| identity.operation == Operation::Update)
            .map(|(identity, entry)| (entry.time, *identity))
            .collect();
        let mut count = updates.len();
        if count <= UPDATES_MAX {
            return;
        }
        updates.sort_unstable();
        let mut firsts: BTreeMap<&'a str, Identity<'a>> = BTreeMap::new();
        for (_, identity) in updates {
            if count <= UPDATES_MAX {
                return;
            }
            let version = identity.api_version;
            let Some(first) = firsts.get(version) else {
                firsts.insert(version, identity);
                continue;
            };
            let bucket = Identity::new(ANCIENT, Operation::Update, version, "");
            if !self.0.contains_key(&bucket)
                && let Some(entry) = self.0.remove(first)
            {
                self.0.insert(bucket, entry);
            }
            if identity != bucket
                && let Some(mut joined) = self.0.remove(&identity)
            {
                // The newer time stays, so that an entry is never older than what it says.
                if let Some(older) = self.0.remove(&bucket) {
                    let joint = joined.fields.into_set(table, id).union(older.fields.into_set(table, id));
                    joined.fields = Owned::Set(joint);
                }
                self.0.insert(bucket, joined);
                count -= 1;
            }
        }
    }
}

impl ManagedFieldsEntry<'_> {
    fn write(&self, identity: &Identity<'_>) -> Value {
        entry(self.fields.to_json(), identity, self.api_version, self.time)
    }
}

fn entry(fields: Value, identity: &Identity<'_>, api_version: &str, time: Option<&str>) -> Value {
    let mut entry = Map::new();
    let mut set = |name: &str, value: Value| entry.insert(name.to_owned(), value);
    set("apiVersion", json!(api_version));
    set("fieldsType", json!("FieldsV1"));
    set("fieldsV1", fields);
    if !identity.name.is_empty() {
        set("manager", json!(identity.name));
    }
    set("operation", json!(identity.operation.as_str()));
    if !identity.subresource.is_empty() {
        set("subresource", json!(identity.subresource));
    }
    if let Some(time) = time {
        set("time", json!(time));
    }
    Value::Object(entry)
}

/// The only entry of an object, for fields that are written already; none if nobody owns any.
pub(super) fn single(fields: Value, update: &Identity<'_>, time: &str) -> Option<Value> {
    let any = fields.as_object().is_some_and(|fields| !fields.is_empty());
    any.then(|| Value::Array(vec![entry(fields, update, update.api_version, Some(time))]))
}
