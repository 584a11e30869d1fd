//! JSON patches (RFC 6902), as leniently as Kubernetes reads them: replacing a field that is not there sets it.

use serde_json::Value;

use super::PatchError;

/// More operations than anybody writes by hand, and few enough to apply at once.
const OPERATIONS_MAX: usize = 10_000;
/// What all copies of a patch may add, so that copies of copies cannot grow without bound.
const COPIED_BYTES_MAX: usize = 3 * 1024 * 1024;

/// How many elements of lists may be moved by one for what is put before them or taken out: every operation may do so in
/// a list of several thousand.
const SHIFTED_MAX: usize = 50_000_000;

/// Applies the operations in order; the first that does not fit refuses the whole patch.
///
/// # Errors
/// When an operation is malformed, names a place that is not there, or tests a value that is another.
pub fn json_patch(target: &mut Value, patch: &Value) -> Result<(), PatchError> {
    let Value::Array(operations) = patch else {
        return Err(PatchError::Malformed("a JSON patch is a list of operations".to_owned()));
    };
    if operations.len() > OPERATIONS_MAX {
        return Err(PatchError::TooManyOperations { have: operations.len(), most: OPERATIONS_MAX });
    }
    let mut work = Work::default();
    for (index, operation) in operations.iter().enumerate() {
        let operation = Operation::read(operation)
            .map_err(|what| PatchError::Malformed(format!("operation {index}: {what}")))?;
        operation
            .apply(target, &mut work)
            .map_err(|what| PatchError::Unfit(format!("operation {index}: {what}")))?;
    }
    Ok(())
}

enum Operation {
    Add(Pointer, Value),
    Remove(Pointer),
    Replace(Pointer, Value),
    Move { from: Pointer, to: Pointer },
    Copy { from: Pointer, to: Pointer },
    Test(Pointer, Value),
}

impl Operation {
    fn read(operation: &Value) -> Result<Self, String> {
        let Value::Object(fields) = operation else { return Err("must be an object".to_owned()) };
        let pointer = |name: &str| match fields.get(name) {
            Some(Value::String(text)) => Pointer::read(text),
            _ => Err(format!("needs {name:?}")),
        };
        let value = || fields.get("value").cloned().ok_or_else(|| "needs \"value\"".to_owned());
        let to = pointer("path")?;
        Ok(match fields.get("op").and_then(Value::as_str) {
            Some("add") => Self::Add(to, value()?),
            Some("remove") => Self::Remove(to),
            Some("replace") => Self::Replace(to, value()?),
            Some("move") => Self::Move { from: pointer("from")?, to },
            Some("copy") => Self::Copy { from: pointer("from")?, to },
            // A test without a value asks whether nothing is there.
            Some("test") => Self::Test(to, fields.get("value").cloned().unwrap_or(Value::Null)),
            Some(other) => {
                return Err(format!("{other:?} is none of add, remove, replace, move, copy, test"));
            }
            None => return Err("needs \"op\"".to_owned()),
        })
    }

    fn apply(self, target: &mut Value, work: &mut Work) -> Result<(), String> {
        match self {
            Self::Add(to, value) => to.add(target, value, work),
            Self::Remove(from) => from.remove(target, work).map(|_| ()),
            Self::Replace(to, value) => to.replace(target, value),
            Self::Move { from, to } => {
                let value = from.remove(target, work)?;
                to.add(target, value, work)
            }
            Self::Copy { from, to } => {
                let value = from.get(target).ok_or_else(|| format!("{from} is not there"))?;
                work.copy(value.to_string().len())?;
                let value = value.clone();
                to.add(target, value, work)
            }
            Self::Test(at, expected) => {
                let found = at.get(target).unwrap_or(&Value::Null);
                if *found == expected { Ok(()) } else { Err(format!("{at} has another value")) }
            }
        }
    }
}

/// What the operations of a patch have cost so far.
#[derive(Default)]
struct Work {
    copied_bytes: usize,
    shifted: usize,
}

impl Work {
    fn copy(&mut self, bytes: usize) -> Result<(), String> {
        self.copied_bytes += bytes;
        if self.copied_bytes > COPIED_BYTES_MAX {
            return Err(format!("the copies add more than {COPIED_BYTES_MAX} bytes"));
        }
        Ok(())
    }

    fn shift(&mut self, elements: usize) -> Result<(), String> {
        self.shifted += elements;
        if self.shifted > SHIFTED_MAX {
            return Err(format!("the operations move more than {SHIFTED_MAX} elements of lists"));
        }
        Ok(())
    }
}

/// A place in a document: `/spec/devices/0`.
struct Pointer(Vec<String>);

impl std::fmt::Display for Pointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|part| write!(f, "/{}", part.replace('~', "~0").replace('/', "~1")))
    }
}

