//! A slice's devices by column.
//!
//! Devices of a slice resemble each other: a column has few distinct values. Each distinct value has a number, and a device
//! that has it stands for all others that do.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use model::quantity::Quantity;

use crate::device::Device;
use crate::fast::Part;
use crate::filed::Filed;
use crate::names::Names;

/// A column: the number of each device's value, and a device for each number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Column {
    pub(crate) codes: Vec<u32>,
    pub(crate) examples: Vec<u32>,
}

impl Column {
    /// The column of pairs: devices have the same number if they have it in both.
    pub(crate) fn with(&self, other: &Column) -> Column {
        column(self.codes.iter().zip(&other.codes))
    }
}

/// A quantity told apart by everything that an expression can see, which is more than its amount.
#[derive(Clone, Copy, Debug)]
struct Exact<'d>(&'d Quantity);

impl Ord for Exact<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let seen = |quantity: &Quantity| {
            (quantity.is_wide(), quantity.as_i64(), quantity.approximate_f64().to_bits())
        };
        self.0.cmp(other.0).then_with(|| seen(self.0).cmp(&seen(other.0)))
    }
}

impl PartialOrd for Exact<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Exact<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Exact<'_> {}

/// The devices of a slice, ready to be matched together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceSlice {
    devices: Vec<Device>,
    attributes: Columns,
    capacity: Columns,
    driver: Column,
    multiple: Column,
    /// What the absence of a column looks like: one number for all.
    absent: Column,
    within_bounds: bool,
}

/// Columns by domain and id.
type Columns = BTreeMap<Box<str>, BTreeMap<Box<str>, Column>>;

/// Gives each distinct value a number, in the order of first appearance.
fn column<K: Ord>(values: impl Iterator<Item = K>) -> Column {
    let mut numbers: BTreeMap<K, u32> = BTreeMap::new();
    let mut column = Column::default();
    for (row, value) in values.enumerate() {
        let next = column.examples.len() as u32;
        let code = *numbers.entry(value).or_insert(next);
        if code == next {
            column.examples.push(row as u32);
        }
        column.codes.push(code);
    }
    column
}

/// Turns the entries of all devices into columns; `key` tells values apart.
fn columns<'d, T: 'd, K: Ord + Clone>(
    devices: &'d [Device],
    filed: impl Fn(&'d Device) -> &'d Filed<T>,
    key: impl Fn(&'d T) -> K,
) -> Columns {
    let mut rows: BTreeMap<&'d str, BTreeMap<&'d str, Vec<Option<K>>>> = BTreeMap::new();
    for (row, device) in devices.iter().enumerate() {
        for (domain, entries) in filed(device).iter() {
            let ids = rows.entry(domain).or_default();
            for (id, value) in entries.iter() {
                ids.entry(id).or_insert_with(|| vec![None; devices.len()])[row] = Some(key(value));
            }
        }
    }
    let boxed = |(id, values): (&str, Vec<Option<K>>)| (Box::from(id), column(values.into_iter()));
    rows.into_iter().map(|(domain, ids)| (Box::from(domain), ids.into_iter().map(boxed).collect())).collect()
}

impl DeviceSlice {
    /// Arranges devices for matching; their order is kept.
    #[must_use]
    pub fn new(mut devices: Vec<Device>) -> DeviceSlice {
        let mut names = Names::default();
        devices.iter_mut().for_each(|device| names.share(device));
        DeviceSlice {
            attributes: columns(&devices, |device| &device.attributes, |attribute| attribute),
            capacity: columns(&devices, |device| &device.capacity, Exact),
            driver: column(devices.iter().map(|device| &device.driver)),
            multiple: column(devices.iter().map(|device| device.multiple)),
            absent: column(devices.iter().map(|_| ())),
            within_bounds: devices.iter().all(Device::is_within_bounds),
            devices,
        }
    }

    /// The devices, in order.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    pub(crate) fn is_within_bounds(&self) -> bool {
        self.within_bounds
    }

    /// The column that a source is; `None` if devices of different drivers would have different ones.
    pub(crate) fn column(&self, source: Source<'_>) -> Option<&Column> {
        let (part, domain, id) = match source {
            Source::Driver => return Some(&self.driver),
            Source::Multiple => return Some(&self.multiple),
            Source::Constant => return Some(&self.absent),
            Source::Entry(part, domain, id) => (part, domain, id),
        };
        let domain = self.domain_name(domain)?;
        Some(self.part(part).get(domain).and_then(|ids| ids.get(id)).unwrap_or(&self.absent))
    }

    fn part(&self, part: Part) -> &Columns {
        match part {
            Part::Attributes => &self.attributes,
            Part::Capacity => &self.capacity,
        }
    }

    /// A domain, or the driver's if there is only one driver.
    fn domain_name<'n>(&'n self, domain: Option<&'n str>) -> Option<&'n str> {
        match domain {
            Some(domain) => Some(domain),
            None if self.driver.examples.len() == 1 => self.devices.first().map(|device| &*device.driver),
            None => None,
        }
    }

    /// The columns of a domain, or of all domains.
    pub(crate) fn columns_of(&self, part: Part, domain: Option<&str>) -> Vec<&Column> {
        let columns = self.part(part);
        match domain {
            Some(domain) => columns.get(domain).into_iter().flat_map(BTreeMap::values).collect(),
            None => columns.values().flat_map(BTreeMap::values).collect(),
        }
    }
}

/// What a comparison depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source<'t> {
    Constant,
    Driver,
    Multiple,
    /// An attribute or capacity; without a domain, of the driver's.
    Entry(Part, Option<&'t str>, &'t str),
}
