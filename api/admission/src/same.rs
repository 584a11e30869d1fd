//! Whether two structures say the same, however they were written.
//!
//! A client may spell out a zero or an empty list, or write an amount in another unit. None of that is a change.

use schema::{fill, table};
use serde::Serialize;
use serde_json::Value;

/// Both say the same. `structure` is their name in the schema table, such as `core.v1.PodSpec`.
pub(crate) fn same<T: PartialEq + Serialize>(structure: &str, new: &T, old: &T) -> bool {
    new == old || written(structure, new) == written(structure, old)
}

fn written<T: Serialize>(structure: &str, value: &T) -> Value {
    let mut value = serde_json::to_value(value).expect("wire types have string keys and finite numbers");
    let id = table().find(structure);
    debug_assert!(id.is_some(), "{structure} is no structure of the table");
    if let Some(id) = id {
        fill(table(), id, &mut value);
    }
    value
}

#[cfg(test)]
mod tests {
    use objects::core::pod::PodSpec;
    use serde_json::json;

    use super::same;

    #[test]
    fn a_zero_that_is_spelled_out_is_no_change() {
        let spec = |container: serde_json::Value| -> PodSpec {
            serde_json::from_value(json!({"containers": [container]})).expect("a spec")
        };
        let short = spec(json!({"name": "c", "resources": {"limits": {"cpu": "1"}}}));
        let long =
            spec(json!({"name": "c", "stdin": false, "args": [], "resources": {"limits": {"cpu": "1000m"}}}));
        assert!(same("core.v1.PodSpec", &short, &long));
        assert!(!same("core.v1.PodSpec", &short, &spec(json!({"name": "c", "stdin": true}))));
    }
}
