//! Strategic merge patches: like a merge patch, but lists whose elements have a key are merged by it.
//!
//! Directives: `$patch: replace|delete`, `$retainKeys`, `$deleteFromPrimitiveList/NAME`, `$setElementOrder/NAME`.

use std::collections::{BTreeMap, BTreeSet};

use schema::{Field, Patch, Shape, StructId, Table};
use serde_json::{Map, Value};

use super::PatchError;

const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

/// Applies `patch` to `target`, an object of the structure `id`.
///
/// # Errors
/// When a directive is unknown or a patch of a list is no list.
pub fn strategic_merge_patch(
    table: &Table,
    id: StructId,
    target: &mut Value,
    patch: Value,
) -> Result<(), PatchError> {
    let Value::Object(patch) = patch else {
        return Err(PatchError::Malformed("a strategic merge patch is an object".to_owned()));
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else { return Ok(()) };
    merge_fields(table, Some(id), fields, patch)
}

fn merge_fields(
    table: &Table,
    id: Option<StructId>,
    target: &mut Map<String, Value>,
    mut patch: Map<String, Value>,
) -> Result<(), PatchError> {
    match patch.remove("$patch").as_ref().map(|directive| directive.as_str().unwrap_or_default()) {
        None | Some("merge") => {}
        Some("replace") => {
            *target = without_directives(patch);
            return Ok(());
        }
        Some("delete") => {
            target.clear();
            return Ok(());
        }
        Some(other) => return Err(PatchError::Malformed(format!("unknown directive $patch: {other:?}"))),
    }
    if let Some(Value::Array(keep)) = patch.remove("$retainKeys") {
        let keep: BTreeSet<&str> = keep.iter().filter_map(Value::as_str).collect();
        target.retain(|name, _| keep.contains(name.as_str()));
    }
    let (directives, plain): (Vec<_>, Vec<_>) =
        patch.into_iter().partition(|(name, _)| name.starts_with('$'));
    let before: Map<String, Value> =
        if directives.iter().any(|(name, _)| name.starts_with(ORDER)) { target.clone() } else { Map::new() };
    for (name, list) in &directives {
        if let Some(field) = name.strip_prefix(DELETE_FROM)
            && let (Some(Value::Array(items)), Value::Array(gone)) = (target.get_mut(field), list)
        {
            let gone: BTreeSet<String> = gone.iter().map(Value::to_string).collect();
            items.retain(|item| !gone.contains(&item.to_string()));
        }
    }
    for (name, value) in plain {
        let field = id.and_then(|id| table.get(id).field(&name));
        merge_field(table, field, target, name, value)?;
    }
    for (name, wanted) in &directives {
        if let Some(field_name) = name.strip_prefix(ORDER)
            && let (Some(Value::Array(items)), Value::Array(wanted)) = (target.get_mut(field_name), wanted)
        {
            let field = id.and_then(|id| table.get(id).field(field_name));
            let old = before.get(field_name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            *items = order(std::mem::take(items), old, wanted, field.and_then(merge_key));
        }
    }
    Ok(())
}

fn merge_field(
    table: &Table,
    field: Option<&Field>,
    target: &mut Map<String, Value>,
    name: String,
    patch: Value,
) -> Result<(), PatchError> {
    if patch.is_null() {
        target.remove(&name);
        return Ok(());
    }
    let shape = field.map(|field| &field.shape);
    match patch {
        Value::Object(patch) => {
            let replaced = field.is_some_and(|field| field.patch == Patch::Replace);
            match target.get_mut(&name) {
                Some(Value::Object(fields)) if !replaced => {
                    let id = if let Some(Shape::Struct(id)) = shape { Some(*id) } else { None };
                    merge_fields(table, id, fields, patch)?;
                }
                _ => {
                    target.insert(name, Value::Object(without_directives(patch)));
                }
            }
        }
        Value::Array(patch) => {
            let merged = match (field, target.remove(&name)) {
                (
                    Some(Field { patch: Patch::Merge { key, .. }, shape: Shape::List(element), .. }),
                    Some(Value::Array(items)),
                ) => merge_list(table, element, key.as_deref(), items, patch)?,
                _ => patch.into_iter().filter(|item| !is_directive(item)).map(clean).collect(),
            };
            target.insert(name, Value::Array(merged));
        }
        other => {
            target.insert(name, other);
        }
    }
    Ok(())
}

fn merge_key(field: &Field) -> Option<&str> {
    match &field.patch {
        Patch::Merge { key, .. } => key.as_deref(),
        _ => None,
    }
}

fn merge_list(
    table: &Table,
    element: &Shape,
    key: Option<&str>,
    mut items: Vec<Value>,
    patch: Vec<Value>,
) -> Result<Vec<Value>, PatchError> {
    let before = items.clone();
    let Some(key) = key else {
        let mut have: BTreeSet<String> = items.iter().map(Value::to_string).collect();
        items.extend(patch.iter().filter(|value| have.insert(value.to_string())).cloned());
        return Ok(order(items, &before, &patch, None));
    };
    if patch.iter().any(|item| item.get("$patch").is_some_and(|directive| directive == "replace")) {
        return Ok(patch.into_iter().filter(|item| !is_directive(item)).map(clean).collect());
    }
    // Elements by key, the first of each key first. One that is deleted leaves its place empty.
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, identity) in
        items.iter().enumerate().filter_map(|(at, item)| Some((at, identity(item, Some(key))?)))
    {
        places.entry(identity).or_default().push(at);
    }
    let mut items: Vec<Option<Value>> = items.into_iter().map(Some).collect();
    for item in patch.clone() {
        let Value::Object(mut fields) = item else {
            return Err(PatchError::Malformed(format!(
                "an element of a list that is merged by {key:?} must be an object"
            )));
        };
        let Some(wanted) = fields.get(key).map(Value::to_string) else {
            return Err(PatchError::Malformed(format!(
                "an element of a list that is merged by {key:?} lacks it"
            )));
        };
        if fields.get("$patch").is_some_and(|directive| directive == "delete") {
            places.remove(&wanted).into_iter().flatten().for_each(|at| items[at] = None);
            continue;
        }
        let found = places.get(&wanted).and_then(|places| places.first());
        match found.and_then(|at| items[*at].as_mut()).and_then(Value::as_object_mut) {
            Some(have) => {
                let id = if let Shape::Struct(id) = element { Some(*id) } else { None };
                merge_fields(table, id, have, fields)?;
            }
            None => {
                fields.remove("$patch");
                places.entry(wanted).or_default().push(items.len());
                items.push(Some(Value::Object(without_directives(fields))));
            }
        }
    }
    Ok(order(items.into_iter().flatten().collect(), &before, &patch, Some(key)))
}

/// What an element of a list is known by: its key, or all of it.
fn identity(item: &Value, key: Option<&str>) -> Option<String> {
    match key {
        Some(key) => item.get(key).map(Value::to_string),
        None => Some(item.to_string()),
    }
}

/// The first place of each element.
fn ranks(list: &[Value], key: Option<&str>) -> BTreeMap<String, usize> {
    let mut ranks = BTreeMap::new();
    for (at, item) in list.iter().enumerate() {
        if let Some(identity) = identity(item, key) {
            ranks.entry(identity).or_insert(at);
        }
    }
    ranks
}

/// Orders a merged list: what the patch names is in the patch's order, the rest in the order it had before. Where the
/// old order decides between one of each, it does; otherwise what the patch names comes first.
fn order(merged: Vec<Value>, before: &[Value], wanted: &[Value], key: Option<&str>) -> Vec<Value> {
    let (wanted, before) = (ranks(wanted, key), ranks(before, key));
    let mut named: Vec<(usize, Option<usize>, Value)> = Vec::new();
    let mut others: Vec<(Option<usize>, Value)> = Vec::new();
    for item in merged {
        let identity = identity(&item, key);
        let rank = |ranks: &BTreeMap<String, usize>| ranks.get(identity.as_ref()?).copied();
        match rank(&wanted) {
            Some(at) => named.push((at, rank(&before), item)),
            None => others.push((rank(&before), item)),
        }
    }
    named.sort_by_key(|(wanted, _, _)| *wanted);
    others.sort_by_key(|(before, _)| *before);
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    let mut ordered = Vec::new();
    while let (Some((_, name, _)), Some((other, _))) = (named.peek(), others.peek()) {
        let earlier = other.zip(*name).is_some_and(|(other, name)| other < name);
        ordered.extend(if earlier {
            others.next().map(|(_, item)| item)
        } else {
            named.next().map(|(_, _, item)| item)
        });
    }
    ordered.extend(named.map(|(_, _, item)| item));
    ordered.extend(others.map(|(_, item)| item));
    ordered
}

fn is_directive(item: &Value) -> bool {
    item.as_object().is_some_and(|fields| fields.contains_key("$patch"))
}

fn clean(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(without_directives(fields)),
        Value::Array(items) => {
            Value::Array(items.into_iter().filter(|item| !is_directive(item)).map(clean).collect())
        }
        other => other,
    }
}

