//! The arithmetic operators. Integers never wrap: a result out of range is an error.

use super::time::{SECOND, Timestamp};
use super::{ErrorClass, Fault, Outcome, Value};
use crate::library::TEXT_MAX;

const OVERFLOW: Fault<'static> = Fault::fixed(ErrorClass::Overflow, "integer overflow");
const UNSIGNED_OVERFLOW: Fault<'static> = Fault::fixed(ErrorClass::Overflow, "unsigned integer overflow");
const TIME_OVERFLOW: Fault<'static> = Fault::fixed(ErrorClass::Overflow, "timestamp overflow");
const DIVISION: Fault<'static> = Fault::fixed(ErrorClass::DivideByZero, "division by zero");
const MODULUS: Fault<'static> = Fault::fixed(ErrorClass::DivideByZero, "modulus by zero");

/// `left + right`.
pub(crate) fn add<'a>(left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    Ok(match (left, right) {
        (Value::Int(left), Value::Int(right)) => Value::Int(left.checked_add(*right).ok_or(OVERFLOW)?),
        (Value::Uint(left), Value::Uint(right)) => {
            Value::Uint(left.checked_add(*right).ok_or(UNSIGNED_OVERFLOW)?)
        }
        (Value::Double(left), Value::Double(right)) => Value::Double(left + right),
        (Value::String(left), Value::String(right)) => {
            if left.len() + right.len() > TEXT_MAX {
                return Err(Fault::COST_LIMIT);
            }
            Value::text([&**left, &**right].concat())
        }
        (Value::Bytes(left), Value::Bytes(right)) => {
            if left.len() + right.len() > TEXT_MAX {
                return Err(Fault::COST_LIMIT);
            }
            Value::Bytes([&**left, &**right].concat().into())
        }
        (Value::List(left), Value::List(right)) => Value::List(left.plus(right).ok_or(Fault::INTERNAL)?),
        (Value::Duration(left), Value::Duration(right)) => {
            Value::Duration(left.checked_add(*right).ok_or(OVERFLOW)?)
        }
        (Value::Duration(nanos), Value::Timestamp(time))
        | (Value::Timestamp(time), Value::Duration(nanos)) => Value::Timestamp(shifted(*time, *nanos)?),
        _ => return Err(Fault::no_such_overload()),
    })
}

/// `left - right`.
pub(crate) fn subtract<'a>(left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    Ok(match (left, right) {
        (Value::Int(left), Value::Int(right)) => Value::Int(left.checked_sub(*right).ok_or(OVERFLOW)?),
        (Value::Uint(left), Value::Uint(right)) => {
            Value::Uint(left.checked_sub(*right).ok_or(UNSIGNED_OVERFLOW)?)
        }
        (Value::Double(left), Value::Double(right)) => Value::Double(left - right),
        (Value::Duration(left), Value::Duration(right)) => {
            Value::Duration(left.checked_sub(*right).ok_or(OVERFLOW)?)
        }
        (Value::Timestamp(time), Value::Duration(nanos)) => {
            Value::Timestamp(shifted(*time, nanos.checked_neg().ok_or(OVERFLOW)?)?)
        }
        (Value::Timestamp(left), Value::Timestamp(right)) => {
            let seconds = left.seconds - right.seconds;
            let nanos = i64::from(left.nanos) - i64::from(right.nanos);
            let total = seconds.checked_mul(SECOND).and_then(|total| total.checked_add(nanos));
            Value::Duration(total.ok_or(OVERFLOW)?)
        }
        _ => return Err(Fault::no_such_overload()),
    })
}

fn shifted<'a>(time: Timestamp, nanos: i64) -> Result<Timestamp, Fault<'a>> {
    let total = i64::from(time.nanos) + nanos % SECOND;
    let seconds = time.seconds + nanos / SECOND + total.div_euclid(SECOND);
    let moved = Timestamp { seconds, nanos: total.rem_euclid(SECOND) as u32, offset: time.offset };
    if moved.is_in_range() { Ok(moved) } else { Err(TIME_OVERFLOW) }
}

/// `left * right`.
pub(crate) fn multiply<'a>(left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    Ok(match (left, right) {
        (Value::Int(left), Value::Int(right)) => Value::Int(left.checked_mul(*right).ok_or(OVERFLOW)?),
        (Value::Uint(left), Value::Uint(right)) => {
            Value::Uint(left.checked_mul(*right).ok_or(UNSIGNED_OVERFLOW)?)
        }
        (Value::Double(left), Value::Double(right)) => Value::Double(left * right),
        _ => return Err(Fault::no_such_overload()),
    })
}

/// `left / right`.
pub(crate) fn divide<'a>(left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    Ok(match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => return Err(DIVISION),
        (Value::Int(left), Value::Int(right)) => Value::Int(left.checked_div(*right).ok_or(OVERFLOW)?),
        (Value::Uint(left), Value::Uint(right)) => Value::Uint(left / right),
        (Value::Double(left), Value::Double(right)) => Value::Double(left / right),
        _ => return Err(Fault::no_such_overload()),
    })
}

/// `left % right`.
pub(crate) fn modulo<'a>(left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    Ok(match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => return Err(MODULUS),
        (Value::Int(left), Value::Int(right)) => Value::Int(left.checked_rem(*right).ok_or(OVERFLOW)?),
        (Value::Uint(left), Value::Uint(right)) => Value::Uint(left % right),
        _ => return Err(Fault::no_such_overload()),
    })
}

/// `-value`.
pub(crate) fn negate<'a>(value: &Value<'a>) -> Outcome<'a> {
    Ok(match value {
        Value::Int(value) => Value::Int(value.checked_neg().ok_or(OVERFLOW)?),
        Value::Double(value) => Value::Double(-value),
        Value::Duration(nanos) => Value::Duration(nanos.checked_neg().ok_or(OVERFLOW)?),
        _ => return Err(Fault::no_such_overload()),
    })
}
