//! The one way in which objects are read from and written to JSON.
//!
//! `wire!` declares a structure with the fields that Supercargo looks at. Fields that it does not know are
//! kept word for word in `rest` and written back, so that an object that passes through loses nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

/// JSON that is kept word for word.
#[derive(Clone)]
pub struct Raw(Box<RawValue>);

impl Raw {
    /// A value, as it would be sent.
    pub fn of(value: &serde_json::Value) -> Self {
        Self(serde_json::value::to_raw_value(value).expect("a JSON value can be written"))
    }

    /// The JSON text.
    pub fn text(&self) -> &str {
        self.0.get()
    }
}

impl Default for Raw {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(deserializer).map(Self)
    }
}

/// The fields of an object that we do not know, in the order in which they came.
///
/// Nearly every structure has none, and there are many structures, so having none takes one word.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rest(Option<Box<Kept>>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Kept(Vec<(Box<str>, Raw)>);

impl Rest {
    /// The value of an unknown field.
    pub fn get(&self, name: &str) -> Option<&Raw> {
        self.fields().iter().find(|(key, _)| &**key == name).map(|(_, value)| value)
    }

    /// The names of the unknown fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields().iter().map(|(name, _)| &**name)
    }

    /// There is no unknown field.
    pub fn is_empty(&self) -> bool {
        self.fields().is_empty()
    }

    fn fields(&self) -> &[(Box<str>, Raw)] {
        self.0.as_ref().map_or(&[], |kept| &kept.0)
    }

    pub(crate) fn keep(&mut self, name: &str, value: Raw) {
        self.0.get_or_insert_default().0.push((name.into(), value));
    }

    pub(crate) fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.fields().iter().try_for_each(|(name, value)| map.serialize_entry(name, value))
    }
}

/// A value that a field can hold.
pub trait Held: Default {
    /// Nothing was said; the field is left out when the object is written.
    fn is_unset(&self) -> bool;
}

impl<T> Held for Option<T> {
    fn is_unset(&self) -> bool {
        self.is_none()
    }
}

impl<T> Held for Vec<T> {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

impl<T> Held for BTreeMap<String, T> {
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

macro_rules! zero_is_unset {
    ($($type:ty),*) => {$(
        impl Held for $type {
            fn is_unset(&self) -> bool {
                *self == Self::default()
            }
        }
    )*};
}
zero_is_unset!(String, bool, i32, i64);

/// A structure that `wire!` made: it takes one field after the other.
pub trait Fields<'de>: Default {
    /// Reads the value of the field `name`, or keeps it if it is not known.
    fn take<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error>;
}

/// A value, where null means the same as leaving the field out.
pub(crate) fn value<'de, A: MapAccess<'de>, T: Deserialize<'de> + Default>(
    map: &mut A,
) -> Result<T, A::Error> {
    map.next_value::<Option<T>>().map(Option::unwrap_or_default)
}

pub(crate) fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(|_| ())
}

pub(crate) fn read<'de, D: Deserializer<'de>, T: Fields<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(Reader(PhantomData))
}

struct Reader<T>(PhantomData<T>);

impl<'de, T: Fields<'de>> Visitor<'de> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut value = T::default();
        while let Some(Key(name)) = map.next_key::<Key<'de>>()? {
            value.take(&name, &mut map)?;
        }
        Ok(value)
    }
}

/// A field's name, borrowed from the input where that is possible.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl<'de> Visitor<'de> for Name {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(name.to_owned())))
            }

            fn visit_string<E>(self, name: String) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(name)))
            }
        }
        deserializer.deserialize_str(Name)
    }
}

/// Declares a structure by its fields and their names in JSON. An `object` also has an `apiVersion` and a
/// `kind`, which are the same for all its values.
macro_rules! wire {
    ($(#[$meta:meta])* pub struct $name:ident { $($field:ident: $type:ty = $json:literal,)* }) => {
        crate::wire::wire!(@declare [$(#[$meta])*] $name [$(($field, $type, $json))*]);

        impl<'de> crate::wire::Fields<'de> for $name {
            fn take<A: serde::de::MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
                match name {
                    $($json => self.$field = crate::wire::value(map)?,)*
                    other => self.rest.keep(other, map.next_value()?),
                }
                Ok(())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                crate::wire::wire!(@write self map [$(($field, $json))*]);
                serde::ser::SerializeMap::end(map)
            }
        }
    };

    ($(#[$meta:meta])* pub object $name:ident of $version:literal { $($field:ident: $type:ty = $json:literal,)* }) => {
        crate::wire::wire!(@declare [$(#[$meta])*] $name [$(($field, $type, $json))*]);

        impl crate::object::Object for $name {
            const API_VERSION: &'static str = $version;
            const KIND: &'static str = stringify!($name);

            fn metadata(&self) -> &crate::meta::ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut crate::meta::ObjectMeta {
                &mut self.metadata
            }

            fn read(json: &[u8]) -> Result<Self, serde_json::Error> {
                serde_json::from_slice(json)
            }

            fn read_value(value: &serde_json::Value) -> Result<Self, serde_json::Error> {
                serde::Deserialize::deserialize(value)
            }

            fn read_list(json: &[u8]) -> Result<crate::object::List<Self>, serde_json::Error> {
                crate::object::read_list(json)
            }

            fn write(&self) -> Vec<u8> {
                serde_json::to_vec(self).expect(crate::object::WRITABLE)
            }

            fn write_value(&self) -> serde_json::Value {
                serde_json::to_value(self).expect(crate::object::WRITABLE)
            }
        }

        impl<'de> crate::wire::Fields<'de> for $name {
            fn take<A: serde::de::MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
                match name {
                    $($json => self.$field = crate::wire::value(map)?,)*
                    "apiVersion" | "kind" => crate::wire::skip(map)?,
                    other => self.rest.keep(other, map.next_value()?),
                }
                Ok(())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                serde::ser::SerializeMap::serialize_entry(&mut map, "apiVersion", $version)?;
                serde::ser::SerializeMap::serialize_entry(&mut map, "kind", stringify!($name))?;
                crate::wire::wire!(@write self map [$(($field, $json))*]);
                serde::ser::SerializeMap::end(map)
            }
        }
    };

    (@declare [$(#[$meta:meta])*] $name:ident [$(($field:ident, $type:ty, $json:literal))*]) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        #[allow(missing_docs, reason = "the schema table says what the fields are")]
        pub struct $name {
            $(pub $field: $type,)*
            /// Fields that are not known here.
            pub rest: crate::wire::Rest,
        }

        impl $name {
            /// The names of the fields in JSON, for the check against the schema table.
            pub const FIELDS: &'static [&'static str] = &[$($json),*];
        }

        impl crate::wire::Held for $name {
            fn is_unset(&self) -> bool {
                $(crate::wire::Held::is_unset(&self.$field) &&)* self.rest.is_empty()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::wire::read(deserializer)
            }
        }
    };

    (@write $self:ident $map:ident [$(($field:ident, $json:literal))*]) => {
        $(
            if !crate::wire::Held::is_unset(&$self.$field) {
                serde::ser::SerializeMap::serialize_entry(&mut $map, $json, &$self.$field)?;
            }
        )*
        $self.rest.write(&mut $map)?;
    };
}
pub(crate) use wire;
