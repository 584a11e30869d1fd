//! Equality.
//!
//! Kubernetes' own types refuse to be compared with another type, but only when they are on the left; lists and maps
//! treat such a refusal as equality, joined lists do not. All of that is visible to expressions.

use super::{Fault, List, Map, Outcome, Value};

/// `left == right`.
pub(crate) fn equal<'a>(left: &Value<'a>, right: &Value<'a>) -> Result<bool, Fault<'a>> {
    match (left, right) {
        (Value::Null, Value::Null) => Ok(true),
        (Value::Null, _) | (_, Value::Null) => Ok(false),
        _ => same(left, right),
    }
}

/// `left == right` as an outcome.
pub(crate) fn equality<'a>(left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    equal(left, right).map(Value::Bool)
}

/// Equality without the special place of null.
pub(crate) fn same<'a>(left: &Value<'a>, right: &Value<'a>) -> Result<bool, Fault<'a>> {
    Ok(match (left, right) {
        (Value::Null, other) => matches!(other, Value::Null),
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Int(left), Value::Int(right)) => left == right,
        (Value::Uint(left), Value::Uint(right)) => left == right,
        (Value::Double(left), Value::Double(right)) => left == right,
        (Value::Int(int), Value::Uint(uint)) | (Value::Uint(uint), Value::Int(int)) => {
            u64::try_from(*int) == Ok(*uint)
        }
        (Value::Double(double), Value::Int(int)) | (Value::Int(int), Value::Double(double)) => {
            super::order::double_int(*double, *int) == Some(std::cmp::Ordering::Equal)
        }
        (Value::Double(double), Value::Uint(uint)) | (Value::Uint(uint), Value::Double(double)) => {
            super::order::double_uint(*double, *uint) == Some(std::cmp::Ordering::Equal)
        }
        (Value::String(left), Value::String(right)) => **left == **right,
        (Value::Bytes(left), Value::Bytes(right)) => left == right,
        (Value::Duration(left), Value::Duration(right)) => left == right,
        (Value::Timestamp(left), Value::Timestamp(right)) => left.instant() == right.instant(),
        (Value::Type(left), Value::Type(right)) => left == right,
        (Value::List(left), Value::List(right)) => return lists(left, right),
        (Value::Map(left), Value::Map(right)) => return maps(left, right),
        (Value::Optional(left), Value::Optional(right)) => match (left, right) {
            (None, None) => true,
            (Some(left), Some(right)) => return same(left, right),
            _ => false,
        },
        (Value::Quantity { amount: left, .. }, Value::Quantity { amount: right, computed: false }) => {
            **left == **right
        }
        (Value::Semver(left), Value::Semver(right)) => left.order(right).is_eq(),
        (Value::Url(left), Value::Url(right)) => left.to_string() == right.to_string(),
        (Value::Ip(left), Value::Ip(right)) => left == right,
        (Value::Cidr(left), Value::Cidr(right)) => left == right,
        (Value::Format(left), Value::Format(right)) => left.name == right.name,
        (
            Value::Quantity { .. }
            | Value::Semver(_)
            | Value::Url(_)
            | Value::Ip(_)
            | Value::Cidr(_)
            | Value::Format(_),
            _,
        ) => return Err(Fault::no_such_overload()),
        _ => false,
    })
}

fn lists<'a>(left: &List<'a>, right: &List<'a>) -> Result<bool, Fault<'a>> {
    if left.len() != right.len() {
        return Ok(false);
    }
    left.walk()?;
    right.walk()?;
    let mut refused = None;
    for (one, other) in left.iter().zip(right.iter()) {
        match equal(&one, &other) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(fault) if fault.ends() => return Err(fault),
            Err(fault) => refused = refused.or(Some(fault)),
        }
    }
    match refused {
        Some(fault) if left.is_joined() => Err(fault),
        _ => Ok(true),
    }
}

fn maps<'a>(left: &Map<'a>, right: &Map<'a>) -> Result<bool, Fault<'a>> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for (key, value) in left.iter() {
        // A map of domains has every domain when it is asked like this.
        let Some(other) = right.select(&key)? else { return Ok(false) };
        match equal(&value, &other) {
            Ok(false) => return Ok(false),
            Err(fault) if fault.ends() => return Err(fault),
            _ => {}
        }
    }
    Ok(true)
}

/// `element in list`: whether an element says that it is equal.
pub(crate) fn contains<'a>(list: &List<'a>, element: &Value<'a>) -> Result<bool, Fault<'a>> {
    list.walk()?;
    for candidate in list.iter() {
        match same(element, &candidate) {
            Ok(true) => return Ok(true),
            Err(fault) if fault.ends() => return Err(fault),
            _ => {}
        }
    }
    Ok(false)
}
