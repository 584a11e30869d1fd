//! The commonest conditions, decided at a glance: the device's own values against constants, without run-time values in
//! between.
//!
//! A glance answers true or false, or not at all: when a name is missing, when a value has another type than the
//! constant, in short whenever something unusual is going on, [`Test`] has the answer. Each remembers where in a device it
//! found its name, which decides how long a look at the next one takes, and never what is seen.

use std::cmp::Ordering;
use std::sync::Arc;

use model::quantity::Quantity;
use regex::Regex;

use crate::device::{Attribute, Device};
use crate::fast::{Part, Place, Read, Test};
use crate::filed::{Filed, Sighting};
use crate::library::semver::Semver;
use crate::program::{InSet, Node};
use crate::value::constant::Constant;

/// A condition that a look at the device decides.
#[derive(Debug)]
pub(crate) enum Glance {
    All(Box<[Glance]>),
    Any(Box<[Glance]>),
    Not(Box<Glance>),
    Driver { text: Arc<str>, wanted: bool },
    Text { at: Spot, text: Arc<str>, wanted: bool },
    OneOf { at: Spot, texts: Box<[Arc<str>]> },
    Affix { at: Spot, test: Affix, text: Arc<str> },
    Matches { at: Spot, pattern: Regex },
    Includes { at: Spot, text: Arc<str> },
    Bool { at: Spot, wanted: bool },
    Int { at: Spot, number: i64, accepted: Orders },
    Version { at: Spot, version: Arc<Semver>, accepted: Orders },
    Amount { at: Spot, amount: Arc<Quantity>, accepted: Orders },
    HasAttribute(Spot),
    HasCapacity(Spot),
}

/// How a text is found in another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Affix {
    Start,
    End,
    Anywhere,
}

/// A domain and an id, and where they were found last.
#[derive(Debug)]
pub(crate) struct Spot {
    /// The driver's own domain if there is none.
    domain: Option<Box<str>>,
    id: Box<str>,
    last: Sighting,
}

/// How the device's value may compare with the constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Orders {
    less: bool,
    equal: bool,
    greater: bool,
}

const EQUAL: Orders = Orders { less: false, equal: true, greater: false };
const NOT_EQUAL: Orders = Orders { less: true, equal: false, greater: true };

impl Orders {
    /// The orders that an operator accepts.
    fn of(operator: &str) -> Option<Orders> {
        Some(match operator {
            "_<_" => Orders { less: true, equal: false, greater: false },
            "_<=_" => Orders { less: true, equal: true, greater: false },
            "_>_" => Orders { less: false, equal: false, greater: true },
            "_>=_" => Orders { less: false, equal: true, greater: true },
            _ => return None,
        })
    }

    fn accept(self, order: Ordering) -> bool {
        match order {
            Ordering::Less => self.less,
            Ordering::Equal => self.equal,
            Ordering::Greater => self.greater,
        }
    }

    /// The same with the sides exchanged.
    fn reversed(self) -> Orders {
        Orders { less: self.greater, equal: self.equal, greater: self.less }
    }

    /// The orders whose number, as `compareTo` gives it, is accepted beside another number.
    fn beside(self, number: i64) -> Orders {
        let accepts = |order: i64| self.accept(order.cmp(&number));
        Orders { less: accepts(-1), equal: accepts(0), greater: accepts(1) }
    }

    /// Whether this asks for equality; `None` if for something else.
    fn equality(self) -> Option<bool> {
        match self {
            EQUAL => Some(true),
            NOT_EQUAL => Some(false),
            _ => None,
        }
    }
}

impl Spot {
    fn new(place: &Place) -> Spot {
        let domain: Option<Box<str>> = place.domain_name().map(Box::from);
        Spot { last: Sighting::new(domain.is_some()), domain, id: place.id().into() }
    }

    fn find<'d, T>(&self, device: &'d Device, filed: &'d Filed<T>) -> Option<&'d T> {
        filed.find(self.domain.as_deref().unwrap_or(&device.driver), &self.id, &self.last)
    }

