//! Namespaces that are being deleted: their contents go first, then they do.

use serde_json::Value;

/// What to do about a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Leave,
    /// Delete what is in it.
    Empty,
    /// It is empty: take its finalizer away.
    Finish,
}

/// Decides about a namespace with so many objects in it.
pub fn decide(namespace: &Value, objects: usize) -> Action {
    let ours = |finalizer: &Value| finalizer == "kubernetes";
    let held = namespace["spec"]["finalizers"].as_array().is_some_and(|list| list.iter().any(ours));
    match (namespace["metadata"].get("deletionTimestamp").is_some() && held, objects) {
        (false, _) => Action::Leave,
        (true, 0) => Action::Finish,
        (true, _) => Action::Empty,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Action, decide};

    #[test]
    fn a_namespace_goes_when_it_is_empty() {
        let deleting =
            json!({"metadata": {"deletionTimestamp": "t"}, "spec": {"finalizers": ["kubernetes"]}});
        assert_eq!(decide(&deleting, 3), Action::Empty);
        assert_eq!(decide(&deleting, 0), Action::Finish);
        assert_eq!(
            decide(&json!({"metadata": {}, "spec": {"finalizers": ["kubernetes"]}}), 0),
            Action::Leave
        );
        assert_eq!(decide(&json!({"metadata": {"deletionTimestamp": "t"}, "spec": {}}), 0), Action::Leave);
    }
}
