//! Expressions over devices of the API.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use objects::resource::slice::{Device, DeviceAttribute};
use selector::{AttributeValue, BadAttribute, DerivedValue, Environment, ExpressionKind, Selector};

/// Compiles each expression once.
#[derive(Debug, Default)]
pub(crate) struct Expressions {
    selectors: RefCell<BTreeMap<String, Compiled>>,
    derived: RefCell<BTreeMap<String, Compiled>>,
}

type Compiled = Rc<Result<Selector, String>>;

impl Expressions {
    /// Whether a device is selected, or why nobody can say.
    pub(crate) fn holds(&self, expression: &str, driver: &str, device: &Device) -> Result<bool, String> {
        let compiled = compiled(&self.selectors, expression, ExpressionKind::Selector);
        let selector = compiled.as_ref().as_ref().map_err(Clone::clone)?;
        let device = convert(driver, device).map_err(|error| error.to_string())?;
        selector.matches(&device).result.map_err(|error| error.to_string())
    }

    /// The attribute that is derived from a device, or why there is none.
    pub(crate) fn derive(
        &self,
        expression: &str,
        driver: &str,
        device: &Device,
    ) -> Result<DerivedValue, String> {
        let compiled = compiled(&self.derived, expression, ExpressionKind::Derived);
        let selector = compiled.as_ref().as_ref().map_err(Clone::clone)?;
        let device = convert(driver, device).map_err(|error| error.to_string())?;
        selector.derive(&device).result.map_err(|error| error.to_string())
    }
}

fn compiled(cache: &RefCell<BTreeMap<String, Compiled>>, expression: &str, kind: ExpressionKind) -> Compiled {
    let compile = || {
        let selector = Selector::compile(expression, kind, Environment::all());
        Rc::new(selector.map_err(|error| error.to_string()))
    };
    cache.borrow_mut().entry(expression.to_owned()).or_insert_with(compile).clone()
}

fn convert(driver: &str, device: &Device) -> Result<selector::Device, BadAttribute> {
    let mut converted = selector::Device::new(driver, device.allow_multiple_allocations == Some(true));
    for (name, attribute) in &device.attributes {
        add_attribute(&mut converted, name, attribute)?;
    }
    for (name, capacity) in &device.capacity {
        converted.capacity(name, capacity.value.0.clone());
    }
    Ok(converted)
}

fn add_attribute(
    device: &mut selector::Device,
    name: &str,
    attribute: &DeviceAttribute,
) -> Result<(), BadAttribute> {
    if let Some(values) = &attribute.ints {
        device.attribute(name, &AttributeValue::Ints(values))
    } else if let Some(values) = &attribute.bools {
        device.attribute(name, &AttributeValue::Bools(values))
    } else if let Some(values) = &attribute.strings {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        device.attribute(name, &AttributeValue::Strings(&values))
    } else if let Some(values) = &attribute.versions {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        device.attribute(name, &AttributeValue::Versions(&values))
    } else if let Some(value) = attribute.int {
        device.attribute(name, &AttributeValue::Int(value))
    } else if let Some(value) = attribute.bool {
        device.attribute(name, &AttributeValue::Bool(value))
    } else if let Some(value) = &attribute.string {
        device.attribute(name, &AttributeValue::String(value))
    } else if let Some(value) = &attribute.version {
        device.attribute(name, &AttributeValue::Version(value))
    } else {
        device.attribute(name, &AttributeValue::Missing)
    }
}
