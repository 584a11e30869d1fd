//! The form of a file, key by key, as it is written. What keys mean together is said in `document`.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::Value;
use serde_saphyr::Spanned;

/// Feature gates and whether they are on.
pub(crate) type Settings = BTreeMap<String, bool>;

/// A whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileForm {
    pub title: String,
    pub pending: Option<String>,
    #[serde(default)]
    pub gates: Settings,
    pub order: Option<OrderForm>,
    pub configuration: Option<Value>,
    #[serde(default)]
    pub drivers: BTreeMap<String, DriverForm>,
    pub given: Vec<Spanned<Value>>,
    /// Of a file with a single scenario.
    pub steps: Option<Vec<Spanned<StepForm>>>,
    /// Of a file with several, which all begin with what is given.
    pub scenarios: Option<Vec<Spanned<ScenarioForm>>>,
}

/// One of several scenarios.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioForm {
    pub title: String,
    pub pending: Option<String>,
    #[serde(default)]
    pub gates: Settings,
    pub order: Option<OrderForm>,
    pub configuration: Option<Value>,
    pub steps: Vec<Spanned<StepForm>>,
}

/// A driver that gives devices itself.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DriverForm {
    pub has: RoomForm,
    #[serde(default)]
    pub shareable: bool,
    #[serde(default, rename = "handleBytes")]
    pub handle_bytes: usize,
}

/// How much a driver has: a number that every node reaches, or numbers by node.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum RoomForm {
    Everywhere(usize),
    ByNode(BTreeMap<String, usize>),
}

/// In which order devices are tried.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OrderForm {
    PreferReady,
    Upstream,
}

/// A step: one of the verbs, with what belongs to it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepForm {
    pub allocate: Option<OneOrMany<String>>,
    pub on: Option<OneOrMany<String>>,
    pub gives: Option<BTreeMap<String, OneOrMany<String>>>,
    pub refused: Option<OneOrMany<String>>,

    pub schedule: Option<String>,
    pub scores: Option<BTreeMap<String, BTreeMap<String, i64>>>,
    pub seats: Option<BTreeMap<String, Option<OneOrMany<String>>>>,

    pub together: Option<Vec<String>>,
    pub waiting: Option<Vec<String>>,

    pub release: Option<String>,
    pub create: Option<Value>,
    pub replace: Option<Value>,
    pub delete: Option<String>,
    pub gates: Option<Settings>,

    pub status: Option<String>,
    pub shows: Option<Value>,

    pub report: Option<String>,
    pub says: Option<BTreeMap<String, bool>>,

    pub driver: Option<String>,
    pub has: Option<RoomForm>,
    pub blind: Option<bool>,
    pub elsewhere: Option<String>,
    pub writes: Option<usize>,

    pub negotiate: Option<OneOrMany<String>>,
    pub drivers: Option<OneOrMany<String>>,

    pub controllers: Option<OneOrMany<String>>,
    pub start: Option<String>,

    pub object: Option<String>,
    pub gone: Option<String>,
    pub patch: Option<String>,
    pub with: Option<Value>,
}

/// A list, or the only element of one.
pub(crate) struct OneOrMany<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de> + From<String>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + From<String>> Visitor<'de> for Either<T> {
            type Value = OneOrMany<T>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a text or a list of texts")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(OneOrMany(vec![text.to_owned().into()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMany)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}
