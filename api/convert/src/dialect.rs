//! Fields of ours on kinds of Kubernetes. Our own server has them as fields; a real one would drop them, and there they are
//! annotations. Whoever reads such an object asks here for what is missing in it.

use std::collections::BTreeMap;

use objects::resource::slice::ResourceSlice;
use objects::supercargo::annotations::BINDING_TIMEOUTS;

use crate::error::{ConvertError, ObjectName};

/// How long devices of a slice may take to be made ready, as its annotation says.
pub(crate) fn binding_timeouts(slice: &ResourceSlice) -> Result<BTreeMap<String, String>, ConvertError> {
    let Some(text) = slice.metadata.annotations.get(BINDING_TIMEOUTS) else { return Ok(BTreeMap::new()) };
    serde_json::from_str(text).map_err(|error| ConvertError::Annotation {
        object: ObjectName::of(slice),
        annotation: BINDING_TIMEOUTS,
        why: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::slice::slice;

    fn read(annotation: &str) -> Result<Vec<Option<String>>, ConvertError> {
        let object = json!({
            "metadata": { "name": "s", "annotations": { BINDING_TIMEOUTS: annotation } },
            "spec": {
                "driver": "d.example.com", "nodeName": "n",
                "pool": { "name": "p", "generation": 1, "resourceSliceCount": 1 },
                "devices": [{ "name": "a", "bindingTimeout": "10s" }, { "name": "b" }, { "name": "c" }],
            },
        });
        let object: ResourceSlice = serde_json::from_value(object).expect("a slice");
        let timeout = |device: model::device::Device| device.binding.timeout.map(|text| text.to_string());
        Ok(slice(&object)?.devices.into_iter().map(timeout).collect())
    }

    #[test]
    fn an_annotation_says_what_a_field_does_not() {
        let found = read(r#"{ "a": "1s", "b": "2m" }"#).expect("a good annotation");
        assert_eq!(found, [Some("10s".to_owned()), Some("2m".to_owned()), None]);
    }

    #[test]
    fn an_annotation_that_means_nothing_is_named() {
        let error = read("2m").expect_err("it is no object").to_string();
        assert!(error.contains("supercargo.dev/binding-timeouts"), "{error}");
    }
}
