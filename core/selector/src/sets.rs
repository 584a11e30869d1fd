//! Conditions over all devices of a slice at once.
//!
//! A comparison that reads one column is decided once for each distinct value, on a device that has it, and then copied to
//! the others by number. `&&`, `||` and `!` become operations on sets of devices, with errors as a third answer.

use fixedbitset::FixedBitSet;

use crate::columns::{DeviceSlice, Source};
use crate::fast::{Part, Read, Test};
use crate::value::{Fault, Outcome, Value};

/// The answers for all devices: true, or failed; false is neither.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    pub(crate) yes: FixedBitSet,
    pub(crate) failed: FixedBitSet,
}

/// What the condition says of one device.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeviceVerdict {
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
    // Where most devices have values of their own, asking each of them is faster.
    if column.examples.len() * 2 > column.codes.len() + 2 {
        return None;
    }
    let mut by_code = Vec::with_capacity(column.examples.len());
    for &example in &column.examples {
        by_code.push(answer(test.outcome(&slice.devices()[example as usize]))?);
    }
    let count = slice.devices().len();
    let mut found =
        Answers { yes: FixedBitSet::with_capacity(count), failed: FixedBitSet::with_capacity(count) };
    for (row, &code) in column.codes.iter().enumerate() {
        match by_code[code as usize] {
            DeviceVerdict::Yes => found.yes.insert(row),
            DeviceVerdict::No => {}
            DeviceVerdict::Failed => found.failed.insert(row),
        }
    }
    Some(found)
}

/// The answer that an outcome is; `None` for one that ends the evaluation, which sets cannot express. What is not a
/// condition has failed: around it are only operators that refuse it, and at the top it is refused too.
fn answer(outcome: Outcome<'_>) -> Option<DeviceVerdict> {
    match outcome {
        Ok(Value::Bool(true)) => Some(DeviceVerdict::Yes),
        Ok(Value::Bool(false)) => Some(DeviceVerdict::No),
        Ok(_) => Some(DeviceVerdict::Failed),
        Err(fault) => (!Fault::ends(&fault)).then_some(DeviceVerdict::Failed),
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
