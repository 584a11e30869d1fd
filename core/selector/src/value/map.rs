//! Maps: of values, and the device and its parts seen as maps.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use model::quantity::Quantity;

use super::constant::{Constant, ConstantMap};
use super::{Fault, List, Shared, Text, Value};
use crate::device::{Attribute, Device};
use crate::filed;

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
    Attributes(filed::Entries<'a, Attribute>),
    /// Domains to capacities; any other domain selects an empty map.
    CapacityDomains(&'a Device),
    Capacities(filed::Entries<'a, Quantity>),
}

/// The fields of a device, in the order in which a loop sees them.
const FIELDS: [&str; 4] = ["allowMultipleAllocations", "attributes", "capacity", "driver"];

/// A key that is not a text but can be found again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Scalar {
    Null,
    Duration(i64),
    /// A moment written in UTC.
    Moment(i64, u32),
    Type(&'static str),
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(u64),
}

/// Where keys are. Looking a key up does not allocate.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    texts: BTreeMap<Arc<str>, usize>,
    scalars: BTreeMap<Scalar, usize>,
}

impl Places {
    /// The place of a key, and whether it can be kept at all.
    fn exact(&self, at: &Value<'_>) -> Option<usize> {
        match at {
            Value::String(text) => self.texts.get(&**text).copied(),
            other => self.scalars.get(&scalar(other)?).copied(),
        }
    }

    /// Whether a key of this kind and value is there.
    pub(super) fn has(&self, at: &Value<'_>) -> bool {
        self.exact(at).is_some()
    }

    /// The place of a key, which becomes `next` if it is new; `None` for keys that can never be found.
    pub(super) fn claim(&mut self, at: &Value<'_>, next: usize) -> Option<usize> {
        match at {
            Value::String(text) => match self.texts.get(&**text) {
                Some(place) => Some(*place),
                None => {
                    let owned = match text {
                        Text::Owned(text) => text.clone(),
                        Text::Borrowed(text) => Arc::from(*text),
                    };
                    self.texts.insert(owned, next);
                    Some(next)
                }
            },
            other => Some(*self.scalars.entry(scalar(other)?).or_insert(next)),
        }
    }

    fn remove(&mut self, at: &Value<'_>) -> Option<usize> {
        let place = match at {
            Value::String(text) => self.texts.remove(&**text),
            other => self.scalars.remove(&scalar(other)?),
        }?;
        let later = self.texts.values_mut().chain(self.scalars.values_mut());
        later.filter(|later| **later > place).for_each(|later| *later -= 1);
        Some(place)
    }

    /// The place of a key; numbers of different types find each other if they are equal.
    pub(super) fn find(&self, at: &Value<'_>) -> Option<usize> {
        let exact = |key: Scalar| self.scalars.get(&key).copied();
        self.exact(at).or_else(|| match *at {
            Value::Double(number) => {
                let as_int = lossless_int(number).and_then(|number| exact(Scalar::Int(number)));
                as_int.or_else(|| lossless_uint(number).and_then(|number| exact(Scalar::Uint(number))))
            }
            Value::Int(number) => u64::try_from(number).ok().and_then(|number| exact(Scalar::Uint(number))),
            Value::Uint(number) => i64::try_from(number).ok().and_then(|number| exact(Scalar::Int(number))),
            _ => None,
        })
    }
}

fn scalar(value: &Value<'_>) -> Option<Scalar> {
    match value {
        Value::Null => Some(Scalar::Null),
        Value::Duration(nanos) => Some(Scalar::Duration(*nanos)),
        Value::Timestamp(time) if time.offset == 0 => Some(Scalar::Moment(time.seconds, time.nanos)),
        Value::Type(name) => Some(Scalar::Type(name)),
        Value::Bool(value) => Some(Scalar::Bool(*value)),
        Value::Int(value) => Some(Scalar::Int(*value)),
        Value::Uint(value) => Some(Scalar::Uint(*value)),
        Value::Double(value) if value.is_nan() => None,
        // Both zeros are one key.
        Value::Double(value) => Some(Scalar::Double(if *value == 0.0 { 0 } else { value.to_bits() })),
        _ => None,
    }
}

/// Keys and values in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries<'a> {
    entries: Vec<(Value<'a>, Value<'a>)>,
    places: Places,
}

/// Whether the reference can use the value as a key at all.
pub(crate) fn is_hashable(value: &Value<'_>) -> bool {
    !matches!(value, Value::Bytes(_) | Value::Semver(_) | Value::Format(_))
}

impl<'a> Entries<'a> {
    /// Sets the value of a key.
    pub(crate) fn set(&mut self, at: Value<'a>, value: Value<'a>) {
        let next = self.entries.len();
        match self.places.claim(&at, next) {
            Some(place) if place < next => self.entries[place].1 = value,
            _ => self.entries.push((at, value)),
        }
    }

    /// Removes a key.
    pub(crate) fn remove(&mut self, at: &Value<'a>) {
        if let Some(place) = self.places.remove(at) {
            self.entries.remove(place);
        }
    }

    fn find(&self, at: &Value<'a>) -> Option<Value<'a>> {
        self.places.find(at).map(|place| self.entries[place].1.clone())
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
            Map::AttributeDomains(device) => device.attributes.len(),
            Map::Attributes(entries) => entries.len(),
            Map::CapacityDomains(device) => device.capacity.len(),
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
                Some(Value::Map(Map::Attributes(device.attributes.domain(name).unwrap_or_default())))
            }
            Map::Attributes(entries) => entries.find(name).map(attribute_value),
            Map::CapacityDomains(device) => {
                Some(Value::Map(Map::Capacities(device.capacity.domain(name).unwrap_or_default())))
            }
            Map::Capacities(entries) => entries.find(name).map(quantity_value),
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
                let (name, entries) = device.attributes.at(index)?;
                Some(named(name, Value::Map(Map::Attributes(entries))))
            }
            Map::Attributes(entries) => {
                entries.at(index).map(|(name, attribute)| named(name, attribute_value(attribute)))
            }
            Map::CapacityDomains(device) => {
                let (name, entries) = device.capacity.at(index)?;
                Some(named(name, Value::Map(Map::Capacities(entries))))
            }
            Map::Capacities(entries) => {
                entries.at(index).map(|(name, amount)| named(name, quantity_value(amount)))
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
