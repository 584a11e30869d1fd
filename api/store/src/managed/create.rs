//! The managed fields of a new object, written in one walk without a set in between, because creates are what a server
//! is busiest with.
//!
//! Invariant: the answer is that of comparing the object with one in which nothing was set.

use schema::{Field, Presence, Shape, Struct, Table};
use serde_json::{Map, Value};

use super::fieldset::FieldSet;
use super::form::{Form, Place};
use super::path_element::{PathElement, same};
use super::tracker::untracked;

/// What was at a place before.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// Nothing: the place itself is new.
    Absent,
    /// What is always written, with nothing in it.
    Empty,
}

/// The fields that whoever creates `object` owns, except for those that `reset` names at the top.
pub(super) fn created(table: &Table, known: &Struct, object: &Value, reset: &FieldSet<'_>) -> Value {
    let walk = Walk { table };
    let Value::Object(entries) = object else { return Value::Object(Map::new()) };
    let mut fields = Fields::new();
    for (name, value) in entries {
        let Some(field) = known.field(name) else { continue };
        if reset.get(&PathElement::Field(name)).is_some_and(|node| node.member) {
            continue;
        }
        let hidden = untracked().get(&PathElement::Field(name)).map(|node| &node.children);
        walk.field(&mut fields, Before::Empty, field, value, hidden);
    }
    Value::Object(fields.into_iter().collect())
}

/// Steps and what is below them, in the order of their texts: a map is built faster from a list in order.
type Fields = Vec<(String, Value)>;

#[derive(Clone, Copy)]
struct Walk<'a> {
    table: &'a Table,
}

impl Walk<'_> {
    /// Adds a field of a structure that was there `before`.
    fn field(
        self,
        fields: &mut Fields,
        before: Before,
        field: &Field,
        value: &Value,
        hidden: Option<&FieldSet<'_>>,
    ) {
        let always = matches!(field.presence, Presence::Always | Presence::Null);
        let before = if always && before == Before::Empty { before } else { Before::Absent };
        let form = Place::of(field).form(self.table);
        if let (Form::Whole, Before::Empty) = (form, before)
            && same(value, &nothing(field, self.table))
        {
            return;
        }
        if let Some(below) = self.below(form, before, value, hidden) {
            fields.push((["f:", field.name.as_str()].concat(), below));
        }
    }

    /// What is owned at a place: nothing at all, or the place itself if nothing is below it.
    fn below(
        self,
        form: Form<'_>,
        before: Before,
        value: &Value,
        hidden: Option<&FieldSet<'_>>,
    ) -> Option<Value> {
        let start = |count: usize| {
            let mut fields = Fields::with_capacity(count + 1);
            if before == Before::Absent {
                fields.push((".".to_owned(), Value::Object(Map::new())));
            }
            fields
        };
        let fields = match (form, value) {
            (Form::Struct(known), Value::Object(entries)) if !entries.is_empty() => {
                let mut fields = start(entries.len());
                for (name, value) in entries {
                    let is_hidden =
                        || hidden.is_some_and(|hidden| hidden.get(&PathElement::Field(name)).is_some());
                    if let Some(field) = known.field(name).filter(|_| !is_hidden()) {
                        self.field(&mut fields, before, field, value, None);
                    }
                }
                fields
            }
            (Form::Map(entry), Value::Object(entries)) if !entries.is_empty() => {
                let mut fields = start(entries.len());
                for (name, value) in entries {
                    let below = self.below(entry.form(self.table), Before::Absent, value, None);
                    fields.push((["f:", name.as_str()].concat(), below.unwrap_or_default()));
                }
                fields
            }
            (Form::List(elements), Value::Array(items)) if !items.is_empty() => {
                let mut fields = start(items.len());
                for item in items {
                    let Ok(path_element) = elements.path_element(item) else { continue };
                    let below = self.below(elements.place.form(self.table), Before::Absent, item, None);
                    fields.push((path_element.text(), below.unwrap_or_default()));
                }
                own_together(&mut fields);
                fields
            }
            // Where nothing is inside, the place is one value; null is what was there already.
            (Form::Struct(_), _) if before == Before::Empty => return None,
            (_, Value::Null) if before == Before::Empty => return None,
            _ => return Some(Value::Object(Map::new())),
        };
        (!fields.is_empty()).then(|| Value::Object(fields.into_iter().collect()))
    }
}