    fn attribute<'d>(&self, device: &'d Device) -> Option<&'d Attribute> {
        self.find(device, &device.attributes)
    }

    fn text<'d>(&self, device: &'d Device) -> Option<&'d str> {
        match self.attribute(device)? {
            Attribute::String(text) => Some(text),
            _ => None,
        }
    }
}

impl Glance {
    /// The glance that decides a test, if one can.
    pub(crate) fn of(test: &Test) -> Option<Glance> {
        let all = |tests: &[Test]| tests.iter().map(Glance::of).collect::<Option<Box<[Glance]>>>();
        match test {
            Test::All(tests) => Some(Glance::All(all(tests)?)),
            Test::Any(tests) => Some(Glance::Any(all(tests)?)),
            Test::Not(inner) => Some(Glance::Not(Box::new(Glance::of(inner)?))),
            Test::Equal { left, right, wanted } => {
                let accepted = if *wanted { EQUAL } else { NOT_EQUAL };
                equality(left, right, accepted).or_else(|| relation(left, right, accepted))
            }
            Test::Relation { operator, left, right } => relation(left, right, Orders::of(operator)?),
            Test::InConstants { element: Read::Attribute(place), set } => {
                Some(Glance::OneOf { at: Spot::new(place), texts: texts(set)? })
            }
            Test::Present { of: Part::Attributes, place } => Some(Glance::HasAttribute(Spot::new(place))),
            Test::Present { of: Part::Capacity, place } => Some(Glance::HasCapacity(Spot::new(place))),
            Test::Matches { text: Read::Attribute(place), pattern } => {
                Some(Glance::Matches { at: Spot::new(place), pattern: pattern.clone() })
            }
            Test::Function { overload, args: [left, right], .. } => function(overload.id, left, right),
            Test::Holds(Read::Attribute(place)) => Some(Glance::Bool { at: Spot::new(place), wanted: true }),
            _ => None,
        }
    }

    /// Whether the condition holds; `None` if a glance does not tell.
    pub(crate) fn answer(&self, device: &Device) -> Option<bool> {
        Some(match self {
            Glance::All(parts) => {
                for part in parts {
                    if !part.answer(device)? {
                        return Some(false);
                    }
                }
                true
            }
            Glance::Any(parts) => {
                for part in parts {
                    if part.answer(device)? {
                        return Some(true);
                    }
                }
                false
            }
            Glance::Not(inner) => !inner.answer(device)?,
            Glance::Driver { text, wanted } => (*device.driver == **text) == *wanted,
            Glance::Text { at, text, wanted } => (*at.text(device)? == **text) == *wanted,
            Glance::OneOf { at, texts } => {
                let own = at.text(device)?;
                texts.iter().any(|text| **text == *own)
            }
            Glance::Affix { at, test, text } => {
                let own = at.text(device)?;
                match test {
                    Affix::Start => own.starts_with(&**text),
                    Affix::End => own.ends_with(&**text),
                    Affix::Anywhere => own.contains(&**text),
                }
            }
            Glance::Matches { at, pattern } => pattern.is_match(at.text(device)?),
            Glance::Includes { at, text } => match at.attribute(device)? {
                Attribute::Strings(texts) => texts.iter().any(|own| **own == **text),
                _ => return None,
            },
            Glance::Bool { at, wanted } => match at.attribute(device)? {
                Attribute::Bool(own) => own == wanted,
                _ => return None,
            },
            Glance::Int { at, number, accepted } => match at.attribute(device)? {
                Attribute::Int(own) => accepted.accept(own.cmp(number)),
                _ => return None,
            },
            Glance::Version { at, version, accepted } => match at.attribute(device)? {
                Attribute::Version(own) => accepted.accept(own.order(version)),
                _ => return None,
            },
            Glance::Amount { at, amount, accepted } => {
                accepted.accept(at.find(device, &device.capacity)?.cmp(amount))
            }
            Glance::HasAttribute(at) => at.attribute(device).is_some(),
            Glance::HasCapacity(at) => at.find(device, &device.capacity).is_some(),
        })
    }
}