/// A new value has nothing to delete or reorder, so directives and nulls in it mean nothing.
fn without_directives(fields: Map<String, Value>) -> Map<String, Value> {
    let kept = fields.into_iter().filter(|(name, value)| !name.starts_with('$') && !value.is_null());
    kept.map(|(name, value)| (name, clean(value))).collect()
}

#[cfg(test)]
mod tests {
    use schema::table;
    use serde_json::{Value, json};

    use super::strategic_merge_patch;

    #[expect(clippy::needless_pass_by_value, reason = "a case reads best with its values in place")]
    fn check(mut target: Value, patch: Value, expected: Value) {
        let pod = table().kind("v1", "Pod").expect("pods are served");
        strategic_merge_patch(table(), pod.object, &mut target, patch).expect("the patch is well formed");
        assert_eq!(target, expected);
    }

    #[test]
    fn lists_with_a_key_are_merged_by_it() {
        check(
            json!({"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b"}]}}),
            json!({"spec": {"containers": [{"name": "a", "image": "y"}, {"name": "c"}]}}),
            json!({"spec": {"containers": [{"name": "a", "image": "y"}, {"name": "c"}, {"name": "b"}]}}),
        );
    }

    #[test]
    fn elements_can_be_deleted_and_lists_replaced() {
        let target = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
        check(
            target.clone(),
            json!({"spec": {"containers": [{"name": "a", "$patch": "delete"}]}}),
            json!({"spec": {"containers": [{"name": "b"}]}}),
        );
        check(
            target,
            json!({"spec": {"containers": [{"$patch": "replace"}, {"name": "c"}]}}),
            json!({"spec": {"containers": [{"name": "c"}]}}),
        );
    }

    #[test]
    fn finalizers_are_a_set_and_tolerations_are_one_value() {
        check(
            json!({"metadata": {"finalizers": ["a/b"]}, "spec": {"tolerations": [{"key": "x"}]}}),
            json!({"metadata": {"finalizers": ["c/d", "a/b"]}, "spec": {"tolerations": [{"key": "y"}]}}),
            json!({"metadata": {"finalizers": ["c/d", "a/b"]}, "spec": {"tolerations": [{"key": "y"}]}}),
        );
        check(
            json!({"metadata": {"finalizers": ["a/b", "c/d"]}}),
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}}),
            json!({"metadata": {"finalizers": ["c/d"]}}),
        );
    }

    #[test]
    fn an_order_decides_and_what_it_does_not_name_keeps_its_place() {
        check(
            json!({"spec": {"containers": [{"name": "a"}, {"name": "x"}, {"name": "b"}]}}),
            json!({"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}),
            json!({"spec": {"containers": [{"name": "x"}, {"name": "b"}, {"name": "a"}]}}),
        );
    }

    #[test]
    fn null_removes_a_field_and_replace_a_whole_map() {
        check(
            json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"nodeName": "n"}}),
            json!({"metadata": {"labels": {"$patch": "replace", "c": "3"}}, "spec": {"nodeName": null}}),
            json!({"metadata": {"labels": {"c": "3"}}, "spec": {}}),
        );
    }
}
