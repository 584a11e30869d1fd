//! Device selectors: does the expression compile, at what worst cost, and what does it say about each device.
//!
//! The verdicts are compared exactly. Costs are compared too, but a cost that differs is not a failure: how many agree
//! is reported as a share.

use anyhow::Context;
use model::quantity::Quantity;
use selector::{
    AttributeValue, BadAttribute, CompileErrorKind, Device, DeviceSlice, Environment, ErrorClass,
    ExpressionKind, Selector, SyntaxMistake,
};
use serde_json::{Map, Value, json};

use crate::{Agreement, Difference, Form, Suite};

/// The suite of `cel` vectors.
pub const SUITE: Suite = Suite {
    expected: crate::expect,
    answer,
    differences,
    agreement: Some(("cost agreement", costs)),
    form: Form::Any,
};

fn answer(case: &Value) -> anyhow::Result<Value> {
    let text = |key: &str| case.get(key).and_then(Value::as_str).with_context(|| format!("no text {key}"));
    let compiled = Selector::compile(text("expression")?, ExpressionKind::Selector, Environment::all());
    let selector = match compiled {
        Ok(selector) => selector,
        Err(error) => {
            let (kind, detail) = classified(error.kind);
            let mut answer = json!({ "compile": "error", "kind": kind, "message": error.to_string() });
            if let Some(detail) = detail {
                answer["detail"] = json!(detail);
            }
            return Ok(answer);
        }
    };
    let driver = text("driver")?;
    let empty = Vec::new();
    let devices = case.get("devices").and_then(Value::as_array).unwrap_or(&empty);
    let devices: Vec<_> =
        devices.iter().map(|device| convert(driver, device)).collect::<anyhow::Result<_>>()?;
    let answers: Vec<Value> =
        devices.iter().map(|device| device_answer(&selector, device)).collect::<anyhow::Result<_>>()?;
    together(&selector, &devices.into_iter().flatten().collect::<Vec<_>>())?;
    Ok(json!({ "compile": "ok", "estimatedMaxCost": selector.estimated_max_cost(), "devices": answers }))
}

/// The devices as a slice must get the answers that each gets alone. Each is there three times, because what devices
/// have in common is where a slice is answered otherwise.
fn together(selector: &Selector, devices: &[Device]) -> anyhow::Result<()> {
    let slice = DeviceSlice::new([devices, devices, devices].concat());
    let found = selector.matches_slice(&slice);
    for (at, device) in slice.devices().iter().enumerate() {
        let failure = found.failures.iter().find(|(failed, _)| *failed == at).map(|(_, error)| error.clone());
        let in_slice = failure.map_or(Ok(found.matching.contains(at)), Err);
        let alone = selector.holds(device);
        anyhow::ensure!(in_slice == alone, "device {at} in a slice gets {in_slice:?}, alone {alone:?}");
    }
    Ok(())
}

fn device_answer(selector: &Selector, device: &Result<Device, BadAttribute>) -> anyhow::Result<Value> {
    let Ok(device) = device else { return Ok(json!({ "error": "bad-attribute" })) };
    let evaluated = selector.matches(device);
    let held = selector.holds(device);
    anyhow::ensure!(
        held == evaluated.result,
        "the fast way says {held:?}, the full one {:?}",
        evaluated.result
    );
    Ok(match evaluated.result {
        Ok(matches) => json!({ "match": matches, "cost": evaluated.cost }),
        Err(error) => json!({ "error": class(error.class), "cost": evaluated.cost }),
    })
}

fn object<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// A device of the API as one of ours; the inner error is a device that no selector can look at.
fn convert(driver: &str, device: &Value) -> anyhow::Result<Result<Device, BadAttribute>> {
    let multiple = device.get("allowMultipleAllocations").and_then(Value::as_bool).unwrap_or(false);
    let mut converted = Device::new(driver, multiple);
    for (name, attribute) in object(device, "attributes") {
        if let Err(bad) = add_attribute(&mut converted, name, attribute)? {
            return Ok(Err(bad));
        }
    }
    for (name, capacity) in object(device, "capacity") {
        let amount = match capacity.get("value") {
            Some(Value::String(text)) => {
                text.trim().parse::<Quantity>().map_err(|error| anyhow::anyhow!("{error}"))?
            }
            Some(Value::Number(number)) => {
                number.to_string().parse::<Quantity>().map_err(|error| anyhow::anyhow!("{error}"))?
            }
            _ => Quantity::default(),
        };
        converted.capacity(name, amount);
    }
    Ok(Ok(converted))
}

fn list<'a, T>(
    value: Option<&'a Value>,
    element: fn(&'a Value) -> Option<T>,
) -> Option<anyhow::Result<Vec<T>>> {
    let elements = value?.as_array()?;
    let converted = elements.iter().map(|one| element(one).context("an element of another type"));
    Some(converted.collect())
}

