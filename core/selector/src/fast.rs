//! The commonest shapes of selectors, evaluated without counting costs and without allocating.
//!
//! A selector made only of comparisons of the device's fields with constants costs a few dozen units at most, so the
//! limit cannot strike and need not be watched. What such a selector says, errors included, is what the full evaluation
//! says; the vectors hold both against each other.

use model::quantity::Quantity;
use regex::Regex;

use crate::declare::Overload;
use crate::device::Device;
use crate::library::pattern::{self, Search};
use crate::library::{self, Family};
use crate::program::{Attribute, Call, CallKind, InSet, Key, Node, Qualifier, Variable};
use crate::value::constant::Constant;
use crate::value::equal::{contains, equal};
use crate::value::map::{attribute_value, is_hashable};
use crate::value::order::relation;
use crate::value::{Fault, Outcome, Shared, Text, Value};

/// A condition that can be decided at once.
#[derive(Debug)]
pub(crate) enum Test {
    /// True if all are; a false one wins over an error.
    All(Vec<Test>),
    /// True if one is; a true one wins over an error.
    Any(Vec<Test>),
    Not(Box<Test>),
    Equal {
        left: Read,
        right: Read,
        wanted: bool,
    },
    Relation {
        operator: &'static str,
        left: Read,
        right: Read,
    },
    InConstants {
        element: Read,
        set: Box<Node>,
    },
    InList {
        element: Read,
        list: Read,
    },
    Present {
        of: Part,
        place: Place,
    },
    Matches {
        text: Read,
        pattern: Regex,
    },
    /// A function of two arguments that gives a condition.
    Function {
        family: Family,
        overload: &'static Overload,
        args: [Read; 2],
        checked: bool,
    },
    /// A value that is itself the condition.
    Holds(Read),
}

/// A value that can be read at once.
#[derive(Debug)]
pub(crate) enum Read {
    Constant(Constant),
    Driver,
    Multiple,
    Attribute(Place),
    Capacity(Place),
    /// `.?name.orValue(constant)`.
    AttributeOr(Place, Constant),
    /// A function of two arguments that gives a value, such as `compareTo`.
    Function {
        family: Family,
        overload: &'static Overload,
        args: Box<[Read; 2]>,
        checked: bool,
    },
}

/// Which part of the device has an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Attributes,
    Capacity,
}

/// A domain and an id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// The driver's own domain if there is none.
    domain: Option<Box<str>>,
    id: Box<str>,
}

/// How deep conditions nest at most; what nests deeper is not a common shape.
const DEPTH_MAX: u32 = 16;

/// The fast form of a program, if it has one.
pub(crate) fn recognize(node: &Node) -> Option<Test> {
    condition(node, 0)
}

fn condition(node: &Node, depth: u32) -> Option<Test> {
    if depth > DEPTH_MAX {
        return None;
    }
    Some(match node {
        Node::And(terms) => Test::All(flattened(node, terms, depth + 1)?),
        Node::Or(terms) => Test::Any(flattened(node, terms, depth + 1)?),
        Node::Equal(sides) => Test::Equal { left: read(&sides[0])?, right: read(&sides[1])?, wanted: true },
        Node::NotEqual(sides) => {
            Test::Equal { left: read(&sides[0])?, right: read(&sides[1])?, wanted: false }
        }
        Node::InSet(set) => {
            let InSet { element, members } = &**set;
            let constants = Node::InSet(Box::new(InSet { element: null(), members: members.clone() }));
            Test::InConstants { element: read(element)?, set: Box::new(constants) }
        }
        Node::Test(attribute) => {
            let (of, place) = present(attribute)?;
            Test::Present { of, place }
        }
        Node::Call(call) => call_condition(call, depth + 1)?,
        other => Test::Holds(read(other)?),
    })
}

fn null() -> Node {
    Node::Constant(Constant::Null)
}

/// The terms of nested operators of one kind, in order.
fn flattened(node: &Node, terms: &[Node; 2], depth: u32) -> Option<Vec<Test>> {
    let mut tests = Vec::new();
    for term in terms {
        match (node, term) {
            (Node::And(_), Node::And(inner)) | (Node::Or(_), Node::Or(inner)) => {
                tests.extend(flattened(node, inner, depth)?)
            }
            _ => tests.push(condition(term, depth)?),
        }
    }
    Some(tests)
}

