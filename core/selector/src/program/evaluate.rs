//! Runs a program over a device.

use model::quantity::Quantity;
use smallvec::SmallVec;

use super::meter::{CallRule, Meter, call_cost};
use super::{Attribute, Call, CallKind, Fold, MapEntry, Message, Node, Program, Slot, Variable};
use crate::cost::{LIST, MAP, MESSAGE, SELECT};
use crate::device::Device;
use crate::library::{self, pattern};
use crate::stack::deeper;
use crate::value::equal::{equal, equality};
use crate::value::map::{Entries, Map, is_hashable};
use crate::value::time::{SECOND, Timestamp};
use crate::value::{ErrorClass, Fault, List, Outcome, Shared, Value};

/// The state of a variable.
#[derive(Clone, Debug)]
enum State<'a> {
    Unset,
    /// An accumulator that was not read yet: its first value is computed on demand.
    Waiting(&'a Node),
    Set(Outcome<'a>),
}

/// The arguments of a call, and the first error among them.
#[derive(Default)]
struct Args<'a> {
    values: SmallVec<[Value<'a>; 3]>,
    failed: Option<Fault<'a>>,
}

/// One evaluation.
pub(crate) struct Evaluation<'a> {
    device: &'a Device,
    slots: Vec<State<'a>>,
    /// Quantities that a comparison has turned into wide numbers; see [`super::widening`].
    pub(super) widened: Vec<Shared<'a, Quantity>>,
    pub(crate) meter: Meter,
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(program: &Program, device: &'a Device, limit: u64) -> Evaluation<'a> {
        Evaluation {
            device,
            slots: vec![State::Unset; program.slots],
            widened: Vec::new(),
            meter: Meter { cost: 0, limit },
        }
    }

    /// The value of a node; what it costs has been charged.
    pub(crate) fn node(&mut self, node: &'a Node) -> Outcome<'a> {
        match node {
            Node::Constant(constant) => Ok(constant.value()),
            Node::Attribute(attribute @ Attribute::Variable { .. }) => self.attribute(attribute),
            compound => deeper(|| self.compound(compound)),
        }
    }

    fn compound(&mut self, node: &'a Node) -> Outcome<'a> {
        match node {
            Node::Constant(constant) => Ok(constant.value()),
            Node::Prepared { value, cost } => {
                let value = value.value();
                self.forget(&value);
                self.meter.charge(*cost)?;
                Ok(value)
            }
            Node::Attribute(attribute) => self.attribute(attribute),
            Node::Test(attribute) => self.test(attribute),
            Node::And(terms) => self.logical(terms, false),
            Node::Or(terms) => self.logical(terms, true),
            Node::Equal(sides) => self.comparison(sides, true),
            Node::NotEqual(sides) => self.comparison(sides, false),
            Node::Call(call) => self.call(call),
            Node::OptionalOr(sides) => match self.node(&sides[0])? {
                Value::Optional(None) => self.node(&sides[1]),
                value @ Value::Optional(Some(_)) => Ok(value),
                _ => Err(Fault::no_such_overload()),
            },
            Node::OptionalOrValue(sides) => match self.node(&sides[0])? {
                Value::Optional(None) => self.node(&sides[1]),
                Value::Optional(Some(value)) => Ok((*value).clone()),
                _ => Err(Fault::no_such_overload()),
            },
            Node::NotStrictlyFalse(inner) => {
                let value = self.node(inner);
                let outcome = match value {
                    Ok(Value::Bool(value)) => Ok(Value::Bool(value)),
                    Err(fault) if fault.ends() => return Err(fault),
                    _ => Ok(Value::Bool(true)),
                };
                self.meter.charge(1)?;
                outcome
            }
            Node::List(elements) => {
                let built = self.list(elements);
                self.built(built, LIST)
            }
            Node::Map(entries) => {
                let built = self.map(entries);
                self.built(built, MAP)
            }
            Node::Message(message) => {
                let built = self.message(message);
                self.built(built, MESSAGE)
            }
            Node::Fold(fold) => self.fold(fold),
            Node::InSet(set) => {
                let element = self.node(&set.element)?;
                if !is_hashable(&element) {
                    return Err(Fault::INTERNAL);
                }
                Ok(Value::Bool(set.members.has(&element)))
            }
        }
    }

    /// Charges for a literal that was built, or failed to be.
    fn built(&mut self, built: Outcome<'a>, cost: u64) -> Outcome<'a> {
        if let Err(fault) = &built
            && fault.ends()
        {
            return built;
        }
        self.meter.charge(cost)?;
        built
    }

    fn attribute(&mut self, attribute: &'a Attribute) -> Outcome<'a> {
        let outcome = self.resolve(attribute);
        if matches!(attribute, Attribute::Conditional { .. }) {
            return outcome;
        }
        if let Err(fault) = &outcome
            && fault.ends()
        {
            return outcome;
        }
        self.meter.charge(SELECT)?;
        outcome
    }

    fn test(&mut self, attribute: &'a Attribute) -> Outcome<'a> {
        let outcome = self.resolve(attribute);
        if matches!(attribute, Attribute::Conditional { .. }) {
            // The reference takes back a charge that it only makes for plain attributes.
            self.meter.cost = self.meter.cost.wrapping_sub(SELECT);
        }
        match outcome? {
            Value::Optional(inner) => Ok(Value::Bool(inner.is_some())),
            other => Ok(other),
        }
    }

    /// The value that an attribute reads, without the charge for reading it.
    pub(super) fn resolve(&mut self, attribute: &'a Attribute) -> Outcome<'a> {
        match attribute {
            Attribute::Variable { variable: Variable::Device, qualifiers } => {
                self.qualify(Value::Map(Map::Device(self.device)), qualifiers)
            }
            Attribute::Variable { variable: Variable::Local(slot), qualifiers } => {
                let value = self.variable(*slot)?;
                self.qualify(value, qualifiers)
            }
            Attribute::Relative { operand, qualifiers } => {
                let value = self.node(operand)?;
                self.qualify(value, qualifiers)
            }
            Attribute::Conditional { condition, yes, no } => match self.node(condition)? {
                Value::Bool(true) => self.resolve(yes),
                Value::Bool(false) => self.resolve(no),
                _ => Err(Fault::no_such_overload()),
            },
        }
    }

    fn variable(&mut self, slot: Slot) -> Outcome<'a> {
        match &self.slots[slot] {
            State::Set(outcome) => outcome.clone(),
            State::Unset => Err(Fault::fixed(ErrorClass::Other, "no such attribute")),
            State::Waiting(init) => {
                let init = *init;
                let outcome = match self.node(init) {
                    Err(fault) if fault.ends() => return Err(fault),
                    Ok(Value::List(list)) if list.len() == 0 => Ok(Value::List(List::growing())),
                    Ok(Value::Map(map)) if map.len() == 0 => Ok(Value::Map(Map::growing())),
                    other => other,
                };
                self.slots[slot] = State::Set(outcome.clone());
                outcome
            }
        }
    }

    /// `&&` and `||`: the deciding value wins over errors, whatever the order.
    fn logical(&mut self, terms: &'a [Node; 2], decides: bool) -> Outcome<'a> {
        let mut failed = None;
        for term in terms {
            match self.node(term) {
                Ok(Value::Bool(value)) if value == decides => return Ok(Value::Bool(decides)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => failed = failed.or(Some(Fault::no_such_overload())),
                Err(fault) if fault.ends() => return Err(fault),
                Err(fault) => failed = failed.or(Some(fault)),
            }
        }
        match failed {
            Some(fault) => Err(fault),
            None => Ok(Value::Bool(!decides)),
        }
    }

    /// Evaluates an argument into `args`; an error is kept for later, and null takes its place.
    fn argument(&mut self, node: &'a Node, args: &mut Args<'a>) -> Result<(), Fault<'a>> {
        match self.node(node) {
            Ok(value) => args.values.push(value),
            Err(fault) if fault.ends() => return Err(fault),
            Err(fault) => {
                args.values.push(Value::Null);
                if args.failed.is_none() {
                    args.failed = Some(fault);
                }
            }
        }
        Ok(())
    }

    fn comparison(&mut self, sides: &'a [Node; 2], wants_equal: bool) -> Outcome<'a> {
        let mut args = Args::default();
        self.argument(&sides[0], &mut args)?;
        self.argument(&sides[1], &mut args)?;
        let (left, right) = (&args.values[0], &args.values[1]);
        let rule = match left {
            Value::Quantity { .. }
            | Value::Semver(_)
            | Value::Ip(_)
            | Value::Cidr(_)
            | Value::Url(_)
            | Value::Format(_)
                if wants_equal =>
            {
                CallRule::Fixed(1)
            }
            _ => CallRule::Compare,
        };
        let cost = call_cost(rule, &args.values, None)?;
        self.guard(cost)?;
        self.remember_comparison(left, right);
        let outcome = match args.failed.take() {
            Some(fault) => Err(fault),
            None if wants_equal => equality(left, right),
            None => match equal(left, right) {
                Err(fault) if fault.ends() => Err(fault),
                answer => Ok(Value::Bool(!matches!(answer, Ok(true)))),
            },
        };
        self.built(outcome, cost)
    }

    /// Refuses work that the limit would reject afterwards anyway.
    fn guard(&mut self, cost: u64) -> Result<(), Fault<'a>> {
        if self.meter.cost.saturating_add(cost) > self.meter.limit { self.meter.charge(cost) } else { Ok(()) }
    }

    fn call(&mut self, call: &'a Call) -> Outcome<'a> {
        let mut args = Args::default();
        for (at, arg) in call.args.iter().enumerate() {
            self.argument(arg, &mut args)?;
            let is_last = at + 1 == call.args.len();
            if let (true, false, Some(fault)) = (call.stops_early, is_last, &args.failed) {
                return Err(fault.clone());
            }
        }
        let result = match args.failed.take() {
            Some(fault) => Err(fault),
            None => {
                self.widen(&call.kind, &mut args.values);
                dispatch(&call.kind, &args.values)
            }
        };
        if let Err(fault) = &result
            && fault.ends()
        {
            return result;
        }
        let cost = call_cost(call.rule, &args.values, result.as_ref().ok())?;
        self.meter.charge(cost)?;
        result
    }

    fn list(&mut self, elements: &'a [(Node, bool)]) -> Outcome<'a> {
        let mut values = Vec::with_capacity(elements.len());
        for (node, optional) in elements {
            match (self.node(node)?, optional) {
                (value, false) => values.push(value),
                (Value::Optional(Some(value)), true) => values.push((*value).clone()),
                (Value::Optional(None), true) => {}
                _ => return Err(Fault::invalid("an element after '?' is not optional")),
            }
        }
        Ok(Value::list(values))
    }

    fn map(&mut self, nodes: &'a [MapEntry]) -> Outcome<'a> {
        let mut entries = Entries::default();
        for entry in nodes {
            let key = self.node(&entry.key)?;
            let value = match (self.node(&entry.value)?, entry.optional) {
                (value, false) => Some(value),
                (Value::Optional(inner), true) => inner.map(|inner| (*inner).clone()),
                _ => return Err(Fault::invalid("a value after '?' is not optional")),
            };
            if !is_hashable(&key) {
                return Err(Fault::INTERNAL);
            }
            match value {
                Some(value) => entries.set(key, value),
                None => entries.remove(&key),
            }
        }
        Ok(Value::Map(Map::plain(entries)))
    }

    fn message(&mut self, message: &'a Message) -> Outcome<'a> {
        let mut fields = Vec::with_capacity(message.fields.len());
        for (name, node, optional) in &message.fields {
            let value = match (self.node(node)?, optional) {
                (value, false) => value,
                (Value::Optional(Some(inner)), true) => (*inner).clone(),
                (Value::Optional(None), true) => continue,
                _ => return Err(Fault::invalid("a value after '?' is not optional")),
            };
            fields.push((&**name, value));
        }
        well_known(&message.name, &fields)
    }

    fn fold(&mut self, fold: &'a Fold) -> Outcome<'a> {
        let range = self.node(&fold.range)?;
        self.slots[fold.accumulator] = State::Waiting(&fold.init);
        match (&range, fold.second) {
            (Value::List(list), _) => {
                for index in 0..list.len() {
                    let Some(element) = list.get(index) else { break };
                    let (first, second) = match fold.second {
                        Some(_) => (Value::Int(index as i64), Some(element)),
                        None => (element, None),
                    };
                    if !self.turn(fold, first, second)? {
                        break;
                    }
                }
            }
            (Value::Map(map), _) => {
                for index in 0..map.len() {
                    let Some((key, value)) = map.at(index) else { break };
                    if !self.turn(fold, key, Some(value))? {
                        break;
                    }
                }
            }
            _ => {
                let message = format!("got '{}', expected iterable type", range.type_name());
                return Err(Fault::written(ErrorClass::NotIterable, message));
            }
        }
        match self.node(&fold.result)? {
            Value::List(list) => Ok(Value::List(list.settled())),
            Value::Map(map) => Ok(Value::Map(map.settled())),
            other => Ok(other),
        }
    }

    /// One turn of a loop; false when the loop is decided.
    fn turn(
        &mut self,
        fold: &'a Fold,
        first: Value<'a>,
        second: Option<Value<'a>>,
    ) -> Result<bool, Fault<'a>> {
        self.slots[fold.variable] = State::Set(Ok(first));
        if let (Some(slot), Some(value)) = (fold.second, second) {
            self.slots[slot] = State::Set(Ok(value));
        }
        match self.node(&fold.condition) {
            Ok(Value::Bool(false)) => return Ok(false),
            Err(fault) if fault.ends() => return Err(fault),
            _ => {}
        }
        let outcome = match self.node(&fold.step) {
            Err(fault) if fault.ends() => return Err(fault),
            outcome => outcome,
        };
        self.slots[fold.accumulator] = State::Set(outcome);
        Ok(true)
    }
}

/// Calls a function with values.
pub(crate) fn dispatch<'a>(kind: &CallKind, args: &[Value<'a>]) -> Outcome<'a> {
    match kind {
        CallKind::Shared(function) => library::shared(function, args),
        CallKind::One { overload, family, checked } => {
            let fits = overload.args.iter().zip(args).all(|(declared, arg)| arg.fits(declared));
            if *checked && !fits {
                return Err(Fault::no_such_overload());
            }
            library::call(*family, overload.id, args)
        }
        CallKind::Any { overloads, checked } => {
            let fitting = overloads.iter().find(|overload| {
                overload.args.len() == args.len()
                    && (!checked || overload.args.iter().zip(args).all(|(declared, arg)| arg.fits(declared)))
            });
            match fitting {
                Some(overload) => library::call(library::family(overload.id), overload.id, args),
                None => Err(Fault::no_such_overload()),
            }
        }
        CallKind::Pattern { search, pattern } => {
            let Some(text) = args[0].native_text() else { return Err(Fault::no_such_overload()) };
            let limit = match args.get(2) {
                None => None,
                Some(Value::Int(limit)) => Some(*limit),
                Some(_) => return Err(Fault::no_such_overload()),
            };
            pattern::search(*search, pattern, text, limit)
        }
    }
}

/// The value of a well-known protobuf message.
fn well_known<'a>(name: &str, fields: &[(&str, Value<'a>)]) -> Outcome<'a> {
    let field = |wanted: &str| fields.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
    let number = |wanted: &str| match field(wanted) {
        Some(Value::Int(number)) => *number,
        _ => 0,
    };
    Ok(match name.strip_prefix("google.protobuf.").unwrap_or(name) {
        "BoolValue" => field("value").cloned().unwrap_or(Value::Bool(false)),
        "BytesValue" => field("value").cloned().unwrap_or(Value::Bytes(Vec::new().into())),
        "DoubleValue" | "FloatValue" => field("value").cloned().unwrap_or(Value::Double(0.0)),
        "Int32Value" | "Int64Value" => field("value").cloned().unwrap_or(Value::Int(0)),
        "UInt32Value" | "UInt64Value" => field("value").cloned().unwrap_or(Value::Uint(0)),
        "StringValue" => field("value").cloned().unwrap_or(Value::text("")),
        "Duration" => {
            let total =
                number("seconds").checked_mul(SECOND).and_then(|total| total.checked_add(number("nanos")));
            Value::Duration(total.unwrap_or(i64::MAX))
        }
        "Timestamp" => {
            let nanos = number("nanos").rem_euclid(SECOND) as u32;
            Value::Timestamp(Timestamp { seconds: number("seconds"), nanos, offset: 0 })
        }
        "ListValue" => field("values").cloned().unwrap_or(Value::list(Vec::new())),
        "Struct" => field("fields").cloned().unwrap_or(Value::Map(Map::plain(Entries::default()))),
        "Value" => fields.first().map_or(Value::Null, |(_, value)| value.clone()),
        _ => return Err(Fault::fixed(ErrorClass::Other, "this message cannot be created")),
    })
}
