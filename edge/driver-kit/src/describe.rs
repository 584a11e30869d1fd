//! Devices in few words. The types are those of the API; these are shorthands for what drivers write most.

use std::collections::BTreeMap;

use model::quantity::Quantity as Amount;
use objects::Quantity;
use objects::resource::slice::{
    Counter, CounterSet, Device, DeviceAttribute, DeviceCapacity, DeviceCounterConsumption, DeviceTaint,
};
use thiserror::Error;

/// An amount that cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{text:?} is not a quantity: {why}; hint: write it as 80Gi or 500m")]
pub struct NotAQuantity {
    text: String,
    why: String,
}

/// Describes a device, one fact after the other.
///
/// ```
/// use driver_kit::{Describe, api::Device};
///
/// # fn main() -> Result<(), driver_kit::NotAQuantity> {
/// let device = Device::named("gpu-0")
///     .attribute("model", "LATEST-GPU-MODEL")
///     .attribute("index", 0)
///     .capacity("memory", "80Gi")?;
/// # assert_eq!(device.attributes["index"].int, Some(0));
/// # Ok(())
/// # }
/// ```
pub trait Describe: Sized {
    /// A device of which nothing is known but its name, a DNS label.
    fn named(name: impl Into<String>) -> Self;

    /// A property to select by. A name without a domain is in that of the driver.
    #[must_use]
    fn attribute(self, name: impl Into<String>, value: impl Into<Attribute>) -> Self;

    /// How much the device has of something.
    ///
    /// # Errors
    /// When the amount is none.
    fn capacity(self, name: impl Into<String>, amount: &str) -> Result<Self, NotAQuantity>;

    /// What the device takes from a counter set of its pool while it is in use.
    ///
    /// # Errors
    /// When an amount is none.
    fn draws(self, counter_set: impl Into<String>, counters: &[(&str, &str)]) -> Result<Self, NotAQuantity>;

    /// A reason to keep claims off the device, by key, value and effect. The server notes when it was added.
    #[must_use]
    fn taint(self, key: impl Into<String>, value: impl Into<String>, effect: impl Into<String>) -> Self;
}

impl Describe for Device {
    fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    fn attribute(mut self, name: impl Into<String>, value: impl Into<Attribute>) -> Self {
        self.attributes.insert(name.into(), value.into().0);
        self
    }

    fn capacity(mut self, name: impl Into<String>, amount: &str) -> Result<Self, NotAQuantity> {
        let capacity = DeviceCapacity { value: quantity(amount)?, ..DeviceCapacity::default() };
        self.capacity.insert(name.into(), capacity);
        Ok(self)
    }

    fn draws(
        mut self,
        counter_set: impl Into<String>,
        counters: &[(&str, &str)],
    ) -> Result<Self, NotAQuantity> {
        let counter_set = counter_set.into();
        let counters = amounts(counters)?;
        let draw = DeviceCounterConsumption { counter_set, counters, ..DeviceCounterConsumption::default() };
        self.consumes_counters.push(draw);
        Ok(self)
    }

    fn taint(mut self, key: impl Into<String>, value: impl Into<String>, effect: impl Into<String>) -> Self {
        let (key, value, effect) = (key.into(), value.into(), effect.into());
        self.taints.push(DeviceTaint { key, value, effect, ..DeviceTaint::default() });
        self
    }
}

/// A counter set by its name and what it has.
///
/// # Errors
/// When an amount is none.
pub fn counter_set(name: impl Into<String>, counters: &[(&str, &str)]) -> Result<CounterSet, NotAQuantity> {
    Ok(CounterSet { name: name.into(), counters: amounts(counters)?, ..CounterSet::default() })
}

/// An amount such as `80Gi`.
///
/// # Errors
/// When it is none.
pub fn quantity(text: &str) -> Result<Quantity, NotAQuantity> {
    let parsed = text.parse::<Amount>();
    parsed.map(Quantity).map_err(|error| NotAQuantity { text: text.to_owned(), why: error.to_string() })
}

fn amounts(counters: &[(&str, &str)]) -> Result<BTreeMap<String, Counter>, NotAQuantity> {
    let counter = |(name, amount): &(&str, &str)| {
        Ok(((*name).to_owned(), Counter { value: quantity(amount)?, ..Counter::default() }))
    };
    counters.iter().map(counter).collect()
}

/// The value of an attribute: text, a number or a yes or no. [`Attribute::version`] makes a version of text.
#[derive(Clone, Debug)]
pub struct Attribute(DeviceAttribute);

impl Attribute {
    /// A version such as `1.2.3`, which selectors can compare.
    pub fn version(text: impl Into<String>) -> Self {
        Self(DeviceAttribute { version: Some(text.into()), ..DeviceAttribute::default() })
    }
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Attribute {
    fn from(text: String) -> Self {
        Self(DeviceAttribute { string: Some(text), ..DeviceAttribute::default() })
    }
}

impl From<i64> for Attribute {
    fn from(int: i64) -> Self {
        Self(DeviceAttribute { int: Some(int), ..DeviceAttribute::default() })
    }
}

impl From<bool> for Attribute {
    fn from(bool: bool) -> Self {
        Self(DeviceAttribute { bool: Some(bool), ..DeviceAttribute::default() })
    }
}
