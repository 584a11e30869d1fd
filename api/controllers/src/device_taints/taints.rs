//! All taints that end the use of a device, from slices and from rules.
//!
//! Invariant: of a pool, only slices of its highest generation count; what was published before is out of date.

use std::fmt;

use objects::resource::class::DeviceTaintRule;
use objects::resource::slice::{Device, DeviceTaint, ResourceSlice};

/// The effect of a taint that ends the use of a device.
const EVICTS: &str = "NoExecute";

/// Where a taint is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// In a rule.
    Rule {
        /// The rule's name.
        name: String,
        /// Its uid.
        uid: String,
    },
    /// In a slice, beside the device.
    Slice {
        /// The driver.
        driver: String,
        /// The pool.
        pool: String,
        /// The device.
        device: String,
        /// The taint's key.
        key: String,
    },
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { name, .. } => write!(f, "DeviceTaintRule {name}"),
            Self::Slice { driver, pool, device, key } => {
                write!(f, "taint {key} on device {driver}/{pool}/{device}")
            }
        }
    }
}

/// Knows slices.
pub trait Slices {
    /// All slices of a driver's pool.
    fn of_pool(&self, driver: &str, pool: &str) -> Vec<&ResourceSlice>;
}

/// The taints that end the use of devices, as slices and rules say it now.
pub struct Taints<'a> {
    slices: &'a dyn Slices,
    rules: Vec<&'a DeviceTaintRule>,
}

impl<'a> Taints<'a> {
    /// What these slices and rules say.
    pub fn new(slices: &'a dyn Slices, rules: impl Iterator<Item = &'a DeviceTaintRule>) -> Self {
        Self { slices, rules: rules.filter(|rule| rule.spec.taint.effect == EVICTS).collect() }
    }

    /// What they would say if this rule were among them, whatever its effect.
    pub(super) fn rehearsing<'b>(&'b self, rule: &'b DeviceTaintRule) -> Taints<'b> {
        let others = self.rules.iter().copied().filter(|other| other.metadata.uid != rule.metadata.uid);
        Taints { slices: self.slices, rules: others.chain([rule]).collect() }
    }

    /// Every taint that ends the use of a device. It need not be published any more for a rule to name it.
    pub(super) fn on(&self, driver: &str, pool: &str, device: &str) -> Vec<(Cause, &'a DeviceTaint)> {
        let published =
            current(self.slices.of_pool(driver, pool)).filter(|published| published.name == device);
        let taints = published.flat_map(evicting).map(|taint| {
            let (driver, pool) = (driver.to_owned(), pool.to_owned());
            (Cause::Slice { driver, pool, device: device.to_owned(), key: taint.key.clone() }, taint)
        });
        let rules = self.rules.iter().filter(|rule| selects(rule, driver, pool, device)).map(|rule| {
            let (name, uid) = (rule.metadata.name.clone(), rule.metadata.uid.clone());
            (Cause::Rule { name, uid }, &rule.spec.taint)
        });
        taints.chain(rules).collect()
    }

    /// How many devices of a pool a rule selects among those that are published now.
    pub(super) fn selected(&self, rule: &DeviceTaintRule, driver: &str, pool: &str) -> usize {
        let devices = current(self.slices.of_pool(driver, pool));
        devices.filter(|device| selects(rule, driver, pool, &device.name)).count()
    }
}

/// Whether a change of a slice may change which taints end the use of devices.
pub fn matters(before: Option<&ResourceSlice>, after: Option<&ResourceSlice>) -> bool {
    let said = |slice: &ResourceSlice| -> Vec<(String, DeviceTaint)> {
        let devices = slice.spec.devices.iter().flatten();
        devices
            .flat_map(|device| evicting(device).map(|taint| (device.name.clone(), taint.clone())))
            .collect()
    };
    match (before, after) {
        // One of a new generation puts all others out of date, and so puts them back in force when it goes.
        (Some(before), Some(after)) => before.spec.pool != after.spec.pool || said(before) != said(after),
        _ => true,
    }
}

/// Whether a rule selects a device. One without a selector evicts nobody: nobody loses a device by an omission.
pub fn selects(rule: &DeviceTaintRule, driver: &str, pool: &str, device: &str) -> bool {
    rule.spec.device_selector.as_ref().is_some_and(|selector| {
        let is = |wanted: &Option<String>, have: &str| wanted.as_deref().is_none_or(|wanted| wanted == have);
        is(&selector.driver, driver) && is(&selector.pool, pool) && is(&selector.device, device)
    })
}

/// The devices of a pool's highest generation.
fn current(slices: Vec<&ResourceSlice>) -> impl Iterator<Item = &Device> {
    let highest = slices.iter().map(|slice| slice.spec.pool.generation).max();
    let current = slices.into_iter().filter(move |slice| Some(slice.spec.pool.generation) == highest);
    current.flat_map(|slice| slice.spec.devices.iter().flatten())
}

fn evicting(device: &Device) -> impl Iterator<Item = &DeviceTaint> {
    device.taints.iter().filter(|taint| taint.effect == EVICTS)
}
