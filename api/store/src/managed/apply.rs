//! Server-side apply: a client says which fields it wants, and the server knows what that client wanted before.

use std::borrow::Cow;

use schema::{Kind, Table, conform};
use serde_json::{Map, Value, json};

use super::adjust::with_named_fields;
use super::conflict::{ApplyError, Conflicts};
use super::entries::{Entries, Identity, ManagedFieldsEntry};
use super::fieldset::FieldSet;
use super::form::nothing;
use super::last_applied;
use super::merge::{merge, remove};
use super::owned::Owned;
use super::path_element::same;
use super::tracker::{Change, managed_fields, untracked, update};
use super::walk::fields_of;
use super::{Manager, Operation, check};

/// Who is said to have set what was there before anybody was asked.
const BEFORE: &str = "before-first-apply";

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
    let config = &*with_whole_numbers(config);
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
    if let Value::Object(fields) = &mut object
        && let Value::Object(meta) = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()))
    {
        meta.extend(entries.map(|entries| ("managedFields".to_owned(), entries)));
    }
    Ok(object)
}

/// The configuration with whole numbers that are written as such: YAML has one kind of number, so that `2.0` is `2`.
fn with_whole_numbers(config: &Value) -> Cow<'_, Value> {
    if !has_float(config) {
        return Cow::Borrowed(config);
    }
    let mut config = config.clone();
    write_whole_numbers(&mut config);
    Cow::Owned(config)
}

