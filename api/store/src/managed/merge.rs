//! Lays an applied configuration over an object, and takes fields out of one.

use std::collections::{BTreeMap, BTreeSet};

use schema::{StructId, Table};
use serde_json::{Map, Value};

use super::fieldset::FieldSet;
use super::form::{Elements, Form, Place, fields_in, items_in};
use super::path_element::PathElement;

/// `live` with everything that `config` says.
pub(super) fn merge(table: &Table, id: StructId, live: &Value, config: &Value) -> Value {
    let known = table.get(id);
    let place = |name: &str| known.field(name).map(Place::of);
    Value::Object(Merge { table }.entries(fields_in(Some(live)), fields_in(Some(config)), place))
}

#[derive(Clone, Copy)]
struct Merge<'a> {
    table: &'a Table,
}

impl<'a> Merge<'a> {
    /// What is at a place where at least one of both is; `None` when nothing stays.
    fn value(self, place: Place<'a>, old: Option<&'a Value>, new: Option<&'a Value>) -> Option<Value> {
        match place.form(self.table) {
            Form::Struct(known) => {
                let (olds, news) = (fields_in(old), fields_in(new));
                if olds.is_some() || news.is_some() {
                    let merged = self.entries(olds, news, |name| known.field(name).map(Place::of));
                    return (!merged.is_empty()).then_some(Value::Object(merged));
                }
            }
            Form::Map(entry) => {
                let (olds, news) = (fields_in(old), fields_in(new));
                if olds.is_some() || news.is_some() {
                    let merged = self.entries(olds, news, |_| Some(entry));
                    return (!merged.is_empty()).then_some(Value::Object(merged));
                }
            }
            Form::List(elements) => {
                let (olds, news) = (items_in(old), items_in(new));
                if !olds.is_empty() || !news.is_empty() {
                    return Some(Value::Array(self.elements(elements, olds, news)));
                }
            }
            Form::Whole => {}
        }
        new.or(old).cloned()
    }

    fn entries(
        self,
        old: Option<&'a Map<String, Value>>,
        new: Option<&'a Map<String, Value>>,
        place: impl Fn(&str) -> Option<Place<'a>>,
    ) -> Map<String, Value> {
        let merged = |name: &str, old: Option<&'a Value>, new: Option<&'a Value>| match place(name) {
            Some(place) => self.value(place, old, new),
            None => new.or(old).cloned(),
        };
        let mut entries = Map::new();
        for (name, value) in old.into_iter().flatten() {
            let new = new.and_then(|new| new.get(name));
            entries.extend(merged(name, Some(value), new).map(|value| (name.clone(), value)));
        }
        for (name, value) in new.into_iter().flatten() {
            if old.is_none_or(|old| !old.contains_key(name)) {
                entries.extend(merged(name, None, Some(value)).map(|value| (name.clone(), value)));
            }
        }
        entries
    }

    /// Elements that both have are in the order of `new`; the others stay where they are, those of `old` first.
    fn elements(self, elements: Elements<'a>, old: &'a [Value], new: &'a [Value]) -> Vec<Value> {
        let (old_path_elements, new_path_elements) =
            (path_elements(elements, old), path_elements(elements, new));
        let news: BTreeMap<&PathElement<'a>, &'a Value> = new_path_elements.iter().zip(new).collect();
        // Elements of the old list that cannot be told apart merge with nothing.
        let mut olds: BTreeMap<&PathElement<'a>, Option<&'a Value>> = BTreeMap::new();
        for (path_element, value) in old_path_elements.iter().zip(old) {
            olds.entry(path_element).and_modify(|found| *found = None).or_insert(Some(value));
        }
        let mut shared = new_path_elements.iter().filter(|path_element| olds.contains_key(path_element));
        let mut next = shared.next();
        let mut done: BTreeSet<&PathElement<'a>> = BTreeSet::new();
        let mut merged = Vec::with_capacity(old.len().max(new.len()));
        let (mut at_old, mut at_new) = (0, 0);
        while at_old < old.len() || at_new < new.len() {
            if let (Some(path_element), Some(wanted)) =
                (old_path_elements.get(at_old), new_path_elements.get(at_new))
                && path_element != wanted
                && news.contains_key(path_element)
                && next.is_some_and(|next| next != path_element)
            {
                // The new list has this element further on.
                at_old += 1;
                continue;
            }
            if let Some(path_element) = old_path_elements.get(at_old)
                && Some(path_element) != new_path_elements.get(at_new)
            {
                if !news.contains_key(path_element) {
                    merged.extend(self.value(elements.place, Some(&old[at_old]), None));
                    at_old += 1;
                    continue;
                }
                at_old += usize::from(done.contains(path_element));
            }
            if let Some(path_element) = new_path_elements.get(at_new) {
                let had = olds.get(path_element).copied().flatten();
                merged.extend(self.value(elements.place, had, news.get(path_element).copied()));
                done.insert(path_element);
                at_old += usize::from(old_path_elements.get(at_old) == Some(path_element));
                at_new += 1;
                if next == Some(path_element) {
                    next = shared.next();
                }
            }
        }
        merged
    }
}

