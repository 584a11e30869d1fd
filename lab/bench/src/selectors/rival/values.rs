//! Devices, quantities, versions and patterns as values of `cel`.

use std::any::Any;
use std::sync::Arc;

use anyhow::Context;
use cel::ExecutionError;
use cel::common::traits::Indexer;
use cel::common::types::{CelBool, CelInt, CelList, CelString, Type};
use cel::common::value::{CowVal, StaticVal, Val};
use model::quantity::Quantity;
use regex::Regex;

use super::super::devices::{DOMAIN, Described, Published};

pub(super) static AMOUNT: Type = Type::new_unspecified_type("Quantity");
pub(super) static VERSION: Type = Type::new_unspecified_type("Semver");
pub(super) static PATTERN: Type = Type::new_unspecified_type("Pattern");
static FIELDS: Type = Type::new_unspecified_type("Fields");

/// A quantity.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Amount(pub(super) Quantity);

/// A version; the generated ones have three numbers and nothing more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Version([u64; 3]);

/// A compiled pattern, which is equal to nothing.
#[derive(Clone, Debug)]
pub(super) struct Pattern(pub(super) Regex);

impl PartialEq for Pattern {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl Version {
    pub(super) fn parse(text: &str) -> Option<Version> {
        let mut parts = text.split('.').map(|part| part.parse().ok());
        Some(Version([parts.next()??, parts.next()??, parts.next()??]))
    }
}

/// Makes a type of ours a value without fields.
macro_rules! plain_value {
    ($own:ty, $known:expr) => {
        impl Val for $own {
            fn get_type(&self) -> &Type {
                &$known
            }
            fn cel_type() -> &'static Type {
                &$known
            }
            fn equals(&self, other: &dyn Val) -> bool {
                other.downcast_ref::<$own>().is_some_and(|other| other == self)
            }
            fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
                Box::new(self.clone())
            }
            fn as_any(&self) -> Option<&dyn Any> {
                Some(self)
            }
        }
        impl StaticVal for $own {}
    };
}

plain_value!(Amount, AMOUNT);
plain_value!(Version, VERSION);
plain_value!(Pattern, PATTERN);

type Named = (Box<str>, Box<dyn Val>);

/// Values by name, few enough to be found fastest by looking at all. A copy shares the values.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    named: Arc<[Named]>,
    /// What an unknown name stands for; without it, asking for one is an error.
    unknown: Option<Arc<Fields>>,
}

/// A device.
pub(super) type Seen = Fields;

impl Fields {
    fn of(named: Vec<(&str, Box<dyn Val>)>) -> Fields {
        Fields { named: named.into_iter().map(|(name, value)| (name.into(), value)).collect(), unknown: None }
    }

    /// Values by domain; an unknown domain has no values.
    fn by_domain(named: Vec<(&str, Box<dyn Val>)>) -> Box<dyn Val> {
        let domains: Vec<(&str, Box<dyn Val>)> = vec![(DOMAIN, Box::new(Fields::of(named)))];
        Box::new(Fields { unknown: Some(Arc::new(Fields::of(Vec::new()))), ..Fields::of(domains) })
    }

    pub(super) fn new(published: &Published) -> anyhow::Result<Seen> {
        let mut attributes = Vec::new();
        for (id, value) in &published.attributes {
            attributes.push((*id, value_of(value)?));
        }
        let mut capacity: Vec<(&str, Box<dyn Val>)> = Vec::new();
        for (id, amount) in &published.capacity {
            capacity.push((*id, Box::new(Amount(amount.parse().context("the capacity is a quantity")?))));
        }
        Ok(Fields::of(vec![
            ("driver", Box::new(CelString::from(published.driver))),
            ("attributes", Fields::by_domain(attributes)),
            ("capacity", Fields::by_domain(capacity)),
            ("allowMultipleAllocations", Box::new(CelBool::from(false))),
        ]))
    }
}

fn value_of(value: &Described) -> anyhow::Result<Box<dyn Val>> {
    Ok(match value {
        Described::Int(value) => Box::new(CelInt::from(*value)),
        Described::Bool(value) => Box::new(CelBool::from(*value)),
        Described::Text(text) => Box::new(CelString::from(text.clone())),
        Described::Version(text) => Box::new(Version::parse(text).context("the version has three numbers")?),
        Described::Texts(texts) => {
            let boxed = |text: &&'static str| Box::new(CelString::from(*text)) as Box<dyn Val>;
            Box::new(CelList::from(texts.iter().map(boxed).collect::<Vec<_>>()))
        }
    })
}

impl Val for Fields {
    fn get_type(&self) -> &Type {
        &FIELDS
    }

    fn cel_type() -> &'static Type {
        &FIELDS
    }

    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Fields {}

impl Indexer for Fields {
    fn get<'b, 'v>(&'b self, name: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let name = name.downcast_ref::<CelString>().map_or("", CelString::inner);
        match (self.named.iter().find(|(known, _)| **known == *name), &self.unknown) {
            (Some((_, value)), _) => Ok(CowVal::Borrowed(&**value)),
            (None, Some(unknown)) => Ok(CowVal::Borrowed(&**unknown)),
            (None, None) => Err(ExecutionError::no_such_key(name)),
        }
    }

    fn steal<'v>(self: Box<Self>, name: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.get(name).map(CowVal::into_owned)
    }
}
