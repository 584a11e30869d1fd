//! Derived attributes: an expression whose result becomes an attribute.

use crate::device::Device;
use crate::program::evaluate::Evaluation;
use crate::selector::{COST_MAX, EvalError, Selector, error};
use crate::value::{ErrorClass, List, Value};

/// The value of a derived attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DerivedValue {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A text.
    String(String),
    /// A semantic version in its canonical form.
    Version(String),
    /// Several of true or false.
    Bools(Vec<bool>),
    /// Whole numbers.
    Ints(Vec<i64>),
    /// Texts; also an empty list of anything.
    Strings(Vec<String>),
    /// Semantic versions in their canonical form.
    Versions(Vec<String>),
}

/// The result of a derivation and what it cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Derived {
    /// The value, or why there is none.
    pub result: Result<DerivedValue, EvalError>,
    /// The cost, also of an evaluation that failed.
    pub cost: u64,
}

impl Selector {
    /// The attribute that the expression derives from a device.
    #[must_use]
    pub fn derive(&self, device: &Device) -> Derived {
        let mut evaluation = Evaluation::new(&self.program, device, COST_MAX);
        let result = match evaluation.node(&self.program.root) {
            Ok(value) => attribute(&value),
            Err(fault) => Err(error(&fault)),
        };
        Derived { result, cost: evaluation.meter.cost }
    }
}

fn unsupported(message: String) -> EvalError {
    EvalError { class: ErrorClass::Other, message }
}

fn attribute(value: &Value<'_>) -> Result<DerivedValue, EvalError> {
    Ok(match value {
        Value::Bool(value) => DerivedValue::Bool(*value),
        Value::Int(value) => DerivedValue::Int(*value),
        Value::String(text) => DerivedValue::String(text.to_string()),
        Value::Type(name) => DerivedValue::String((*name).to_owned()),
        Value::Semver(version) => DerivedValue::Version(version.to_string()),
        Value::Optional(Some(inner)) if !matches!(**inner, Value::List(_)) => return attribute(inner),
        Value::List(list) => return list_attribute(list),
        other => return Err(unsupported(format!("an attribute cannot be {}", other.type_name()))),
    })
}

/// A list whose elements all have the type of the first.
fn list_attribute(list: &List<'_>) -> Result<DerivedValue, EvalError> {
    list.walk().map_err(|fault| error(&fault))?;
    let mut elements = list.iter().map(|element| attribute(&element));
    let Some(first) = elements.next() else { return Ok(DerivedValue::Strings(Vec::new())) };
    let mut derived = match first? {
        DerivedValue::Bool(value) => DerivedValue::Bools(vec![value]),
        DerivedValue::Int(value) => DerivedValue::Ints(vec![value]),
        DerivedValue::String(text) => DerivedValue::Strings(vec![text]),
        DerivedValue::Version(text) => DerivedValue::Versions(vec![text]),
        _ => return Err(unsupported("an attribute cannot be a list of lists".to_owned())),
    };
    for (at, element) in elements.enumerate() {
        match (&mut derived, element?) {
            (DerivedValue::Bools(values), DerivedValue::Bool(value)) => values.push(value),
            (DerivedValue::Ints(values), DerivedValue::Int(value)) => values.push(value),
            (DerivedValue::Strings(values), DerivedValue::String(text)) => values.push(text),
            (DerivedValue::Versions(values), DerivedValue::Version(text)) => values.push(text),
            _ => {
                let message = format!("the element at index {} has another type than the first", at + 1);
                return Err(unsupported(message));
            }
        }
    }
    Ok(derived)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AttributeValue, Environment, ExpressionKind};

    fn derive(expression: &str) -> Result<DerivedValue, String> {
        let mut device = Device::new("d", false);
        device.attribute("name", &AttributeValue::String("gpu-7")).expect("valid");
        device.attribute("version", &AttributeValue::Version("1.2.3")).expect("valid");
        let compiled = Selector::compile(expression, ExpressionKind::Derived, Environment::all());
        let selector = compiled.map_err(|error| error.to_string())?;
        selector.derive(&device).result.map_err(|error| error.to_string())
    }

    #[test]
    fn scalars_and_lists_of_one_type_become_attributes() {
        let strings =
            |texts: &[&str]| DerivedValue::Strings(texts.iter().map(|text| (*text).to_owned()).collect());
        assert_eq!(derive(r#"device.attributes["d"].name.split("-")"#), Ok(strings(&["gpu", "7"])));
        assert_eq!(derive("1 + 1"), Ok(DerivedValue::Int(2)));
        assert_eq!(
            derive(r#"device.attributes["d"].version"#),
            Ok(DerivedValue::Version("1.2.3".to_owned()))
        );
        assert_eq!(derive(r#"device.attributes["d"].name.split("").filter(c, c == "x")"#), Ok(strings(&[])));
    }

    #[test]
    fn other_results_are_refused_when_compiling_if_their_type_is_known() {
        assert!(derive("1.5").expect_err("a double").contains("must be a string"));
        assert!(derive("{1: 2}").is_err());
    }

    #[test]
    fn other_results_are_refused_when_evaluating_if_their_type_was_not_known() {
        assert!(derive("dyn(1.5)").expect_err("a double").contains("double"));
        assert!(derive("[dyn(1), dyn('a')]").expect_err("mixed").contains("index 1"));
    }
}