/// The path elements of a list's elements; one that has none is known by its position.
fn path_elements<'a>(elements: Elements<'a>, items: &'a [Value]) -> Vec<PathElement<'a>> {
    let position = |at: usize| PathElement::Index(i64::try_from(at).unwrap_or(i64::MAX));
    items
        .iter()
        .enumerate()
        .map(|(at, item)| elements.path_element(item).unwrap_or_else(|_| position(at)))
        .collect()
}

/// The object without the fields of a set.
pub(super) fn remove(table: &Table, id: StructId, object: &Value, fields: &FieldSet<'_>) -> Value {
    remove_inside(table, Form::Struct(table.get(id)), object, fields)
}

fn remove_inside(table: &Table, form: Form<'_>, value: &Value, fields: &FieldSet<'_>) -> Value {
    if fields.is_empty() {
        return value.clone();
    }
    let reduce = |place: Option<Place<'_>>, path_element: &PathElement<'_>, value: &Value| match fields
        .get(path_element)
    {
        None => Some(value.clone()),
        Some(node) if node.member => None,
        Some(node) => Some(match place {
            Some(place) => remove_inside(table, place.form(table), value, &node.children),
            None => value.clone(),
        }),
    };
    let kept = match (form, value) {
        (Form::Struct(known), Value::Object(entries)) => Value::Object(
            entries
                .iter()
                .filter_map(|(name, value)| {
                    let place = known.field(name).map(Place::of);
                    reduce(place, &PathElement::Field(name), value).map(|value| (name.clone(), value))
                })
                .collect(),
        ),
        (Form::Map(entry), Value::Object(entries)) => Value::Object(
            entries
                .iter()
                .filter_map(|(name, value)| {
                    reduce(Some(entry), &PathElement::Field(name), value).map(|value| (name.clone(), value))
                })
                .collect(),
        ),
        (Form::List(elements), Value::Array(items)) => Value::Array(
            items
                .iter()
                .filter_map(|item| match elements.path_element(item) {
                    Ok(path_element) => reduce(Some(elements.place), &path_element, item),
                    Err(_) => Some(item.clone()),
                })
                .collect(),
        ),
        (_, value) => return value.clone(),
    };
    // What lost all its parts is unset, not empty.
    match &kept {
        Value::Object(entries) if entries.is_empty() => Value::Null,
        Value::Array(items) if items.is_empty() => Value::Null,
        _ => kept,
    }
}

#[cfg(test)]
mod tests {
    use schema::table;
    use serde_json::{Value, json};

    use super::{merge, remove};
    use crate::managed::fieldset::FieldSet;

    fn names(live: &[&str], config: &[&str]) -> String {
        let pod = table().kind("v1", "Pod").expect("pods are served").object;
        let with = |names: &[&str]| {
            let containers: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
            json!({"spec": {"containers": containers}})
        };
        let merged = merge(table(), pod, &with(live), &with(config));
        let names = merged["spec"]["containers"].as_array().expect("a list").iter();
        names.map(|container| container["name"].as_str().expect("a name")).collect()
    }

    #[test]
    fn shared_elements_take_the_order_of_the_configuration() {
        assert_eq!(names(&["a", "b", "c"], &["c", "a"]), "bca");
        assert_eq!(names(&["a", "b"], &["a", "x", "b"]), "axb");
        assert_eq!(names(&["a", "b"], &["x"]), "abx");
        assert_eq!(names(&["a", "b", "c", "d"], &["d", "b"]), "acdb");
        assert_eq!(names(&[], &["x", "y"]), "xy");
    }

    #[test]
    fn what_lost_all_its_parts_is_unset() {
        let pod = table().kind("v1", "Pod").expect("pods are served").object;
        let object = json!({"metadata": {"name": "p", "labels": {"a": "1"}, "finalizers": ["x/y", "z/y"]}});
        let gone = json!({"f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {"v:\"x/y\"": {}}}});
        let kept = remove(table(), pod, &object, &FieldSet::from_json(&gone).expect("well formed"));
        assert_eq!(kept, json!({"metadata": {"name": "p", "labels": null, "finalizers": ["z/y"]}}));
    }
}
