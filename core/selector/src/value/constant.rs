//! Values that are part of a program.
//!
//! Invariant: a constant owns everything it shows and can be used from any thread; evaluation borrows from it.

use std::sync::Arc;

use model::quantity::Quantity;

use super::map::{Map, Places};
use super::time::Timestamp;
use super::{List, Shared, Text, Value};
use crate::library::semver::Semver;

/// A value known when the program is made.
#[derive(Clone, Debug)]
pub(crate) enum Constant {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    Duration(i64),
    Timestamp(Timestamp),
    List(Vec<Constant>),
    Map(ConstantMap),
    Type(&'static str),
    Quantity(Arc<Quantity>),
    Semver(Arc<Semver>),
}

/// A map of constants.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConstantMap {
    entries: Vec<(Constant, Constant)>,
    places: Places,
}

impl ConstantMap {
    /// Sets the value of a key.
    pub(crate) fn set(&mut self, at: Constant, value: Constant) {
        let next = self.entries.len();
        match self.places.claim(&at.value(), next) {
            Some(place) if place < next => self.entries[place].1 = value,
            _ => self.entries.push((at, value)),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn has(&self, at: &Value<'_>) -> bool {
        // Membership is exact: the other kinds of number were added when the set was made.
        self.places.has(at)
    }

    pub(super) fn find(&self, at: &Value<'_>) -> Option<&Constant> {
        self.places.find(at).map(|place| &self.entries[place].1)
    }

    pub(crate) fn at(&self, index: usize) -> Option<&(Constant, Constant)> {
        self.entries.get(index)
    }
}

impl Constant {
    /// The value, borrowed from the constant.
    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Constant::Null => Value::Null,
            Constant::Bool(value) => Value::Bool(*value),
            Constant::Int(value) => Value::Int(*value),
            Constant::Uint(value) => Value::Uint(*value),
            Constant::Double(value) => Value::Double(*value),
            Constant::String(text) => Value::String(Text::Borrowed(text)),
            Constant::Bytes(bytes) => Value::Bytes(bytes.clone()),
            Constant::Duration(nanos) => Value::Duration(*nanos),
            Constant::Timestamp(time) => Value::Timestamp(*time),
            Constant::List(elements) => Value::List(List::Constants(elements)),
            Constant::Map(entries) => Value::Map(Map::Constants(entries)),
            Constant::Type(name) => Value::Type(name),
            Constant::Quantity(amount) => {
                Value::Quantity { amount: Shared::Borrowed(amount), computed: false }
            }
            Constant::Semver(version) => Value::Semver(Shared::Borrowed(version)),
        }
    }

    /// The constant that a folded value is; `None` for what cannot be kept.
    pub(crate) fn of(value: &Value<'_>) -> Option<Constant> {
        Some(match value {
            Value::Null => Constant::Null,
            Value::Bool(value) => Constant::Bool(*value),
            Value::Int(value) => Constant::Int(*value),
            Value::Uint(value) => Constant::Uint(*value),
            Value::Double(value) => Constant::Double(*value),
            Value::String(text) => Constant::String(Arc::from(&**text)),
            Value::Bytes(bytes) => Constant::Bytes(bytes.clone()),
            Value::Duration(nanos) => Constant::Duration(*nanos),
            Value::Timestamp(time) => Constant::Timestamp(*time),
            Value::Type(name) => Constant::Type(name),
            Value::List(list) => {
                Constant::List(list.iter().map(|element| Constant::of(&element)).collect::<Option<_>>()?)
            }
            Value::Map(map) => {
                let mut entries = ConstantMap::default();
                for (key, value) in map.iter() {
                    entries.set(Constant::of(&key)?, Constant::of(&value)?);
                }
                Constant::Map(entries)
            }
            _ => return None,
        })
    }
}