impl Pointer {
    fn read(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            None if text.is_empty() => Ok(Self(Vec::new())),
            Some(("", rest)) => {
                Ok(Self(rest.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect()))
            }
            _ => Err(format!("{text:?} must start with '/'")),
        }
    }

    fn get<'v>(&self, target: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(target, |value, part| match value {
            Value::Object(fields) => fields.get(part),
            Value::Array(items) => items.get(position(part, items.len())?),
            _ => None,
        })
    }

    /// The holder of the last step, and the last step.
    fn holder<'v>(&self, target: &'v mut Value) -> Result<(&'v mut Value, &str), String> {
        let (last, way) = self.0.split_last().ok_or("the whole object cannot be added or removed")?;
        let holder = way.iter().try_fold(target, |value, part| match value {
            Value::Object(fields) => fields.get_mut(part),
            Value::Array(items) => position(part, items.len()).and_then(|at| items.get_mut(at)),
            _ => None,
        });
        holder.map(|holder| (holder, last.as_str())).ok_or_else(|| format!("{self} is not there"))
    }

    fn add(&self, target: &mut Value, value: Value, work: &mut Work) -> Result<(), String> {
        if self.0.is_empty() {
            *target = value;
            return Ok(());
        }
        match self.holder(target)? {
            (Value::Object(fields), name) => {
                fields.insert(name.to_owned(), value);
                Ok(())
            }
            (Value::Array(items), "-") => {
                items.push(value);
                Ok(())
            }
            (Value::Array(items), index) => {
                let at =
                    position(index, items.len() + 1).ok_or_else(|| format!("{self} is beyond the list"))?;
                work.shift(items.len() - at)?;
                items.insert(at, value);
                Ok(())
            }
            _ => Err(format!("{self} is not in an object or list")),
        }
    }

    fn remove(&self, target: &mut Value, work: &mut Work) -> Result<Value, String> {
        let missing = || format!("{self} is not there");
        match self.holder(target)? {
            (Value::Object(fields), name) => fields.remove(name).ok_or_else(missing),
            (Value::Array(items), index) => {
                let at = position(index, items.len()).ok_or_else(missing)?;
                work.shift(items.len() - at)?;
                Ok(items.remove(at))
            }
            _ => Err(missing()),
        }
    }

    fn replace(&self, target: &mut Value, value: Value) -> Result<(), String> {
        if self.0.is_empty() {
            *target = value;
            return Ok(());
        }
        match self.holder(target)? {
            (Value::Object(fields), name) => {
                fields.insert(name.to_owned(), value);
                Ok(())
            }
            (Value::Array(items), index) => {
                let at = position(index, items.len()).ok_or_else(|| format!("{self} is not there"))?;
                items[at] = value;
                Ok(())
            }
            _ => Err(format!("{self} is not there")),
        }
    }
}

/// An index below `length`. Negative ones count from the end, as Kubernetes' library allows.
fn position(text: &str, length: usize) -> Option<usize> {
    let index: i64 = text.parse().ok()?;
    let length = i64::try_from(length).ok()?;
    let index = if index < 0 { index + length } else { index };
    usize::try_from(index).ok().filter(|_| index < length)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::PatchError;
    use super::json_patch;

    #[expect(clippy::needless_pass_by_value, reason = "a case reads best with its values in place")]
    fn patched(mut target: Value, patch: Value) -> Result<Value, PatchError> {
        json_patch(&mut target, &patch).map(|()| target)
    }

    #[test]
    fn operations_apply_in_order() {
        let patch = json!([
            {"op": "add", "path": "/list/0", "value": 0},
            {"op": "add", "path": "/list/-", "value": 3},
            {"op": "copy", "from": "/list/0", "path": "/first"},
            {"op": "move", "from": "/old", "path": "/new"},
            {"op": "test", "path": "/new", "value": "x"},
            {"op": "remove", "path": "/list/1"},
            {"op": "add", "path": "/a~1b", "value": 1},
        ]);
        let result = patched(json!({"list": [1, 2], "old": "x"}), patch);
        assert_eq!(result, Ok(json!({"list": [0, 2, 3], "first": 0, "new": "x", "a/b": 1})));
    }

    #[test]
    fn replacing_what_is_not_there_sets_it() {
        let result = patched(json!({"a": {}}), json!([{"op": "replace", "path": "/a/b", "value": 1}]));
        assert_eq!(result, Ok(json!({"a": {"b": 1}})));
    }

    #[test]
    fn a_failed_test_or_a_missing_place_refuses_the_patch() {
        for patch in [
            json!([{"op": "test", "path": "/a", "value": 2}]),
            json!([{"op": "remove", "path": "/b"}]),
            json!([{"op": "add", "path": "/b/c", "value": 1}]),
            json!([{"op": "add", "path": "/list/9", "value": 1}]),
        ] {
            let result = patched(json!({"a": 1, "list": []}), patch.clone());
            assert!(matches!(result, Err(PatchError::Unfit(_))), "{patch}");
        }
        for patch in
            [json!({}), json!([{"path": "/a"}]), json!([{"op": "add", "path": "a", "value": 1}]), json!([1])]
        {
            let result = patched(json!({"a": 1}), patch.clone());
            assert!(matches!(result, Err(PatchError::Malformed(_))), "{patch}");
        }
    }

    #[test]
    fn copies_of_copies_cannot_grow_without_bound() {
        let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
        let result = patched(json!({"a": ["x".repeat(1000)]}), Value::Array(vec![double; 40]));
        assert!(matches!(result, Err(PatchError::Unfit(_))));
    }

    #[test]
    fn a_hundred_thousand_operations_are_refused() {
        let many = Value::Array(vec![json!({"op": "add", "path": "/a", "value": 1}); 100_000]);
        assert!(matches!(patched(json!({}), many), Err(PatchError::TooManyOperations { .. })));
    }
}