/// Elements that cannot be told apart are owned as one value.
fn own_together(fields: &mut Fields) {
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    fields.dedup_by(|(next, _), (kept, below)| {
        let again = next == kept;
        if again {
            *below = Value::Object(Map::new());
        }
        again
    });
}

/// What is written for a field that is always there and that nobody set.
fn nothing(field: &Field, table: &Table) -> Value {
    match (&field.shape, field.presence) {
        (Shape::Scalar(scalar), Presence::Always) => scalar.zero(),
        (Shape::Struct(id), Presence::Always) => {
            let mut value = Value::Object(Map::new());
            schema::fill(table, *id, &mut value);
            value
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use schema::table;
    use serde_json::{Value, json};

    use super::created;
    use crate::managed::form::nothing;
    use crate::managed::tracker::untracked;
    use crate::managed::walk::compare;
    use crate::managed::{FieldSet, reset_fields};

    /// The walk and the comparison must agree, whatever the object.
    fn check(api_version: &str, kind: &str, mut object: Value) -> Value {
        let kind = table().kind(api_version, kind).expect("served");
        schema::fill(table(), kind.object, &mut object);
        let reset = reset_fields(kind, "");
        let fields = created(table(), table().get(kind.object), &object, reset);
        let empty = nothing(table(), kind);
        let changed = compare(table(), kind.object, &empty, &object).changed;
        assert_eq!(fields, changed.outside(reset).difference(untracked()).to_json());
        assert!(FieldSet::from_json(&fields).is_ok());
        fields
    }

    #[test]
    fn the_creator_of_a_pod_owns_what_was_set_and_its_defaults() {
        let pod = json!({
            "metadata": {"name": "p", "uid": "u", "labels": {"a": "1"}, "finalizers": ["x/y"], "ownerReferences":
                [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "o"}]},
            "spec": {
                "containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}},
                    "env": [{"name": "A", "value": "1"}, {"name": "B"}, {"name": "A"}, {"name": "A"}],
                    "ports": [{"containerPort": 80, "protocol": "TCP"}]}],
                "volumes": [{"name": "v", "emptyDir": {}}],
                "nodeSelector": {"zone": "a"}, "securityContext": {}, "hostNetwork": false,
            },
            "status": {"phase": "Pending"},
        });
        let fields = check("v1", "Pod", pod);
        assert_eq!(
            fields,
            json!({
                "f:metadata": {"f:finalizers": {".": {}, "v:\"x/y\"": {}}, "f:labels": {".": {}, "f:a": {}},
                    "f:ownerReferences": {".": {}, "k:{\"uid\":\"o\"}": {}}},
                "f:spec": {
                    "f:containers": {"k:{\"name\":\"c\"}": {
                        ".": {}, "f:name": {}, "f:image": {},
                        "f:resources": {".": {}, "f:limits": {".": {}, "f:cpu": {}}},
                        "f:env": {".": {}, "k:{\"name\":\"A\"}": {},
                            "k:{\"name\":\"B\"}": {".": {}, "f:name": {}}},
                        "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}":
                            {".": {}, "f:containerPort": {}, "f:protocol": {}}},
                    }},
                    "f:volumes": {".": {}, "k:{\"name\":\"v\"}": {".": {}, "f:name": {}, "f:emptyDir": {}}},
                    "f:nodeSelector": {}, "f:securityContext": {},
                },
            })
        );
    }

    #[test]
    fn what_is_always_written_is_owned_only_if_it_was_set() {
        check("apps/v1", "StatefulSet", json!({"spec": {"serviceName": "", "template": {"spec": {}}}}));
        check(
            "apps/v1",
            "StatefulSet",
            json!({"spec": {"serviceName": "s", "selector": {}, "template": {}}}),
        );
        check("resource.k8s.io/v1", "ResourceClaim", json!({"spec": {"devices": {"requests": []}}}));
        check("resource.k8s.io/v1", "ResourceSlice", json!({"spec": {"driver": "d", "pool": {"name": "p"}}}));
        check("batch/v1", "Job", json!({"spec": {"template": {"spec": {"containers": [{"name": ""}]}}}}));
        check("coordination.k8s.io/v1", "Lease", json!({"spec": {"leaseTransitions": 0}}));
        assert_eq!(check("v1", "ConfigMap", json!({"metadata": {"name": "m"}})), json!({}));
    }
}