fn has_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_float),
        Value::Object(fields) => fields.values().any(has_float),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn write_whole_numbers(value: &mut Value) {
    /// Above this, not every whole number is a float.
    const LIMIT: f64 = (1_u64 << 53) as f64;
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= LIMIT)
            {
                *value = json!(float as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(write_whole_numbers),
        Value::Number(_) | Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
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
            entries.0.insert(identity, ManagedFieldsEntry { api_version, time, fields: Owned::Set(own) });
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

#[cfg(test)]
mod tests {
    use schema::table;
    use serde_json::{Value, json};

    use super::apply;
    use crate::managed::{ApplyError, FieldSet, Manager, reset_fields, track};

    const KIND: (&str, &str) = ("resource.k8s.io/v1", "ResourceClaim");

    fn by(name: &str) -> Manager<'_> {
        Manager { name, subresource: "", time: "2026-01-02T03:04:05Z" }
    }

    fn configmap(
        mut config: Value,
        live: Option<&Value>,
        name: &str,
        force: bool,
    ) -> Result<Value, ApplyError> {
        let kind = table().kind("v1", "ConfigMap").expect("config maps are served");
        config["apiVersion"] = json!("v1");
        config["kind"] = json!("ConfigMap");
        apply(table(), kind, live, &config, &by(name), force, &FieldSet::default())
    }

    fn claim(labels: &Value) -> Value {
        let requests = json!([{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]);
        json!({"apiVersion": KIND.0, "kind": KIND.1, "metadata": {"name": "c", "labels": labels},
            "spec": {"devices": {"requests": requests}}})
    }

    fn apply_claim(
        config: &Value,
        live: Option<&Value>,
        name: &str,
        force: bool,
    ) -> Result<Value, ApplyError> {
        let kind = table().kind(KIND.0, KIND.1).expect("claims are served");
        let applied = apply(table(), kind, live, config, &by(name), force, reset_fields(kind, ""))?;
        let mut stored = applied;
        schema::apply_defaults(table(), kind.object, &mut stored);
        for request in stored["spec"]["devices"]["requests"].as_array_mut().into_iter().flatten() {
            request["exactly"]["allocationMode"] = json!("ExactCount");
            request["exactly"]["count"] = json!(1);
        }
        schema::fill(table(), kind.object, &mut stored);
        Ok(stored)
    }

    #[test]
    fn who_applies_owns_what_the_configuration_lists() {
        let stored =
            apply_claim(&claim(&json!({"a": "1"})), None, "one", false).expect("nobody owns anything");
        assert_eq!(
            stored["metadata"]["managedFields"],
            json!([{
                "manager": "one", "operation": "Apply", "apiVersion": KIND.0, "time": "2026-01-02T03:04:05Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:devices": {"f:requests": {}}}},
            }])
        );
    }

    #[test]
    fn another_value_for_a_field_of_another_is_a_conflict_that_force_decides() {
        let stored =
            apply_claim(&claim(&json!({"a": "1"})), None, "one", false).expect("nobody owns anything");
        let error =
            apply_claim(&claim(&json!({"a": "2"})), Some(&stored), "two", false).expect_err("a is owned");
        let ApplyError::Conflicts(conflicts) = &error else { panic!("{error}") };
        let told: Vec<_> =
            conflicts.iter().map(|conflict| (&*conflict.field_path, conflict.to_string())).collect();
        let message = || "conflict with \"one\"".to_owned();
        // The list is one value, and the configuration has no defaults.
        assert_eq!(told, [(".metadata.labels.a", message()), (".spec.devices.requests", message())]);
        assert_eq!(
            error.to_string(),
            "Apply failed with 2 conflicts: conflicts with \"one\":\n- .metadata.labels.a\n- .spec.devices.requests"
        );
        let forced = apply_claim(&claim(&json!({"a": "2"})), Some(&stored), "two", true).expect("forced");
        assert_eq!(forced["metadata"]["labels"], json!({"a": "2"}));
        let managers: Vec<_> =
            forced["metadata"]["managedFields"].as_array().expect("a list").iter().collect();
        assert!(matches!(managers[..], [only] if only["manager"] == "two"), "{managers:?}");
    }

    #[test]
    fn what_is_no_longer_listed_is_removed_unless_another_owns_it() {
        let all = json!({"metadata": {"name": "c"}, "data": {"mine": "1", "shared": "1"}});
        let live = configmap(all, None, "one", false).expect("new");
        let live =
            configmap(json!({"data": {"shared": "1"}}), Some(&live), "two", false).expect("the same value");
        let second = &live["metadata"]["managedFields"][0];
        assert_eq!((&second["manager"], second.get("time")), (&json!("two"), None), "nothing changed");
        let live = configmap(json!({"data": {}}), Some(&live), "one", false).expect("only own fields");
        assert_eq!(live["data"], json!({"shared": "1"}));
    }

    #[test]
    fn an_object_that_nobody_tracked_gets_an_owner_at_the_first_apply() {
        let live =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"uid": "u"}, "data": {"a": "1"}});
        let error =
            configmap(json!({"data": {"a": "2"}}), Some(&live), "one", false).expect_err("a was there");
        assert_eq!(
            error.to_string(),
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a"
        );
    }

    #[test]
    fn what_kubectl_applied_at_the_client_is_no_conflict_and_the_annotation_stays_true() {
        let kind = table().kind("v1", "ConfigMap").expect("config maps are served");
        let annotation = "kubectl.kubernetes.io/last-applied-configuration";
        let before = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}}).to_string();
        let mut live = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1", "b": "1"},
            "metadata": {"uid": "u", "annotations": {annotation: before}}});
        track(table(), kind, None, &mut live, &by("kubectl-client-side-apply"), &FieldSet::default());
        let applied =
            configmap(json!({"data": {"a": "<2>"}}), Some(&live), "kubectl", false).expect("a was its own");
        assert_eq!(
            applied["metadata"]["annotations"][annotation],
            "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"\\u003c2\\u003e\"},\"kind\":\"ConfigMap\"}\n"
        );
        assert!(configmap(json!({"data": {"b": "2"}}), Some(&live), "kubectl", false).is_err());
        assert!(configmap(json!({"data": {"a": "2"}}), Some(&live), "other", false).is_err());
    }

    #[test]
    fn a_configuration_of_another_kind_is_malformed_and_one_of_another_shape_is_not_understood() {
        let kind = table().kind(KIND.0, KIND.1).expect("claims are served");
        let answer = |config: Value| {
            apply(table(), kind, None, &config, &by("one"), false, &FieldSet::default()).expect_err("wrong")
        };
        assert!(matches!(answer(json!({"metadata": {"name": "c"}})), ApplyError::Malformed(_)));
        let mut config = claim(&json!({}));
        config["metadata"]["managedFields"] = json!([]);
        assert!(matches!(answer(config), ApplyError::Malformed(_)));
        let mut config = claim(&json!({}));
        config["spec"]["bogus"] = json!(1);
        assert!(matches!(answer(config), ApplyError::Internal(_)));
        let mut config = claim(&json!({}));
        config["spec"]["devices"] = json!("x");
        assert!(matches!(answer(config), ApplyError::Internal(_)));
    }

    #[test]
    fn a_whole_number_may_be_written_with_decimals() {
        let kind = table().kind("coordination.k8s.io/v1", "Lease").expect("leases are served");
        let config = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "spec": {"leaseTransitions": 2.0}});
        let lease = apply(table(), kind, None, &config, &by("one"), false, &FieldSet::default());
        assert_eq!(lease.expect("two is a number")["spec"]["leaseTransitions"], json!(2));
    }
}
