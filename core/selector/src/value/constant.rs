//! Values that are part of a program.
//!
//! Invariant: a constant owns everything it shows and can be used from any thread; evaluation borrows from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::map::{Key, Map, key, place};
use super::time::Timestamp;
use super::{List, Text, Value};

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
}

/// A map of constants.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConstantMap {
    entries: Vec<(Constant, Constant)>,
    places: BTreeMap<Key, usize>,
}

impl ConstantMap {
    /// Sets the value of a key.
    pub(crate) fn set(&mut self, at: Constant, value: Constant) {
        let Some(known) = key(&at.value()) else {
            self.entries.push((at, value));
            return;
        };
        match self.places.get(&known) {
            Some(&place) => self.entries[place].1 = value,
            None => {
                self.places.insert(known, self.entries.len());
                self.entries.push((at, value));
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn has(&self, at: &Value<'_>) -> bool {
        // Membership is exact: the other kinds of number were added when the set was made.
        key(at).is_some_and(|known| self.places.contains_key(&known))
    }

    pub(super) fn find(&self, at: &Value<'_>) -> Option<&Constant> {
        place(&self.places, at).map(|place| &self.entries[place].1)
    }

    pub(super) fn at(&self, index: usize) -> Option<&(Constant, Constant)> {
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
