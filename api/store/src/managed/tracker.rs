//! What a create, an update or a patch that is no apply does to managed fields.
//!
//! Who changed a field owns it, alone; who owned a field that is gone owns it no more.

use std::sync::OnceLock;

use schema::{Kind, Table};
use serde_json::{Map, Value};

use super::create::created;
use super::entries::{self, Entries, Identity, ManagedFieldsEntry};
use super::fieldset::FieldSet;
use super::form::nothing;
use super::owned::Owned;
use super::walk::{Difference, compare};
use super::{Manager, Operation};

/// The managed fields that `new` has after a create (`old` is `None`), an update or a patch.
///
/// Both objects are in the version of the request and in the form in which they are written (`schema::fill`). `new`
/// has its defaults, but nothing yet that the server or a rule of the kind adds, because that is owned by nobody; and
/// it still has `managedFields` as they were sent: an empty list, or a list of one empty entry, turns tracking off.
/// `reset` are the fields that a request of this kind cannot change.
pub fn tracked(
    table: &Table,
    kind: &Kind,
    old: Option<&Value>,
    new: &Value,
    manager: &Manager<'_>,
    reset: &FieldSet<'_>,
) -> Option<Value> {
    let mut entries = given(old, managed_fields(new), manager);
    if old.is_some() && entries.is_empty() {
        // Nobody starts to track an object that exists; an apply does.
        return None;
    }
    if old.is_none() && entries.is_empty() && reset.is_flat() {
        let fields = created(table, table.get(kind.object), new, reset);
        return entries::single(fields, &identity_of(kind, manager), manager.time);
    }
    let empty = if old.is_none() { nothing(table, kind) } else { Value::Null };
    let change = Change { table, kind, old: old.unwrap_or(&empty), new };
    update(&change, &mut entries, manager, manager.known_name(), reset);
    entries.cap(table, kind.object);
    entries.write()
}

/// Sets what `tracked` tells in `new`.
pub fn track(
    table: &Table,
    kind: &Kind,
    old: Option<&Value>,
    new: &mut Value,
    manager: &Manager<'_>,
    reset: &FieldSet<'_>,
) {
    let written = tracked(table, kind, old, new, manager, reset);
    let Value::Object(fields) = new else { return };
    let Value::Object(meta) = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new())) else {
        return;
    };
    match written {
        Some(written) => meta.insert("managedFields".to_owned(), written),
        None => meta.remove("managedFields"),
    };
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
    entries.0.insert(identity, ManagedFieldsEntry { api_version, time: Some(manager.time), fields });
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

#[cfg(test)]
mod tests {
    use schema::table;
    use serde_json::{Value, json};

    use super::{keep_times, track};
    use crate::managed::{FieldSet, Manager, reset_fields};

    fn write(old: Option<&Value>, mut new: Value, name: &str, time: &str) -> Value {
        let kind = table().kind("v1", "ConfigMap").expect("config maps are served");
        track(table(), kind, old, &mut new, &Manager { name, subresource: "", time }, &FieldSet::default());
        new
    }

    fn owners(object: &Value) -> Vec<(&str, &Value)> {
        let entries = object["metadata"]["managedFields"].as_array().map_or(&[][..], Vec::as_slice);
        entries
            .iter()
            .map(|entry| (entry["manager"].as_str().unwrap_or_default(), &entry["fieldsV1"]))
            .collect()
    }

    fn with(mut object: Value, name: &str, value: &str) -> Value {
        object["data"][name] = json!(value);
        object
    }

    #[test]
    fn who_changes_a_field_owns_it_and_who_owned_it_does_not() {
        let data = json!({"metadata": {"name": "m", "uid": "u"}, "data": {"a": "1", "b": "1"}});
        let first = write(None, data, "one", "2026-01-02T03:04:05Z");
        assert_eq!(owners(&first), [("one", &json!({"f:data": {".": {}, "f:a": {}, "f:b": {}}}))]);
        let second = write(Some(&first), with(first.clone(), "b", "2"), "two", "2026-01-02T03:04:06Z");
        assert_eq!(
            owners(&second),
            [("one", &json!({"f:data": {".": {}, "f:a": {}}})), ("two", &json!({"f:data": {"f:b": {}}}))]
        );
        let mut third = second.clone();
        third["data"] = json!({"a": "1"});
        let third = write(Some(&second), third, "", "2026-01-02T03:04:07Z");
        assert_eq!(owners(&third), [("one", &json!({"f:data": {".": {}, "f:a": {}}}))]);
    }