fn call_condition(call: &Call, depth: u32) -> Option<Test> {
    match (&call.kind, call.args.as_slice()) {
        (CallKind::Shared("!_"), [inner]) => Some(Test::Not(Box::new(condition(inner, depth)?))),
        (CallKind::Shared(operator @ ("_<_" | "_<=_" | "_>_" | "_>=_")), [left, right]) => {
            Some(Test::Relation { operator, left: read(left)?, right: read(right)? })
        }
        (CallKind::Shared("@in"), [element, list]) => {
            Some(Test::InList { element: read(element)?, list: read(list)? })
        }
        (CallKind::Pattern { search: Search::Matches, pattern }, [text, _]) => {
            Some(Test::Matches { text: read(text)?, pattern: pattern.clone() })
        }
        (CallKind::One { overload, family, checked }, [left, right]) if is_light(overload) => {
            Some(Test::Function {
                family: *family,
                overload,
                args: [read(left)?, read(right)?],
                checked: *checked,
            })
        }
        _ => None,
    }
}

/// Functions that neither allocate nor change anything an expression could see.
fn is_light(overload: &Overload) -> bool {
    matches!(
        overload.id,
        "quantity_is_greater_than"
            | "quantity_is_less_than"
            | "quantity_compare_to"
            | "semver_is_greater_than"
            | "semver_is_less_than"
            | "semver_compare_to"
            | "starts_with_string"
            | "ends_with_string"
            | "contains_string"
            | "list_includes_dyn_dyn"
    )
}

pub(crate) fn read(node: &Node) -> Option<Read> {
    match node {
        Node::Constant(constant) | Node::Prepared { value: constant, .. } => {
            Some(Read::Constant(constant.clone()))
        }
        Node::Attribute(attribute) => read_attribute(attribute),
        Node::OptionalOrValue(sides) => match &**sides {
            [Node::Attribute(attribute), Node::Constant(otherwise)] => {
                let (Part::Attributes, place) = entry_of(attribute, Last::Optional)? else { return None };
                Some(Read::AttributeOr(place, otherwise.clone()))
            }
            _ => None,
        },
        Node::Call(call) => match (&call.kind, call.args.as_slice()) {
            (CallKind::One { overload, family, checked }, [left, right])
                if matches!(overload.id, "quantity_compare_to" | "semver_compare_to") =>
            {
                let args = Box::new([read(left)?, read(right)?]);
                Some(Read::Function { family: *family, overload, args, checked: *checked })
            }
            _ => None,
        },
        _ => None,
    }
}

fn read_attribute(attribute: &Attribute) -> Option<Read> {
    if let Attribute::Variable { variable: Variable::Device, qualifiers } = attribute
        && let [only] = qualifiers.as_slice()
    {
        return match plain_name(only, Last::Plain)? {
            "driver" => Some(Read::Driver),
            "allowMultipleAllocations" => Some(Read::Multiple),
            _ => None,
        };
    }
    match entry_of(attribute, Last::Plain)? {
        (Part::Attributes, place) => Some(Read::Attribute(place)),
        (Part::Capacity, place) => Some(Read::Capacity(place)),
    }
}

fn present(attribute: &Attribute) -> Option<(Part, Place)> {
    entry_of(attribute, Last::Test)
}

/// How the last step reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Plain,
    Optional,
    Test,
}

/// The constant text of a step that reads in this way.
fn plain_name(qualifier: &Qualifier, last: Last) -> Option<&str> {
    let reads = match (qualifier.optional, qualifier.test) {
        (false, false) => Last::Plain,
        (true, false) => Last::Optional,
        (false, true) => Last::Test,
        (true, true) => return None,
    };
    match &qualifier.key {
        Key::Constant(Constant::String(name)) if reads == last => Some(name),
        _ => None,
    }
}

/// `device.attributes[domain].id` or the same of `capacity`.
fn entry_of(attribute: &Attribute, last: Last) -> Option<(Part, Place)> {
    let Attribute::Variable { variable: Variable::Device, qualifiers } = attribute else { return None };
    let [part, domain, id] = qualifiers.as_slice() else { return None };
    let of = match plain_name(part, Last::Plain)? {
        "attributes" => Part::Attributes,
        "capacity" => Part::Capacity,
        _ => return None,
    };
    let domain = match &domain.key {
        Key::Attribute(inner) if !domain.optional && !domain.test => match read_attribute(inner)? {
            Read::Driver => None,
            _ => return None,
        },
        _ => Some(Box::from(plain_name(domain, Last::Plain)?)),
    };
    Some((of, Place { domain, id: Box::from(plain_name(id, last)?) }))
}

impl Place {
    pub(crate) fn domain_name(&self) -> Option<&str> {
        self.domain.as_deref()
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    fn domain<'p>(&'p self, device: &'p Device) -> &'p str {
        self.domain.as_deref().unwrap_or(&device.driver)
    }

    fn missing(&self) -> Fault<'_> {
        Fault::no_such_key(&Value::String(Text::Borrowed(&self.id)))
    }

