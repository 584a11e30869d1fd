//! Maps: of values, and the device and its parts seen as maps.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use model::quantity::Quantity;

use super::constant::{Constant, ConstantMap};
use super::{Fault, List, Shared, Text, Value};
use crate::device::{Attribute, Device, entry};

/// A map.
#[derive(Clone, Debug)]
pub(crate) enum Map<'a> {
    Plain(Rc<Entries<'a>>),
    /// The accumulator of a loop.
    Growing(Rc<RefCell<Entries<'a>>>),
    Constants(&'a ConstantMap),
    Device(&'a Device),
    /// Domains to attributes; any other domain selects an empty map.
    AttributeDomains(&'a Device),
    Attributes(&'a [(Box<str>, Attribute)]),
    /// Domains to capacities; any other domain selects an empty map.
    CapacityDomains(&'a Device),
    Capacities(&'a [(Box<str>, Quantity)]),
}

/// The fields of a device, in the order in which a loop sees them.
const FIELDS: [&str; 4] = ["allowMultipleAllocations", "attributes", "capacity", "driver"];

/// A key that can be found again.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Key {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(u64),
    String(Arc<str>),
}

/// Keys and values in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries<'a> {
    entries: Vec<(Value<'a>, Value<'a>)>,
    places: BTreeMap<Key, usize>,
}

/// Whether the reference can use the value as a key at all.
pub(crate) fn is_hashable(value: &Value<'_>) -> bool {
    !matches!(value, Value::Bytes(_) | Value::Semver(_) | Value::Format(_))
}

/// The key of a value, if equal values can find each other.
pub(super) fn key(value: &Value<'_>) -> Option<Key> {
    match value {
        Value::Bool(value) => Some(Key::Bool(*value)),
        Value::Int(value) => Some(Key::Int(*value)),
        Value::Uint(value) => Some(Key::Uint(*value)),
        Value::Double(value) if value.is_nan() => None,
        // Both zeros are one key.
        Value::Double(value) => Some(Key::Double(if *value == 0.0 { 0 } else { value.to_bits() })),
        Value::String(Text::Owned(text)) => Some(Key::String(text.clone())),
        Value::String(text) => Some(Key::String(Arc::from(&**text))),
        _ => None,
    }
}

impl<'a> Entries<'a> {
    /// Sets the value of a key.
    pub(crate) fn set(&mut self, at: Value<'a>, value: Value<'a>) {
        let Some(known) = key(&at) else {
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

    /// Removes a key.
    pub(crate) fn remove(&mut self, at: &Value<'a>) {
        let Some(place) = key(at).and_then(|known| self.places.remove(&known)) else { return };
        self.entries.remove(place);
        for later in self.places.values_mut().filter(|later| **later > place) {
            *later -= 1;
        }
    }

    fn find(&self, at: &Value<'a>) -> Option<Value<'a>> {
        place(&self.places, at).map(|place| self.entries[place].1.clone())
    }
}

/// The place of a key; numbers of different types find each other if they are equal.
pub(super) fn place(places: &BTreeMap<Key, usize>, at: &Value<'_>) -> Option<usize> {
    let known = key(at)?;
    let exact = |key: Key| places.get(&key).copied();
    if let Some(place) = places.get(&known) {
        return Some(*place);
    }
    match known {
        Key::Double(_) => {
            let Value::Double(number) = *at else { return None };
            let as_int = lossless_int(number).and_then(|number| exact(Key::Int(number)));
            as_int.or_else(|| lossless_uint(number).and_then(|number| exact(Key::Uint(number))))
        }
        Key::Int(number) => u64::try_from(number).ok().and_then(|number| exact(Key::Uint(number))),
        Key::Uint(number) => i64::try_from(number).ok().and_then(|number| exact(Key::Int(number))),
        _ => None,
    }
}

/// The integer that a double is, exactly.
pub(crate) fn lossless_int(number: f64) -> Option<i64> {
    (number > i64::MIN as f64 && number < i64::MAX as f64 && (number as i64) as f64 == number)
        .then_some(number as i64)
}

fn lossless_uint(number: f64) -> Option<u64> {
    (number >= 0.0 && number < u64::MAX as f64 && (number as u64) as f64 == number).then_some(number as u64)
}

/// An attribute as a value.
pub(crate) fn attribute_value(attribute: &Attribute) -> Value<'_> {
    match attribute {
        Attribute::Int(value) => Value::Int(*value),
        Attribute::Bool(value) => Value::Bool(*value),
        Attribute::String(text) => Value::String(Text::Borrowed(text)),
        Attribute::Version(version) => Value::Semver(Shared::Borrowed(version)),
        Attribute::Ints(values) => Value::List(List::Ints(values)),
        Attribute::Bools(values) => Value::List(List::Bools(values)),
        Attribute::Strings(values) => Value::List(List::Strings(values)),
        Attribute::Versions(values) => Value::List(List::Versions(values)),
    }
}

fn quantity_value(amount: &Quantity) -> Value<'_> {
    Value::Quantity { amount: Shared::Borrowed(amount), computed: false }
}

impl<'a> Map<'a> {
    pub(crate) fn plain(entries: Entries<'a>) -> Map<'a> {
        Map::Plain(Rc::new(entries))
    }

    pub(crate) fn growing() -> Map<'a> {
        Map::Growing(Rc::default())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Map::Plain(entries) => entries.entries.len(),
            Map::Growing(entries) => entries.borrow().entries.len(),
            Map::Constants(entries) => entries.len(),
            Map::Device(_) => FIELDS.len(),
            Map::AttributeDomains(device) => device.attributes.domains().len(),
            Map::Attributes(entries) => entries.len(),
            Map::CapacityDomains(device) => device.capacity.domains().len(),
            Map::Capacities(entries) => entries.len(),
        }
    }

    /// The value of a field, which is what `.name` selects.
    pub(crate) fn field(&self, name: &str) -> Option<Value<'a>> {
        match self {
            Map::Plain(_) | Map::Growing(_) | Map::Constants(_) => None,
            Map::Device(device) => Some(match name {
                "driver" => Value::String(Text::Borrowed(&device.driver)),
                "attributes" => Value::Map(Map::AttributeDomains(device)),
                "capacity" => Value::Map(Map::CapacityDomains(device)),
                "allowMultipleAllocations" => Value::Bool(device.multiple),
                _ => return None,
            }),
            Map::AttributeDomains(device) => {
                Some(Value::Map(Map::Attributes(device.attributes.domain(name).unwrap_or(&[]))))
            }
            Map::Attributes(entries) => entry(entries, name).map(attribute_value),
            Map::CapacityDomains(device) => {
                Some(Value::Map(Map::Capacities(device.capacity.domain(name).unwrap_or(&[]))))
            }
            Map::Capacities(entries) => entry(entries, name).map(quantity_value),
        }
    }

    /// The value of a key as a selection or index sees it.
    pub(crate) fn select(&self, at: &Value<'a>) -> Result<Option<Value<'a>>, Fault<'a>> {
        match (self, at) {
            (Map::Plain(_) | Map::Growing(_) | Map::Constants(_), _) => self.find(at),
            // Any key but a text is unknown, and an unknown domain is empty.
            (Map::AttributeDomains(_), key) if !matches!(key, Value::String(_)) => {
                Ok(Some(Value::Map(Map::plain(Entries::default()))))
            }
            (Map::CapacityDomains(_), key) if !matches!(key, Value::String(_)) => {
                Ok(Some(Value::Map(Map::plain(Entries::default()))))
            }
            (Map::Capacities(_), key) => Ok(native_key(key).and_then(|name| self.field(&name))),
            (_, Value::String(name)) => Ok(self.field(name)),
            _ => Ok(None),
        }
    }

    /// The value of a key that is really there.
    pub(crate) fn find(&self, at: &Value<'a>) -> Result<Option<Value<'a>>, Fault<'a>> {
        match (self, at) {
            (Map::Plain(entries), _) => find_plain(entries, at),
            (Map::Growing(entries), _) => find_plain(&entries.borrow(), at),
            (Map::Constants(entries), _) if entries.len() > 0 && !is_hashable(at) => Err(Fault::INTERNAL),
            (Map::Constants(entries), _) => Ok(entries.find(at).map(Constant::value)),
            (Map::AttributeDomains(device), Value::String(name)) => {
                Ok(device.attributes.domain(name).map(|entries| Value::Map(Map::Attributes(entries))))
            }
            (Map::CapacityDomains(device), Value::String(name)) => {
                Ok(device.capacity.domain(name).map(|entries| Value::Map(Map::Capacities(entries))))
            }
            (Map::AttributeDomains(_) | Map::CapacityDomains(_), _) => Ok(None),
            _ => self.select(at),
        }
    }

    /// The entry at a place in the order of iteration.
    pub(crate) fn at(&self, index: usize) -> Option<(Value<'a>, Value<'a>)> {
        let named = |name: &'a str, value: Value<'a>| (Value::String(Text::Borrowed(name)), value);
        match self {
            Map::Plain(entries) => entries.entries.get(index).cloned(),
            Map::Growing(entries) => entries.borrow().entries.get(index).cloned(),
            Map::Constants(entries) => entries.at(index).map(|(key, value)| (key.value(), value.value())),
            Map::Device(_) => {
                let name = FIELDS.get(index)?;
                self.field(name).map(|value| named(name, value))
            }
            Map::AttributeDomains(device) => {
                let (name, entries) = device.attributes.domains().get(index)?;
                Some(named(name, Value::Map(Map::Attributes(entries))))
            }
            Map::Attributes(entries) => {
                entries.get(index).map(|(name, attribute)| named(name, attribute_value(attribute)))
            }
            Map::CapacityDomains(device) => {
                let (name, entries) = device.capacity.domains().get(index)?;
                Some(named(name, Value::Map(Map::Capacities(entries))))
            }
            Map::Capacities(entries) => {
                entries.get(index).map(|(name, amount)| named(name, quantity_value(amount)))
            }
        }
    }

    pub(crate) fn first(&self) -> Option<(Value<'a>, Value<'a>)> {
        self.at(0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Value<'a>, Value<'a>)> + '_ {
        (0..self.len()).map_while(|index| self.at(index))
    }

    /// Adds an entry whose key must be new.
    pub(crate) fn insert(&self, at: Value<'a>, value: Value<'a>) -> Result<Map<'a>, Fault<'a>> {
        if !is_hashable(&at) {
            return Err(Fault::INTERNAL);
        }
        if self.find(&at)?.is_some() {
            return Err(Fault::invalid("insert failed: the key already exists"));
        }
        if let Map::Growing(entries) = self {
            entries.borrow_mut().set(at, value);
            return Ok(self.clone());
        }
        let mut entries = Entries::default();
        for (known, value) in self.iter() {
            entries.set(known, value);
        }
        entries.set(at, value);
        Ok(Map::plain(entries))
    }

    /// The map with nothing left to grow.
    pub(crate) fn settled(&self) -> Map<'a> {
        match self {
            Map::Growing(entries) => Map::plain(entries.borrow().clone()),
            other => other.clone(),
        }
    }
}

fn find_plain<'a>(entries: &Entries<'a>, at: &Value<'a>) -> Result<Option<Value<'a>>, Fault<'a>> {
    if entries.entries.is_empty() {
        return Ok(None);
    }
    if !is_hashable(at) {
        return Err(Fault::INTERNAL);
    }
    Ok(entries.find(at))
}

/// What the reference turns a key into when it looks into a native map of texts.
fn native_key(at: &Value<'_>) -> Option<String> {
    match at {
        Value::String(text) => Some(text.to_string()),
        Value::Optional(Some(inner)) => native_key(inner),
        Value::Quantity { amount, .. } => Some(amount.to_string()),
        Value::Semver(version) => Some(version.to_string()),
        Value::Ip(address) => Some(address.to_string()),
        Value::Cidr(network) => Some(network.to_string()),
        Value::Url(url) => Some(url.to_string()),
        _ => None,
    }
}
