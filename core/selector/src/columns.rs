//! A slice's devices by column, and conditions over all of them at once.
//!
//! Devices of a slice resemble each other: a column has few distinct values. A comparison that reads one column is decided
//! once for each distinct value, on a device that has it, and then copied to the others by number. `&&`, `||` and `!`
//! become operations on sets of devices, with errors as a third answer.

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

use crate::device::{Attribute, Device};
use crate::fast::{Part, Read, Test};
use crate::filed::Filed;
use crate::value::{Fault, Outcome, Value};

/// A column: the number of each device's value, and a device for each number.
#[derive(Clone, Debug, Default, PartialEq)]
struct Column {
    codes: Vec<u32>,
    examples: Vec<u32>,
}

/// The devices of a slice, ready to be matched together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceSlice {
    devices: Vec<Device>,
    attributes: BTreeMap<Box<str>, BTreeMap<Box<str>, Column>>,
    capacity: BTreeMap<Box<str>, BTreeMap<Box<str>, Column>>,
    driver: Column,
    multiple: Column,
    /// What the absence of a column looks like: one number for all.
    absent: Column,
    within_bounds: bool,
}

/// Gives each distinct value a number, in the order of first appearance.
fn column<'v, T: Ord + 'v>(values: impl Iterator<Item = Option<&'v T>>) -> Column {
    let mut numbers: BTreeMap<Option<&'v T>, u32> = BTreeMap::new();
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

/// The values of each column, by row.
type Rows<'d, T> = BTreeMap<&'d str, BTreeMap<&'d str, Vec<Option<&'d T>>>>;

/// Turns the entries of all devices into columns.
fn columns<'d, T: Ord + 'd>(
    devices: &'d [Device],
    filed: impl Fn(&'d Device) -> &'d Filed<T>,
) -> BTreeMap<Box<str>, BTreeMap<Box<str>, Column>> {
    let mut rows: Rows<'d, T> = BTreeMap::new();
    for (row, device) in devices.iter().enumerate() {
        for (domain, entries) in filed(device).iter() {
            let ids = rows.entry(domain).or_default();
            for (id, value) in entries.iter() {
                ids.entry(id).or_insert_with(|| vec![None; devices.len()])[row] = Some(value);
            }
        }
    }
    let boxed = |(id, values): (&str, Vec<Option<&'d T>>)| (Box::from(id), column(values.into_iter()));
    rows.into_iter().map(|(domain, ids)| (Box::from(domain), ids.into_iter().map(boxed).collect())).collect()
}

impl DeviceSlice {
    /// Arranges devices for matching; their order is kept.
    #[must_use]
    pub fn new(devices: Vec<Device>) -> DeviceSlice {
        DeviceSlice {
            attributes: columns::<Attribute>(&devices, |device| &device.attributes),
            capacity: columns(&devices, |device| &device.capacity),
            driver: column(devices.iter().map(|device| Some(&device.driver))),
            multiple: column(devices.iter().map(|device| Some(&device.multiple))),
            absent: column::<bool>(devices.iter().map(|_| None)),
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

    fn column(&self, source: Source<'_>) -> Option<&Column> {
        let (columns, domain, id) = match source {
            Source::Driver => return Some(&self.driver),
            Source::Multiple => return Some(&self.multiple),
            Source::Constant => return Some(&self.absent),
            Source::Entry(Part::Attributes, domain, id) => (&self.attributes, domain, id),
            Source::Entry(Part::Capacity, domain, id) => (&self.capacity, domain, id),
        };
        let domain = match domain {
            Some(domain) => domain,
            // Devices of one slice have one driver; if not, rows are looked at one by one.
            None if self.driver.examples.len() == 1 => &self.devices.first()?.driver,
            None => return None,
        };
        Some(columns.get(domain).and_then(|ids| ids.get(id)).unwrap_or(&self.absent))
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

/// The answers for all devices: true, or failed; false is neither.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    pub(crate) yes: FixedBitSet,
    pub(crate) failed: FixedBitSet,
}

/// The answer for one device.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    Failed,
}

/// A condition over a whole slice; `None` if it has to be asked device by device.
pub(crate) fn answers(test: &Test, slice: &DeviceSlice) -> Option<Answers> {
    match test {
        Test::All(tests) => combined(tests, slice, false),
        Test::Any(tests) => combined(tests, slice, true),
        Test::Not(inner) => {
            let Answers { mut yes, failed } = answers(inner, slice)?;
            yes.toggle_range(..);
            yes.difference_with(&failed);
            Some(Answers { yes, failed })
        }
        leaf => leaf_answers(leaf, slice),
    }
}

/// The deciding answer wins over failures.
fn combined(tests: &[Test], slice: &DeviceSlice, decides: bool) -> Option<Answers> {
    let mut parts = tests.iter();
    let mut sum = answers(parts.next()?, slice)?;
    for part in parts {
        let next = answers(part, slice)?;
        if decides {
            sum.failed.union_with(&next.failed);
            sum.yes.union_with(&next.yes);
            sum.failed.difference_with(&sum.yes);
        } else {
            // What is neither true nor failed in one of them is false, and false wins.
            let mut not_false = sum.yes.clone();
            not_false.union_with(&sum.failed);
            let mut next_not_false = next.yes.clone();
            next_not_false.union_with(&next.failed);
            sum.yes.intersect_with(&next.yes);
            not_false.intersect_with(&next_not_false);
            not_false.difference_with(&sum.yes);
            sum.failed = not_false;
        }
    }
    Some(sum)
}

fn leaf_answers(test: &Test, slice: &DeviceSlice) -> Option<Answers> {
    let column = slice.column(source(test)?)?;
    let mut by_code = Vec::with_capacity(column.examples.len());
    for &example in &column.examples {
        by_code.push(answer(test.outcome(&slice.devices[example as usize]))?);
    }
    let count = slice.devices.len();
    let mut found =
        Answers { yes: FixedBitSet::with_capacity(count), failed: FixedBitSet::with_capacity(count) };
    for (row, &code) in column.codes.iter().enumerate() {
        match by_code[code as usize] {
            Answer::Yes => found.yes.insert(row),
            Answer::No => {}
            Answer::Failed => found.failed.insert(row),
        }
    }
    Some(found)
}

/// The answer that an outcome is; `None` for one that ends the evaluation, which sets cannot express. What is not a
/// condition has failed: around it are only operators that refuse it, and at the top it is refused too.
fn answer(outcome: Outcome<'_>) -> Option<Answer> {
    match outcome {
        Ok(Value::Bool(true)) => Some(Answer::Yes),
        Ok(Value::Bool(false)) => Some(Answer::No),
        Ok(_) => Some(Answer::Failed),
        Err(fault) => (!Fault::ends(&fault)).then_some(Answer::Failed),
    }
}

/// The only thing that a comparison depends on; `None` if there are several.
fn source(test: &Test) -> Option<Source<'_>> {
    match test {
        Test::All(_) | Test::Any(_) | Test::Not(_) => None,
        Test::Equal { left, right, .. } | Test::Relation { left, right, .. } => both(left, right),
        Test::InConstants { element, .. } => read_source(element),
        Test::InList { element, list } => both(element, list),
        Test::Present { of, place } => Some(Source::Entry(*of, place.domain_name(), place.id())),
        Test::Matches { text, .. } => read_source(text),
        Test::Function { args: [left, right], .. } => both(left, right),
        Test::Holds(read) => read_source(read),
    }
}

fn both<'t>(left: &'t Read, right: &'t Read) -> Option<Source<'t>> {
    match (read_source(left)?, read_source(right)?) {
        (Source::Constant, other) | (other, Source::Constant) => Some(other),
        (left, right) if left == right => Some(left),
        _ => None,
    }
}

fn read_source(read: &Read) -> Option<Source<'_>> {
    match read {
        Read::Constant(_) => Some(Source::Constant),
        Read::Driver => Some(Source::Driver),
        Read::Multiple => Some(Source::Multiple),
        Read::Attribute(place) | Read::AttributeOr(place, _) => {
            Some(Source::Entry(Part::Attributes, place.domain_name(), place.id()))
        }
        Read::Capacity(place) => Some(Source::Entry(Part::Capacity, place.domain_name(), place.id())),
        Read::Function { args, .. } => both(&args[0], &args[1]),
    }
}
