//! Device classes.

use std::sync::Arc;

use model::claim::Class;
use objects::resource::claim::DeviceSelector;
use objects::resource::class::DeviceClass;

use crate::negotiation::class_control;

/// What core knows of a class. Its configuration stays in the object, and is copied from there when it is granted.
#[must_use]
pub fn class(object: &DeviceClass) -> Class {
    Class {
        name: object.metadata.name.as_str().into(),
        selectors: selectors(&object.spec.selectors),
        configs: object.spec.config.len(),
        resource: object.spec.extended_resource_name.as_deref().map(Arc::from),
        created: object.metadata.creation_timestamp.as_ref().map(|time| time.0),
        // One that means nothing is told of where facts are made.
        control: class_control(object).ok().flatten(),
    }
}

/// The expressions, with a gap for each selector that is none.
pub(crate) fn selectors(objects: &[DeviceSelector]) -> Vec<Option<Arc<str>>> {
    objects.iter().map(|selector| selector.cel.as_ref().map(|cel| cel.expression.as_str().into())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_class_arrives_and_its_configuration_is_counted() {
        let object = json!({ "metadata": { "name": "gpu" }, "spec": {
            "selectors": [{ "cel": { "expression": "true" } }, { "wasm": {} }],
            "config": [{ "opaque": { "driver": "d", "parameters": {} } }, {}],
            "extendedResourceName": "example.com/gpu",
        } });
        let selectors = vec![Some("true".into()), None];
        let resource = Some("example.com/gpu".into());
        let expected = Class { name: "gpu".into(), selectors, configs: 2, resource, ..Class::default() };
        assert_eq!(class(&serde_json::from_value(object).expect("a class")), expected);
    }
}
