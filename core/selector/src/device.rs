//! The device that an expression looks at.
//!
//! Invariant: attributes and capacities are filed by domain and id, sorted, so a lookup never walks over text that it
//! does not need. A name without a domain belongs to the driver's domain.

use model::quantity::Quantity;

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
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("attribute {name}: {reason}")]
pub struct BadAttribute {
    /// The attribute's name.
    pub name: String,
    /// What is wrong with its value.
    pub reason: String,
}

/// An attribute's value, ready for evaluation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Attribute {
    Int(i64),
    Bool(bool),
    String(Box<str>),
    Version(Semver),
    Ints(Box<[i64]>),
    Bools(Box<[bool]>),
    Strings(Box<[Box<str>]>),
    Versions(Box<[Semver]>),
}

/// The entries of a domain, sorted by id.
pub(crate) type Entries<T> = Vec<(Box<str>, T)>;

/// Values by domain and id.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Filed<T> {
    domains: Vec<(Box<str>, Entries<T>)>,
}

impl<T> Default for Filed<T> {
    fn default() -> Self {
        Filed { domains: Vec::new() }
    }
}

impl<T> Filed<T> {
    fn insert(&mut self, domain: &str, id: &str, value: T) {
        let at = match self.domains.binary_search_by(|(known, _)| (**known).cmp(domain)) {
            Ok(at) => at,
            Err(at) => {
                self.domains.insert(at, (domain.into(), Vec::new()));
                at
            }
        };
        let entries = &mut self.domains[at].1;
        match entries.binary_search_by(|(known, _)| (**known).cmp(id)) {
            Ok(at) => entries[at].1 = value,
            Err(at) => entries.insert(at, (id.into(), value)),
        }
    }

    pub(crate) fn domains(&self) -> &[(Box<str>, Entries<T>)] {
        &self.domains
    }

    /// The entries of a domain; an unknown domain has none.
    pub(crate) fn domain(&self, domain: &str) -> Option<&[(Box<str>, T)]> {
        let at = self.domains.binary_search_by(|(known, _)| (**known).cmp(domain)).ok()?;
        Some(&self.domains[at].1)
    }
}

/// The entry with an id.
pub(crate) fn entry<'a, T>(entries: &'a [(Box<str>, T)], id: &str) -> Option<&'a T> {
    let at = entries.binary_search_by(|(known, _)| (**known).cmp(id)).ok()?;
    Some(&entries[at].1)
}

/// A device in the form that evaluation reads.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Device {
    pub(crate) driver: Box<str>,
    pub(crate) multiple: bool,
    pub(crate) attributes: Filed<Attribute>,
    pub(crate) capacity: Filed<Quantity>,
}

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
            AttributeValue::Version(text) => Attribute::Version(version(text)?),
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
        let (domain, id) = name.split_once('/').unwrap_or((&self.driver, name));
        let domain = domain.to_owned();
        self.attributes.insert(&domain, id, value);
        Ok(())
    }

    /// Adds a capacity; a later one of the same full name replaces it.
    pub fn capacity(&mut self, name: &str, value: Quantity) {
        let (domain, id) = name.split_once('/').unwrap_or((&self.driver, name));
        let domain = domain.to_owned();
        self.capacity.insert(&domain, id, value);
    }
}
