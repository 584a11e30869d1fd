//! Functions on quantities and on versions.

use std::sync::Arc;

use model::quantity::{Format, Quantity};

use super::semver::Semver;
use crate::value::{ErrorClass, Fault, Outcome, Shared, Value};

/// A quantity that an expression made from a text.
fn parsed<'a>(amount: Quantity) -> Value<'a> {
    Value::Quantity { amount: Shared::Owned(Arc::new(amount)), computed: false }
}

/// A quantity that an expression computed.
fn computed<'a>(amount: Quantity) -> Value<'a> {
    Value::Quantity { amount: Shared::Owned(Arc::new(amount)), computed: true }
}

/// The functions on quantities, by overload.
pub(crate) fn function<'a>(overload: &str, args: &[Value<'a>]) -> Outcome<'a> {
    if let [Value::String(text)] = args {
        let amount = text.parse::<Quantity>();
        return match overload {
            "is_quantity_string" => Ok(Value::Bool(amount.is_ok())),
            _ => amount.map(parsed).map_err(|error| Fault::invalid(error.to_string())),
        };
    }
    match (overload, args) {
        (
            "quantity_add" | "quantity_sub",
            [Value::Quantity { amount, .. }, Value::Quantity { amount: other, .. }],
        ) => {
            Ok(computed(if overload == "quantity_add" { &**amount + &**other } else { &**amount - &**other }))
        }
        ("quantity_add_int" | "quantity_sub_int", [Value::Quantity { amount, .. }, Value::Int(number)]) => {
            let other = Quantity::new(*number, Format::DecimalExponent);
            Ok(computed(if overload == "quantity_add_int" { &**amount + &other } else { &**amount - &other }))
        }
        (_, [Value::Quantity { amount, .. }, Value::Quantity { amount: other, .. }]) => {
            let order = (**amount).cmp(&**other);
            Ok(match overload {
                "quantity_is_greater_than" => Value::Bool(order.is_gt()),
                "quantity_is_less_than" => Value::Bool(order.is_lt()),
                _ => Value::Int(order as i64),
            })
        }
        (_, [Value::Quantity { amount, .. }]) => match overload {
            "quantity_sign" => Ok(Value::Int(i64::from(amount.signum()))),
            "quantity_get_float" => Ok(Value::Double(amount.approximate_f64())),
            "quantity_is_integer" => Ok(Value::Bool(amount.as_i64().is_some())),
            _ => amount
                .as_i64()
                .map(Value::Int)
                .ok_or_else(|| Fault::fixed(ErrorClass::Conversion, "cannot convert value to integer")),
        },
        _ => Err(Fault::no_such_overload()),
    }
}

/// The functions on versions, by overload.
pub(crate) fn version_function<'a>(overload: &str, args: &[Value<'a>]) -> Outcome<'a> {
    match (overload, args) {
        (_, [Value::String(text), rest @ ..]) => {
            let loosely = matches!(rest, [Value::Bool(true)]);
            let version = if loosely { Semver::parse_loosely(text) } else { Semver::parse(text) };
            match overload {
                "is_semver_string" | "is_semver_string_bool" => Ok(Value::Bool(version.is_ok())),
                _ => version
                    .map(|version| Value::Semver(Shared::Owned(Arc::new(version))))
                    .map_err(Fault::invalid),
            }
        }
        (_, [Value::Semver(version), Value::Semver(other)]) => {
            let order = version.order(other);
            Ok(match overload {
                "semver_is_greater_than" => Value::Bool(order.is_gt()),
                "semver_is_less_than" => Value::Bool(order.is_lt()),
                _ => Value::Int(order as i64),
            })
        }
        (_, [Value::Semver(version)]) => Ok(Value::Int(match overload {
            "semver_major" => version.major,
            "semver_minor" => version.minor,
            _ => version.patch,
        } as i64)),
        _ => Err(Fault::no_such_overload()),
    }
}
