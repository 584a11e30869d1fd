//! Run-time values and what can be done with any of them.

pub(crate) mod arithmetic;
pub(crate) mod constant;
pub(crate) mod convert;
pub(crate) mod equal;
pub(crate) mod fault;
pub(crate) mod list;
pub(crate) mod map;
pub(crate) mod order;
pub(crate) mod time;

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use model::quantity::Quantity;

use crate::declare::{CIDR, FORMAT, IP, QUANTITY, SEMVER, URL};
use crate::library::format::Format;
use crate::library::network::Network;
use crate::library::semver::Semver;
use crate::library::url::Url;
use crate::types::{OPTIONAL, Type};
pub use fault::ErrorClass;
pub(crate) use fault::Fault;
pub(crate) use list::List;
pub(crate) use map::Map;
use time::Timestamp;

/// What evaluation gives: a value, or an error that operators may absorb.
pub(crate) type Outcome<'a> = Result<Value<'a>, Fault<'a>>;

/// Text that belongs to the device, the program, or the value itself.
#[derive(Clone, Debug)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Owned(Arc<str>),
}

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Owned(text) => text,
        }
    }
}

/// A value that is shared: borrowed from the device, or owned by what holds it.
#[derive(Clone, Debug)]
pub(crate) enum Shared<'a, T> {
    Borrowed(&'a T),
    Owned(Arc<T>),
}

impl<T> std::ops::Deref for Shared<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Shared::Borrowed(value) => value,
            Shared::Owned(value) => value,
        }
    }
}

/// A run-time value.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Arc<[u8]>),
    /// Nanoseconds.
    Duration(i64),
    Timestamp(Timestamp),
    List(List<'a>),
    Map(Map<'a>),
    /// A type, by its run-time name.
    Type(&'static str),
    Optional(Option<Rc<Value<'a>>>),
    /// An amount; a computed one is not recognized on the right of `==`, as in the reference.
    Quantity {
        amount: Shared<'a, Quantity>,
        computed: bool,
    },
    Semver(Shared<'a, Semver>),
    Url(Arc<Url>),
    Ip(IpAddr),
    Cidr(Network),
    Format(&'static Format),
}

impl<'a> Value<'a> {
    pub(crate) fn text(text: impl Into<Arc<str>>) -> Value<'a> {
        Value::String(Text::Owned(text.into()))
    }

    pub(crate) fn list(elements: Vec<Value<'a>>) -> Value<'a> {
        Value::List(List::Plain(Rc::from(elements)))
    }

    pub(crate) fn some(value: Value<'a>) -> Value<'a> {
        Value::Optional(Some(Rc::new(value)))
    }

    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint",
            Value::Double(_) => "double",
            Value::String(_) => "string",
            Value::Bytes(_) => "bytes",
            Value::Duration(_) => "google.protobuf.Duration",
            Value::Timestamp(_) => "google.protobuf.Timestamp",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Type(_) => "type",
            Value::Optional(_) => OPTIONAL,
            Value::Quantity { .. } => QUANTITY,
            Value::Semver(_) => SEMVER,
            Value::Url(_) => URL,
            Value::Ip(_) => IP,
            Value::Cidr(_) => CIDR,
            Value::Format(_) => FORMAT,
        }
    }

    /// Whether a value can be given for an argument of this declared type. Of a list or map only the first entry is
    /// looked at, as the reference does.
    pub(crate) fn fits(&self, declared: &Type) -> bool {
        match declared {
            Type::Dyn | Type::Any | Type::Param(_) => true,
            Type::List(element) => match self {
                Value::List(list) => list.get(0).is_none_or(|first| first.fits(element)),
                _ => false,
            },
            Type::Map(key, value) => match self {
                Value::Map(map) => map.first().is_none_or(|(k, v)| k.fits(key) && v.fits(value)),
                _ => false,
            },
            other => other.runtime_name() == self.type_name(),
        }
    }

    /// The size that costs are counted by; 1 for what has none.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Value::String(text) => text.chars().count() as u64,
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::List(list) => list.len() as u64,
            Value::Map(map) => map.len() as u64,
            Value::Ip(IpAddr::V4(_)) => 4,
            Value::Ip(IpAddr::V6(_)) => 16,
            Value::Cidr(network) => u64::from(network.bits.div_ceil(8)),
            _ => 1,
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Bool(value) => !value,
            Value::Int(value) => *value == 0,
            Value::Uint(value) => *value == 0,
            Value::Double(value) => *value == 0.0,
            Value::String(text) => text.is_empty(),
            Value::Bytes(bytes) => bytes.is_empty(),
            Value::Duration(nanos) => *nanos == 0,
            Value::Timestamp(time) => time.is_zero(),
            Value::List(list) => list.len() == 0,
            Value::Map(map) => map.len() == 0,
            _ => false,
        }
    }

    /// The text that the reference sees when it unwraps a value without looking at its type.
    pub(crate) fn native_text(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            Value::Type(name) => Some(name),
            Value::Optional(Some(inner)) => inner.native_text(),
            _ => None,
        }
    }
}
