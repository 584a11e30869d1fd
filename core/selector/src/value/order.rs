//! Order of values, and the comparison operators.

use std::cmp::Ordering;

use super::{ErrorClass, Fault, Outcome, Value};

const NAN: Fault<'static> = Fault::fixed(ErrorClass::InvalidArgument, "NaN values cannot be ordered");

/// How `left` compares with `right`.
pub(crate) fn compare<'a>(left: &Value<'a>, right: &Value<'a>) -> Result<Ordering, Fault<'a>> {
    Ok(match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::Uint(left), Value::Uint(right)) => left.cmp(right),
        (Value::Int(left), Value::Uint(right)) => int_uint(*left, *right),
        (Value::Uint(left), Value::Int(right)) => int_uint(*right, *left).reverse(),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right).ok_or(NAN)?,
        (Value::Double(left), Value::Int(right)) => double_int(*left, *right).ok_or(NAN)?,
        (Value::Double(left), Value::Uint(right)) => double_uint(*left, *right).ok_or(NAN)?,
        (Value::Int(left), Value::Double(right)) => double_int(*right, *left).ok_or(NAN)?.reverse(),
        (Value::Uint(left), Value::Double(right)) => double_uint(*right, *left).ok_or(NAN)?.reverse(),
        // A double that is no number says so before it looks at the other side.
        (Value::Double(left), _) if left.is_nan() => return Err(NAN),
        (Value::String(left), Value::String(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::Bytes(left), Value::Bytes(right)) => left.cmp(right),
        (Value::Duration(left), Value::Duration(right)) => left.cmp(right),
        (Value::Timestamp(left), Value::Timestamp(right)) => left.instant().cmp(&right.instant()),
        _ => return Err(Fault::no_such_overload()),
    })
}

/// Whether values of this type have an order at all.
pub(crate) fn is_comparable(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
    )
}

fn int_uint(int: i64, uint: u64) -> Ordering {
    match u64::try_from(int) {
        Ok(int) => int.cmp(&uint),
        Err(_) => Ordering::Less,
    }
}

/// A double against an integer; `None` for NaN.
pub(crate) fn double_int(double: f64, int: i64) -> Option<Ordering> {
    if double < i64::MIN as f64 {
        return Some(Ordering::Less);
    }
    if double > i64::MAX as f64 {
        return Some(Ordering::Greater);
    }
    double.partial_cmp(&(int as f64))
}

/// A double against an unsigned integer; `None` for NaN.
pub(crate) fn double_uint(double: f64, uint: u64) -> Option<Ordering> {
    if double < 0.0 {
        return Some(Ordering::Less);
    }
    if double > u64::MAX as f64 {
        return Some(Ordering::Greater);
    }
    double.partial_cmp(&(uint as f64))
}

/// `<`, `<=`, `>` and `>=`.
pub(crate) fn relation<'a>(operator: &str, left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    let order = compare(left, right)?;
    Ok(Value::Bool(match operator {
        "_<_" => order.is_lt(),
        "_<=_" => order.is_le(),
        "_>_" => order.is_gt(),
        _ => order.is_ge(),
    }))
}