/// `==` and `!=` of what has no order for the operators, or another one.
fn equality(left: &Read, right: &Read, accepted: Orders) -> Option<Glance> {
    let wanted = accepted.equality()?;
    match (left, right) {
        (Read::Driver, Read::Constant(Constant::String(text)))
        | (Read::Constant(Constant::String(text)), Read::Driver) => {
            Some(Glance::Driver { text: text.clone(), wanted })
        }
        (Read::Attribute(place), Read::Constant(Constant::String(text)))
        | (Read::Constant(Constant::String(text)), Read::Attribute(place)) => {
            Some(Glance::Text { at: Spot::new(place), text: text.clone(), wanted })
        }
        (Read::Attribute(place), Read::Constant(Constant::Bool(value)))
        | (Read::Constant(Constant::Bool(value)), Read::Attribute(place)) => {
            Some(Glance::Bool { at: Spot::new(place), wanted: *value == wanted })
        }
        _ => compared(left, right, accepted),
    }
}

/// A comparison of numbers, or of what `compareTo` says with a number.
fn relation(left: &Read, right: &Read, accepted: Orders) -> Option<Glance> {
    match (left, right) {
        (Read::Attribute(place), Read::Constant(Constant::Int(number))) => {
            Some(Glance::Int { at: Spot::new(place), number: *number, accepted })
        }
        (Read::Function { args, .. }, Read::Constant(Constant::Int(number))) => {
            compared(&args[0], &args[1], accepted.beside(*number))
        }
        (Read::Constant(Constant::Int(_)), Read::Attribute(_) | Read::Function { .. }) => {
            relation(right, left, accepted.reversed())
        }
        _ => None,
    }
}

/// How a version or quantity of the device compares with a constant.
fn compared(left: &Read, right: &Read, accepted: Orders) -> Option<Glance> {
    match (left, right) {
        (Read::Attribute(place), Read::Constant(Constant::Semver(version))) => {
            Some(Glance::Version { at: Spot::new(place), version: version.clone(), accepted })
        }
        (Read::Capacity(place), Read::Constant(Constant::Quantity(amount))) => {
            Some(Glance::Amount { at: Spot::new(place), amount: amount.clone(), accepted })
        }
        (Read::Constant(Constant::Semver(_)), Read::Attribute(_))
        | (Read::Constant(Constant::Quantity(_)), Read::Capacity(_)) => {
            compared(right, left, accepted.reversed())
        }
        _ => None,
    }
}

fn function(overload: &str, left: &Read, right: &Read) -> Option<Glance> {
    match overload {
        "quantity_is_greater_than" | "semver_is_greater_than" => compared(left, right, Orders::of("_>_")?),
        "quantity_is_less_than" | "semver_is_less_than" => compared(left, right, Orders::of("_<_")?),
        _ => {
            let (Read::Attribute(place), Read::Constant(Constant::String(text))) = (left, right) else {
                return None;
            };
            let (at, text) = (Spot::new(place), text.clone());
            match overload {
                "starts_with_string" => Some(Glance::Affix { at, test: Affix::Start, text }),
                "ends_with_string" => Some(Glance::Affix { at, test: Affix::End, text }),
                "contains_string" => Some(Glance::Affix { at, test: Affix::Anywhere, text }),
                "list_includes_dyn_dyn" => Some(Glance::Includes { at, text }),
                _ => None,
            }
        }
    }
}

/// The members of a set, if they are texts.
fn texts(set: &Node) -> Option<Box<[Arc<str>]>> {
    let Node::InSet(set) = set else { return None };
    let InSet { members, .. } = &**set;
    let text = |at: usize| match members.at(at) {
        Some((Constant::String(text), _)) => Some(text.clone()),
        _ => None,
    };
    (0..members.len()).map(text).collect()
}
