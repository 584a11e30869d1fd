//! The lowered program: what evaluation runs.
//!
//! The shape follows the reference's own plan, node for node, because costs are counted by it: a chain of selections is
//! one attribute with qualifiers, a condition's branches are attributes of the condition, constants are folded.

pub(crate) mod evaluate;
pub(crate) mod meter;
mod plan;
mod qualify;
mod widening;

use std::sync::Arc;

use regex::Regex;

use crate::declare::Overload;
use crate::library::Family;
use crate::library::pattern::Search;
use crate::value::constant::{Constant, ConstantMap};
use meter::CallRule;
pub(crate) use plan::plan;

/// The number of a variable; every variable of a program has its own.
pub(crate) type Slot = usize;

/// A step of the program.
#[derive(Debug)]
pub(crate) enum Node {
    Constant(Constant),
    /// A quantity or version whose text is known: parsed before, charged for all the same.
    Prepared {
        value: Constant,
        cost: u64,
    },
    Attribute(Attribute),
    /// A presence test; its last qualifier asks instead of reading.
    Test(Attribute),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Equal(Box<[Node; 2]>),
    NotEqual(Box<[Node; 2]>),
    /// A call of a function.
    Call(Box<Call>),
    /// `a.or(b)`.
    OptionalOr(Box<[Node; 2]>),
    /// `a.orValue(b)`.
    OptionalOrValue(Box<[Node; 2]>),
    NotStrictlyFalse(Box<Node>),
    List(Box<[(Node, bool)]>),
    Map(Box<[MapEntry]>),
    Message(Box<Message>),
    Fold(Box<Fold>),
    /// Membership in a list of constants, looked up by key.
    InSet(Box<InSet>),
}

/// An entry of a map that is built at run time.
#[derive(Debug)]
pub(crate) struct MapEntry {
    pub(crate) key: Node,
    pub(crate) value: Node,
    pub(crate) optional: bool,
}

/// A protobuf message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) name: Arc<str>,
    pub(crate) fields: Vec<(Arc<str>, Node, bool)>,
}

/// Something that is read, and the steps from there.
#[derive(Debug)]
pub(crate) enum Attribute {
    Variable { variable: Variable, qualifiers: Vec<Arc<Qualifier>> },
    Relative { operand: Box<Node>, qualifiers: Vec<Arc<Qualifier>> },
    Conditional { condition: Box<Node>, yes: Box<Attribute>, no: Box<Attribute> },
}

/// Which variable is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Variable {
    Device,
    Local(Slot),
}

/// A selection or index.
#[derive(Debug)]
pub(crate) struct Qualifier {
    pub(crate) key: Key,
    pub(crate) optional: bool,
    /// Asks whether the field is there.
    pub(crate) test: bool,
}

/// What a qualifier selects by.
#[derive(Debug)]
pub(crate) enum Key {
    Constant(Constant),
    /// The value of an attribute, which is not charged for by itself.
    Attribute(Attribute),
    Computed(Node),
}

/// A call whose function has been found.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) args: Vec<Node>,
    pub(crate) kind: CallKind,
    /// Stop at the first argument that fails, instead of evaluating all.
    pub(crate) stops_early: bool,
    pub(crate) rule: CallRule,
}

/// How a call finds its result.
#[derive(Debug)]
pub(crate) enum CallKind {
    /// One implementation for all overloads.
    Shared(&'static str),
    /// One overload; its declared types are checked unless the reference does not.
    One { overload: &'static Overload, family: Family, checked: bool },
    /// The first overload whose declared types fit.
    Any { overloads: &'static [Overload], checked: bool },
    /// A pattern that was compiled with the program.
    Pattern { search: Search, pattern: Regex },
}

/// A loop with an accumulator.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) range: Node,
    pub(crate) accumulator: Slot,
    pub(crate) variable: Slot,
    pub(crate) second: Option<Slot>,
    pub(crate) init: Node,
    pub(crate) condition: Node,
    pub(crate) step: Node,
    pub(crate) result: Node,
}

/// Membership in constants.
#[derive(Debug)]
pub(crate) struct InSet {
    pub(crate) element: Node,
    pub(crate) members: ConstantMap,
}

/// A whole program.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) root: Node,
    pub(crate) slots: usize,
}
