//! Single values with a form of their own: amounts, times, and numbers that may be text.

use std::fmt;

use model::quantity::Quantity as Amount;
use model::timestamp::Timestamp;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::wire::Held;

/// An amount such as `80Gi`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantity(pub Amount);

/// A time to the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Timestamp);

/// A time to the microsecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MicroTime(pub Timestamp);

/// A number, or text such as `50%`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntOrString {
    /// A number.
    Int(i32),
    /// Text.
    String(String),
}

impl Default for IntOrString {
    fn default() -> Self {
        Self::Int(0)
    }
}

impl Held for Quantity {
    /// An amount of zero is an amount.
    fn is_unset(&self) -> bool {
        false
    }
}

impl Held for IntOrString {
    fn is_unset(&self) -> bool {
        false
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl Serialize for MicroTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.with_micros())
    }
}

impl Serialize for IntOrString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(int) => serializer.serialize_i32(*int),
            Self::String(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Quantity;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity such as 500m or 2Gi")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
                text.trim()
                    .parse()
                    .map(Quantity)
                    .map_err(|error| E::custom(format_args!("quantity {text:?}: {error}")))
            }

            fn visit_i64<E: de::Error>(self, int: i64) -> Result<Quantity, E> {
                self.visit_str(&int.to_string())
            }

            fn visit_u64<E: de::Error>(self, int: u64) -> Result<Quantity, E> {
                self.visit_str(&int.to_string())
            }

            fn visit_f64<E: de::Error>(self, float: f64) -> Result<Quantity, E> {
                self.visit_str(&float.to_string())
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    struct Reader;
    impl Visitor<'_> for Reader {
        type Value = Timestamp;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a time such as 2026-01-02T03:04:05Z")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
            Timestamp::parse(text).map_err(E::custom)
        }
    }
    deserializer.deserialize_str(Reader)
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        moment(deserializer).map(|moment| Self(moment.to_seconds()))
    }
}

impl<'de> Deserialize<'de> for MicroTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        moment(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for IntOrString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = IntOrString;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a 32-bit integer or text")
            }

            fn visit_str<E>(self, text: &str) -> Result<IntOrString, E> {
                Ok(IntOrString::String(text.to_owned()))
            }

            fn visit_i64<E: de::Error>(self, int: i64) -> Result<IntOrString, E> {
                i32::try_from(int).map(IntOrString::Int).map_err(|_| E::custom("not a 32-bit integer"))
            }

            fn visit_u64<E: de::Error>(self, int: u64) -> Result<IntOrString, E> {
                i32::try_from(int).map(IntOrString::Int).map_err(|_| E::custom("not a 32-bit integer"))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
