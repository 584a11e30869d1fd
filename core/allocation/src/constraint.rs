//! Attributes of devices as numbers, and what constraints remember of the devices chosen so far.
//!
//! Invariant: two values have one number exactly if they have the same type and are equal, so constraints compare
//! integers.

use std::collections::BTreeMap;
use std::sync::Arc;

use fixedbitset::FixedBitSet;
use model::device::Attribute;
use smallvec::SmallVec;

use crate::error::AllocationError;

/// The numbers of a device's values of one attribute, sorted.
pub(crate) type Values = SmallVec<[u32; 2]>;

/// What a device has of an attribute.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Found {
    /// Nothing.
    Absent,
    /// These values.
    Values(Values),
    /// Something that cannot be compared: it goes with nothing else.
    Alone,
    /// It cannot be told, which ends the search.
    Broken(Box<AllocationError>),
}

/// The values of all devices for one attribute, or for one expression that derives it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ValueTable {
    pub found: Vec<Found>,
    /// The devices that have a value.
    pub having: BTreeMap<u32, FixedBitSet>,
}

impl ValueTable {
    /// Files what was found on each device.
    pub fn new(found: Vec<Found>) -> ValueTable {
        let mut having: BTreeMap<u32, FixedBitSet> = BTreeMap::new();
        for (spot, found_here) in found.iter().enumerate() {
            let Found::Values(values) = found_here else { continue };
            for value in values {
                having.entry(*value).or_insert_with(|| FixedBitSet::with_capacity(found.len())).insert(spot);
            }
        }
        ValueTable { found, having }
    }

    /// Whether some device ends the search.
    pub fn is_broken(&self) -> bool {
        self.found.iter().any(|found| matches!(found, Found::Broken(_)))
    }
}

/// A scalar value with its type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Scalar {
    Int(i64),
    Bool(bool),
    String(Arc<str>),
    Version(Arc<str>),
}

/// Gives values numbers.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    numbers: BTreeMap<Scalar, u32>,
}

impl Numbering {
    fn number(&mut self, scalar: Scalar) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(scalar).or_insert(next)
    }

    /// What a constraint sees of an attribute. With lists, a scalar is a list of one; without, a list cannot be compared.
    pub fn found(&mut self, attribute: Option<&Attribute>, lists: bool) -> Found {
        let Some(attribute) = attribute else { return Found::Absent };
        let scalar = match attribute {
            Attribute::Int(value) => Scalar::Int(*value),
            Attribute::Bool(value) => Scalar::Bool(*value),
            Attribute::String(text) => Scalar::String(text.clone()),
            Attribute::Version(text) => Scalar::Version(text.clone()),
            list => return self.list(list, lists),
        };
        Found::Values(SmallVec::from_slice(&[self.number(scalar)]))
    }

    fn list(&mut self, attribute: &Attribute, lists: bool) -> Found {
        if !lists {
            return Found::Alone;
        }
        let scalars: Vec<Scalar> = match attribute {
            Attribute::Ints(values) => values.iter().copied().map(Scalar::Int).collect(),
            Attribute::Bools(values) => values.iter().copied().map(Scalar::Bool).collect(),
            Attribute::Strings(values) => values.iter().cloned().map(Scalar::String).collect(),
            Attribute::Versions(values) => values.iter().cloned().map(Scalar::Version).collect(),
            _ => Vec::new(),
        };
        if scalars.is_empty() {
            return Found::Absent;
        }
        let mut values: Values = scalars.into_iter().map(|scalar| self.number(scalar)).collect();
        values.sort_unstable();
        values.dedup();
        Found::Values(values)
    }
}

/// A constraint of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParsedConstraint {
    /// All devices have a value in common.
    Match,
    /// No two devices have a value in common.
    Distinct,
}

/// What a constraint remembers of the devices chosen so far.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Memory {
    /// No device was chosen.
    #[default]
    Empty,
    /// Of a match: the values in common. Of a distinction: the values used.
    Values(Values),
    /// A device was chosen that goes with nothing else.
    Alone,
}

impl Memory {
    /// What is remembered when a device is chosen too; `None` if it may not be.
    pub fn with(&self, constraint: ParsedConstraint, found: &Found) -> Option<Memory> {
        match (constraint, self, found) {
            (_, _, Found::Absent | Found::Broken(_)) => None,
            (_, Memory::Empty, Found::Values(values)) => Some(Memory::Values(values.clone())),
            (_, Memory::Empty, Found::Alone) => Some(Memory::Alone),
            (ParsedConstraint::Match, Memory::Values(held), Found::Values(values)) => {
                let common: Values = held.iter().copied().filter(|value| values.contains(value)).collect();
                (!common.is_empty()).then_some(Memory::Values(common))
            }
            (ParsedConstraint::Match, _, _) => None,
            (ParsedConstraint::Distinct, Memory::Values(used), Found::Values(values)) => {
                if values.iter().any(|value| used.contains(value)) {
                    return None;
                }
                let mut all = used.clone();
                all.extend_from_slice(values);
                all.sort_unstable();
                Some(Memory::Values(all))
            }
            // What cannot be compared cannot repeat a value that came before it, but nothing may follow unseen.
            (ParsedConstraint::Distinct, Memory::Alone, Found::Values(values)) => {
                Some(Memory::Values(values.clone()))
            }
            (ParsedConstraint::Distinct, _, Found::Alone) => None,
        }
    }
}