    fn attribute<'a>(&'a self, device: &'a Device) -> Option<Value<'a>> {
        device.attributes.domain(self.domain(device))?.find(&self.id).map(attribute_value)
    }

    fn capacity<'a>(&'a self, device: &'a Device) -> Option<&'a Quantity> {
        device.capacity.domain(self.domain(device))?.find(&self.id)
    }
}

impl Read {
    fn value<'a>(&'a self, device: &'a Device) -> Outcome<'a> {
        match self {
            Read::Constant(constant) => Ok(constant.value()),
            Read::Driver => Ok(Value::String(Text::Borrowed(&device.driver))),
            Read::Multiple => Ok(Value::Bool(device.multiple)),
            Read::Attribute(place) => place.attribute(device).ok_or_else(|| place.missing()),
            Read::AttributeOr(place, otherwise) => {
                Ok(place.attribute(device).unwrap_or_else(|| otherwise.value()))
            }
            Read::Capacity(place) => match place.capacity(device) {
                Some(amount) => Ok(Value::Quantity { amount: Shared::Borrowed(amount), computed: false }),
                None => Err(place.missing()),
            },
            Read::Function { family, overload, args, checked } => {
                apply(*family, overload, args, *checked, device)
            }
        }
    }
}

/// Calls a function of two arguments, which are both evaluated before either's error counts.
fn apply<'a>(
    family: Family,
    overload: &'static Overload,
    args: &'a [Read; 2],
    checked: bool,
    device: &'a Device,
) -> Outcome<'a> {
    let (left, right) = (args[0].value(device)?, args[1].value(device)?);
    if checked && !(left.fits(&overload.args[0]) && right.fits(&overload.args[1])) {
        return Err(Fault::no_such_overload());
    }
    library::call(family, overload.id, &[left, right])
}

impl Test {
    /// Whether the condition holds; what is not a condition is handed back as it is.
    pub(crate) fn outcome<'a>(&'a self, device: &'a Device) -> Outcome<'a> {
        let answer = match self {
            Test::All(tests) => decide(tests, device, false)?,
            Test::Any(tests) => decide(tests, device, true)?,
            Test::Not(inner) => match inner.outcome(device)? {
                Value::Bool(value) => !value,
                _ => return Err(Fault::no_such_overload()),
            },
            Test::Equal { left, right, wanted } => {
                let (left, right) = (left.value(device)?, right.value(device)?);
                match equal(&left, &right) {
                    Ok(equal) => equal == *wanted,
                    Err(fault) if *wanted || fault.ends() => return Err(fault),
                    Err(_) => true,
                }
            }
            Test::Relation { operator, left, right } => {
                return relation(operator, &left.value(device)?, &right.value(device)?);
            }
            Test::InConstants { element, set } => {
                let element = element.value(device)?;
                match (&**set, is_hashable(&element)) {
                    (Node::InSet(set), true) => set.members.has(&element),
                    _ => return Err(Fault::INTERNAL),
                }
            }
            Test::InList { element, list } => {
                let element = element.value(device)?;
                match list.value(device)? {
                    Value::List(list) => contains(&list, &element)?,
                    Value::Map(map) => map.find(&element)?.is_some(),
                    _ => return Err(Fault::no_such_overload()),
                }
            }
            Test::Present { of: Part::Attributes, place } => place.attribute(device).is_some(),
            Test::Present { of: Part::Capacity, place } => place.capacity(device).is_some(),
            Test::Matches { text, pattern } => {
                let text = text.value(device)?;
                let Some(text) = text.native_text() else { return Err(Fault::no_such_overload()) };
                return pattern::search(Search::Matches, pattern, text, None);
            }
            Test::Function { family, overload, args, checked } => {
                return apply(*family, overload, args, *checked, device);
            }
            Test::Holds(read) => return read.value(device),
        };
        Ok(Value::Bool(answer))
    }
}

/// `&&` and `||` over many terms: the deciding value wins over errors.
fn decide<'a>(tests: &'a [Test], device: &'a Device, decides: bool) -> Result<bool, Fault<'a>> {
    let mut failed: Option<Fault<'a>> = None;
    for test in tests {
        match test.outcome(device) {
            Ok(Value::Bool(value)) if value == decides => return Ok(decides),
            Ok(Value::Bool(_)) => {}
            Ok(_) => failed = failed.or(Some(Fault::no_such_overload())),
            Err(fault) if fault.ends() => return Err(fault),
            Err(fault) => failed = failed.or(Some(fault)),
        }
    }
    match failed {
        Some(fault) => Err(fault),
        None => Ok(!decides),
    }
}
