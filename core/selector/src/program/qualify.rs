//! Selections and indexes: the steps from a value to a part of it.

use std::sync::Arc;

use super::evaluate::Evaluation;
use super::{Key, Qualifier};
use crate::cost::SELECT;
use crate::value::map::lossless_int;
use crate::value::{ErrorClass, Fault, Outcome, Value};

impl<'a> Evaluation<'a> {
    /// Follows the qualifiers. An optional value or step makes everything after it optional.
    pub(super) fn qualify(&mut self, start: Value<'a>, qualifiers: &'a [Arc<Qualifier>]) -> Outcome<'a> {
        let (mut value, mut optional) = match start {
            Value::Optional(None) if !qualifiers.is_empty() => return Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) if !qualifiers.is_empty() => ((*inner).clone(), true),
            other => (other, false),
        };
        for qualifier in qualifiers {
            optional = optional || qualifier.optional;
            let key = match self.key(qualifier) {
                Err(fault) => return self.failed(fault, optional),
                Ok(key) => key,
            };
            let found = select(&value, &key, optional || qualifier.test);
            match found {
                Err(fault) => return self.failed(fault, optional),
                // Looking for something that need not be there is free.
                Ok(None) if optional => return Ok(Value::Optional(None)),
                Ok(found) => {
                    self.meter.charge(SELECT)?;
                    value = match found {
                        Some(found) if optional || !qualifier.test => found,
                        found => Value::Bool(found.is_some()),
                    };
                }
            }
        }
        Ok(if optional { Value::some(value) } else { value })
    }

    /// Charges for a step that failed, unless it was one that may.
    fn failed(&mut self, fault: Fault<'a>, optional: bool) -> Outcome<'a> {
        if !fault.ends() && !optional {
            self.meter.charge(SELECT)?;
        }
        Err(fault)
    }

    fn key(&mut self, qualifier: &'a Qualifier) -> Outcome<'a> {
        let value = match &qualifier.key {
            Key::Constant(constant) => return Ok(constant.value()),
            Key::Attribute(attribute) => self.resolve(attribute)?,
            Key::Computed(node) => self.node(node)?,
        };
        match value {
            Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_) => {
                Ok(value)
            }
            other => {
                let message = format!("invalid qualifier type: {}", other.type_name());
                Err(Fault::written(ErrorClass::Index, message))
            }
        }
    }
}

/// The part of a value; `None` if it is not there and that is fine.
fn select<'a>(value: &Value<'a>, key: &Value<'a>, may_lack: bool) -> Result<Option<Value<'a>>, Fault<'a>> {
    match value {
        Value::Map(map) => match map.select(key)? {
            Some(found) => Ok(Some(found)),
            None if may_lack => Ok(None),
            None => Err(Fault::no_such_key(key)),
        },
        Value::List(list) => {
            let index = index(key)?;
            match usize::try_from(index).ok().and_then(|index| list.get(index)) {
                Some(found) => Ok(Some(found)),
                None if may_lack => Ok(None),
                None => Err(Fault::written(ErrorClass::Index, format!("index out of bounds: {index}"))),
            }
        }
        _ if may_lack => Ok(None),
        _ => Err(Fault::no_such_key(key)),
    }
}

/// The position that a number stands for.
fn index<'a>(key: &Value<'a>) -> Result<i64, Fault<'a>> {
    let position = match key {
        Value::Int(number) => Some(*number),
        Value::Uint(number) => i64::try_from(*number).ok(),
        Value::Double(number) => lossless_int(*number),
        other => {
            let message = format!("unsupported index type '{}' in list", other.type_name());
            return Err(Fault::written(ErrorClass::Index, message));
        }
    };
    position.ok_or(Fault::fixed(ErrorClass::Index, "unsupported index value in list"))
}
