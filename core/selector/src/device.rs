//! The device that an expression looks at.
//!
//! Invariant: attributes and capacities are filed by domain and id, sorted, so a lookup never walks over text that it
//! does not need. A name without a domain belongs to the driver's domain.

use std::sync::Arc;

use model::quantity::Quantity;

use crate::filed::Filed;
use crate::library::semver::Semver;

/// The value of an attribute as the API gives it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AttributeValue<'a> {
    /// A whole number.
    Int(i64),
    /// True or false.
    Bool(bool),
    /// A text.
    String(&'a str),
    /// A semantic version.
    Version(&'a str),
    /// Whole numbers.
    Ints(&'a [i64]),
    /// Several of true or false.
    Bools(&'a [bool]),
    /// Texts.
    Strings(&'a [&'a str]),
    /// Semantic versions.
    Versions(&'a [&'a str]),
    /// No value at all, which makes the device unusable.
    Missing,
}

/// Why a device cannot be used with any expression.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
#[error("attribute {name}: {reason}")]
pub struct BadAttribute {
    /// The attribute's name.
    pub name: String,
    /// What is wrong with its value.
    pub reason: String,
}

/// An attribute's value, ready for evaluation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Attribute {
    Int(i64),
    Bool(bool),
    String(Box<str>),
    Version(Box<Semver>),
    Ints(Box<[i64]>),
    Bools(Box<[bool]>),
    Strings(Box<[Box<str>]>),
    Versions(Box<[Semver]>),
}

impl Attribute {
    /// The length of the text or list; of a list of texts, of the longest too.
    fn length(&self) -> usize {
        match self {
            Attribute::Int(_) | Attribute::Bool(_) | Attribute::Version(_) => 1,
            Attribute::String(text) => text.len(),
            Attribute::Ints(values) => values.len(),
            Attribute::Bools(values) => values.len(),
            Attribute::Versions(values) => values.len(),
            Attribute::Strings(values) => {
                values.iter().map(|text| text.len()).max().unwrap_or(0).max(values.len())
            }
        }
    }
}

/// A device in the form that evaluation reads.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Device {
    pub(crate) driver: Arc<str>,
    pub(crate) multiple: bool,
    pub(crate) attributes: Filed<Attribute>,
    pub(crate) capacity: Filed<Quantity>,
    /// A value is longer than the API would ever let it be.
    oversized: bool,
}

/// The longest text or list that counts as within the API's bounds, with room to spare.
const LENGTH_MAX: usize = 1024;

impl Device {
    /// A device without attributes and capacities.
    #[must_use]
    pub fn new(driver: &str, allow_multiple_allocations: bool) -> Device {
        Device { driver: driver.into(), multiple: allow_multiple_allocations, ..Device::default() }
    }

    /// Adds an attribute; a later one of the same full name replaces it.
    ///
    /// # Errors
    /// The value is missing or not a version; then no expression can be evaluated for the device.
    pub fn attribute(&mut self, name: &str, value: &AttributeValue<'_>) -> Result<(), BadAttribute> {
        let bad = |reason: String| BadAttribute { name: name.to_owned(), reason };
        let version = |text: &str| {
            Semver::parse(text).map_err(|reason| bad(format!("parse semantic version: {reason}")))
        };
        let value = match *value {
            AttributeValue::Int(value) => Attribute::Int(value),
            AttributeValue::Bool(value) => Attribute::Bool(value),
            AttributeValue::String(text) => Attribute::String(text.into()),
            AttributeValue::Version(text) => Attribute::Version(Box::new(version(text)?)),
            AttributeValue::Ints(values) => Attribute::Ints(values.into()),
            AttributeValue::Bools(values) => Attribute::Bools(values.into()),
            AttributeValue::Strings(values) => {
                Attribute::Strings(values.iter().map(|text| Box::from(*text)).collect())
            }
            AttributeValue::Versions(values) => {
                Attribute::Versions(values.iter().map(|text| version(text)).collect::<Result<_, _>>()?)
            }
            AttributeValue::Missing => return Err(bad("unsupported attribute value".to_owned())),
        };
        self.oversized = self.oversized || value.length() > LENGTH_MAX;
        let (domain, id) = name.split_once('/').unwrap_or((&self.driver, name));
        let domain = domain.to_owned();
        self.attributes.insert(&domain, id, value);
        Ok(())
    }

    /// Whether all values have sizes that the API allows.
    pub(crate) fn is_within_bounds(&self) -> bool {
        !self.oversized && self.driver.len() <= LENGTH_MAX
    }

    /// Adds a capacity; a later one of the same full name replaces it.
    pub fn capacity(&mut self, name: &str, value: Quantity) {
        let (domain, id) = name.split_once('/').unwrap_or((&self.driver, name));
        let domain = domain.to_owned();
        self.capacity.insert(&domain, id, value);
    }
}
