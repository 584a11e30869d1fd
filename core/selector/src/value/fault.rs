//! Errors of evaluation.
//!
//! An error is a value to the language: `&&` and `||` may absorb it. Two kinds end the evaluation at once instead: the
//! cost limit, and what would break the reference's own evaluation.

use std::fmt;

use super::{Text, Value};

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ErrorClass {
    /// A key or field is absent.
    NoSuchKey,
    /// The operation does not exist for these values.
    NoSuchOverload,
    /// A number left its range.
    Overflow,
    /// A division by zero.
    DivideByZero,
    /// An index outside a list or text.
    Index,
    /// A value cannot be converted.
    Conversion,
    /// A function refuses its argument.
    InvalidArgument,
    /// A loop over something without elements.
    NotIterable,
    /// The result is not a condition.
    NotBool,
    /// The value of an empty optional was asked for.
    EmptyOptional,
    /// The evaluation costs too much.
    CostLimit,
    /// An operation that has no defined result; it ends the evaluation.
    Internal,
    /// Anything else.
    Other,
}

/// An error with what is known about it; making one allocates only where a message must be built.
#[derive(Clone, Debug)]
pub(crate) struct Fault<'a> {
    pub(crate) class: ErrorClass,
    pub(crate) detail: Detail<'a>,
}

#[derive(Clone, Debug)]
pub(crate) enum Detail<'a> {
    Fixed(&'static str),
    Key(Text<'a>),
    Written(Box<str>),
}

impl<'a> Fault<'a> {
    pub(crate) const fn fixed(class: ErrorClass, message: &'static str) -> Fault<'a> {
        Fault { class, detail: Detail::Fixed(message) }
    }

    pub(crate) fn written(class: ErrorClass, message: impl Into<Box<str>>) -> Fault<'a> {
        Fault { class, detail: Detail::Written(message.into()) }
    }

    pub(crate) const fn no_such_overload() -> Fault<'a> {
        Fault::fixed(ErrorClass::NoSuchOverload, "no such overload")
    }

    pub(crate) fn invalid(message: impl Into<Box<str>>) -> Fault<'a> {
        Fault::written(ErrorClass::InvalidArgument, message)
    }

    pub(crate) fn no_such_key(key: &Value<'a>) -> Fault<'a> {
        match key {
            Value::String(text) => Fault { class: ErrorClass::NoSuchKey, detail: Detail::Key(text.clone()) },
            Value::Int(key) => Fault::written(ErrorClass::NoSuchKey, format!("no such key: {key}")),
            Value::Uint(key) => Fault::written(ErrorClass::NoSuchKey, format!("no such key: {key}")),
            _ => Fault::fixed(ErrorClass::NoSuchKey, "no such key"),
        }
    }

    /// Whether the evaluation ends, whatever is around the error.
    pub(crate) fn ends(&self) -> bool {
        matches!(self.class, ErrorClass::CostLimit | ErrorClass::Internal)
    }

    pub(crate) const COST_LIMIT: Fault<'static> =
        Fault::fixed(ErrorClass::CostLimit, "operation cancelled: actual cost limit exceeded");
    pub(crate) const INTERNAL: Fault<'static> =
        Fault::fixed(ErrorClass::Internal, "this operation has no defined result");
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.detail {
            Detail::Fixed(message) => write!(out, "{message}"),
            Detail::Written(message) => write!(out, "{message}"),
            Detail::Key(key) => write!(out, "no such key: {}", &**key),
        }
    }
}