    #[test]
    fn an_update_that_changes_nothing_keeps_owners_and_times() {
        let first =
            write(None, json!({"metadata": {"uid": "u"}, "data": {"a": "1"}}), "one", "2026-01-02T03:04:05Z");
        assert_eq!(write(Some(&first), first.clone(), "two", "2026-01-02T03:04:06Z"), first);
        let mut bare = first.clone();
        bare["metadata"] = json!({"uid": "u"});
        assert_eq!(
            write(Some(&first), bare, "two", "2026-01-02T03:04:06Z"),
            first,
            "a client may leave them out"
        );
    }

    #[test]
    fn an_empty_list_turns_tracking_off() {
        let first =
            write(None, json!({"metadata": {"uid": "u"}, "data": {"a": "1"}}), "one", "2026-01-02T03:04:05Z");
        for reset in [json!([]), json!([{}])] {
            let mut new = with(first.clone(), "a", "2");
            new["metadata"]["managedFields"] = reset;
            let off = write(Some(&first), new, "two", "2026-01-02T03:04:06Z");
            assert_eq!(owners(&off), []);
            let still_off = write(Some(&off), with(off.clone(), "a", "3"), "two", "2026-01-02T03:04:07Z");
            assert_eq!(owners(&still_off), []);
        }
    }

    #[test]
    fn managed_fields_that_make_no_sense_are_not_taken_over() {
        let first =
            write(None, json!({"metadata": {"uid": "u"}, "data": {"a": "1"}}), "one", "2026-01-02T03:04:05Z");
        let mut new = first.clone();
        new["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Guess"}]);
        assert_eq!(write(Some(&first), new, "two", "2026-01-02T03:04:06Z"), first);
    }

    #[test]
    fn the_oldest_of_many_writers_become_one() {
        let mut object = write(None, json!({"metadata": {"uid": "u"}}), "nobody", "2026-01-02T03:04:00Z");
        assert_eq!(owners(&object), []);
        object = write(None, json!({"metadata": {}, "data": {"k": "v"}}), "w0", "2026-01-02T03:04:00Z");
        for writer in 1..13 {
            let new = with(object.clone(), &format!("k{writer}"), "v");
            let time = format!("2026-01-02T03:04:{writer:02}Z");
            object = write(Some(&object), new, &format!("w{writer}"), &time);
        }
        let names: Vec<&str> = owners(&object).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["ancient-changes", "w4", "w5", "w6", "w7", "w8", "w9", "w10", "w11", "w12"]);
        let joined = json!({"f:data": {".": {}, "f:k": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}}});
        assert_eq!(owners(&object)[0].1, &joined);
    }

    #[test]
    fn a_status_is_owned_through_its_subresource_only() {
        let kind = table().kind("v1", "Node").expect("nodes are served");
        let track_node = |old: Option<&Value>, mut new: Value, subresource| {
            schema::fill(table(), kind.object, &mut new);
            let manager = Manager { name: "kubelet", subresource, time: "2026-01-02T03:04:05Z" };
            track(table(), kind, old, &mut new, &manager, reset_fields(kind, subresource));
            new
        };
        let node = json!({"metadata": {"name": "n", "uid": "u"}, "spec": {"providerID": "p"},
            "status": {"phase": "x"}});
        let first = track_node(None, node, "");
        assert_eq!(owners(&first), [("kubelet", &json!({"f:spec": {"f:providerID": {}}}))]);
        let mut new = first.clone();
        new["spec"]["providerID"] = json!("q");
        new["status"]["phase"] = json!("y");
        let second = track_node(Some(&first), new, "status");
        let status = json!({"f:status": {"f:phase": {}}});
        assert_eq!(
            owners(&second),
            [("kubelet", &json!({"f:spec": {"f:providerID": {}}})), ("kubelet", &status)]
        );
        assert_eq!(second["metadata"]["managedFields"][1]["subresource"], "status");
    }

    #[test]
    fn times_are_taken_back_only_if_nothing_else_changed() {
        let first =
            write(None, json!({"metadata": {"uid": "u"}, "data": {"a": "1"}}), "one", "2026-01-02T03:04:05Z");
        let mut later = first.clone();
        later["metadata"]["managedFields"][0]["time"] = json!("2026-01-02T03:04:06Z");
        let mut same = later.clone();
        keep_times(&first, &mut same);
        assert_eq!(same, first);
        let mut changed = with(later.clone(), "a", "2");
        keep_times(&first, &mut changed);
        assert_eq!(changed["metadata"]["managedFields"], later["metadata"]["managedFields"]);
    }
}