/// Adds an attribute. Where several values are set, the one that the reference looks at first wins.
fn add_attribute(
    device: &mut Device,
    name: &str,
    attribute: &Value,
) -> anyhow::Result<Result<(), BadAttribute>> {
    let field = |key: &str| attribute.get(key);
    Ok(if let Some(values) = list(field("ints"), Value::as_i64) {
        device.attribute(name, &AttributeValue::Ints(&values?))
    } else if let Some(values) = list(field("bools"), Value::as_bool) {
        device.attribute(name, &AttributeValue::Bools(&values?))
    } else if let Some(values) = list(field("strings"), Value::as_str) {
        device.attribute(name, &AttributeValue::Strings(&values?))
    } else if let Some(values) = list(field("versions"), Value::as_str) {
        device.attribute(name, &AttributeValue::Versions(&values?))
    } else if let Some(value) = field("int").and_then(Value::as_i64) {
        device.attribute(name, &AttributeValue::Int(value))
    } else if let Some(value) = field("bool").and_then(Value::as_bool) {
        device.attribute(name, &AttributeValue::Bool(value))
    } else if let Some(value) = field("string").and_then(Value::as_str) {
        device.attribute(name, &AttributeValue::String(value))
    } else if let Some(value) = field("version").and_then(Value::as_str) {
        device.attribute(name, &AttributeValue::Version(value))
    } else {
        device.attribute(name, &AttributeValue::Missing)
    })
}

fn classified(kind: CompileErrorKind) -> (&'static str, Option<&'static str>) {
    match kind {
        CompileErrorKind::Syntax(SyntaxMistake::Grammar) => ("syntax", None),
        CompileErrorKind::Syntax(SyntaxMistake::Literal) => ("syntax", Some("literal")),
        CompileErrorKind::Syntax(SyntaxMistake::Macro) => ("syntax", Some("macro")),
        CompileErrorKind::Syntax(SyntaxMistake::Reserved) => ("syntax", Some("reserved")),
        CompileErrorKind::Undeclared => ("undeclared", None),
        CompileErrorKind::NoOverload => ("no-overload", None),
        CompileErrorKind::OutputType => ("output-type", None),
        CompileErrorKind::Constant => ("other", Some("constant")),
        CompileErrorKind::TypeMismatch => ("other", Some("type-mismatch")),
        CompileErrorKind::LiteralArgument => ("other", Some("literal-argument")),
        CompileErrorKind::FormatString => ("other", Some("format-string")),
        CompileErrorKind::Selection => ("other", Some("selection")),
        CompileErrorKind::Range => ("other", Some("range")),
        CompileErrorKind::Limit => ("other", Some("limit")),
    }
}

fn class(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::NoSuchKey => "no-such-key",
        ErrorClass::NoSuchOverload => "no-such-overload",
        ErrorClass::Overflow => "overflow",
        ErrorClass::DivideByZero => "divide-by-zero",
        ErrorClass::Index => "index",
        ErrorClass::Conversion => "conversion",
        ErrorClass::InvalidArgument => "invalid-argument",
        ErrorClass::NotIterable => "not-iterable",
        ErrorClass::NotBool => "not-bool",
        ErrorClass::EmptyOptional => "empty-optional",
        ErrorClass::CostLimit => "cost-limit",
        ErrorClass::Internal => "internal",
        ErrorClass::Other => "other",
    }
}

/// What must be equal about a device's answer: the match, or that there is an error, and whether it is the cost limit.
fn verdict(answer: &Value) -> Value {
    match (answer.get("match"), answer.get("error")) {
        (Some(matches), _) => matches.clone(),
        (None, Some(Value::String(class))) if class == "cost-limit" => json!("error: cost-limit"),
        (None, Some(_)) => json!("error"),
        (None, None) => Value::Null,
    }
}

fn differences(expected: &Value, actual: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut compare = |at: String, expected: Value, actual: Value| {
        if expected != actual {
            found.push(Difference { at, expected, actual });
        }
    };
    let compile = |answer: &Value| answer.get("compile").cloned().unwrap_or(Value::Null);
    if compile(expected) != compile(actual) {
        compare("compile".to_owned(), compile(expected), actual.clone());
        return found;
    }
    let devices =
        |answer: &Value| answer.get("devices").and_then(Value::as_array).cloned().unwrap_or_default();
    let (wanted, given) = (devices(expected), devices(actual));
    compare("devices".to_owned(), json!(wanted.len()), json!(given.len()));
    for (at, (wanted, given)) in wanted.iter().zip(&given).enumerate() {
        compare(format!("devices[{at}]"), verdict(wanted), verdict(given));
    }
    found
}

/// How many of the recorded costs we count alike. The cost at which the limit struck is not recorded to be compared.
fn costs(expected: &Value, actual: &Value) -> Agreement {
    let mut agreement = Agreement::default();
    let mut count = |expected: Option<&Value>, actual: Option<&Value>| {
        if let Some(expected) = expected {
            agreement.compared += 1;
            agreement.equal += usize::from(Some(expected) == actual);
        }
    };
    count(expected.get("estimatedMaxCost"), actual.get("estimatedMaxCost"));
    let empty = Vec::new();
    let devices = |answer: &'_ Value| answer.get("devices").and_then(Value::as_array).cloned();
    let (wanted, given) = (devices(expected).unwrap_or_default(), devices(actual).unwrap_or(empty));
    for (at, wanted) in wanted.iter().enumerate() {
        if wanted.get("error").and_then(Value::as_str) == Some("cost-limit") {
            continue;
        }
        count(wanted.get("cost"), given.get(at).and_then(|given| given.get("cost")));
    }
    agreement
}
