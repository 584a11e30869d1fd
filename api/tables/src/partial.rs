//! Objects as their metadata alone.

use serde_json::{Map, Value};

use crate::fields;
use crate::table::MetaVersion;

/// The object as a `PartialObjectMetadata`.
pub fn partial(object: &Value, version: MetaVersion) -> Value {
    let metadata = match &object["metadata"] {
        Value::Null => Value::Object(Map::new()),
        metadata => metadata.clone(),
    };
    fields::object([
        ("kind", "PartialObjectMetadata".into()),
        ("apiVersion", version.api_version().into()),
        ("metadata", metadata),
    ])
}

/// The objects as a `PartialObjectMetadataList` with the metadata of the list that they come from.
pub fn partial_list<'a>(
    objects: impl IntoIterator<Item = &'a Value>,
    list_meta: Value,
    version: MetaVersion,
) -> Value {
    let items: Vec<Value> = objects.into_iter().map(|object| partial(object, version)).collect();
    fields::object([
        ("kind", "PartialObjectMetadataList".into()),
        ("apiVersion", version.api_version().into()),
        ("metadata", list_meta),
        ("items", items.into()),
    ])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{partial, partial_list};
    use crate::MetaVersion;

    #[test]
    fn only_metadata_is_left_of_an_object() {
        let pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {"x": 1}});
        let expected = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}});
        assert_eq!(partial(&pod, MetaVersion::V1), expected);
        assert_eq!(
            partial_list([&pod], json!({"resourceVersion": "7"}), MetaVersion::V1),
            json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": {"resourceVersion": "7"},
                "items": [expected],
            })
        );
    }
}
