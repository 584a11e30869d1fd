//! Device selectors: the CEL dialect of dynamic resource allocation, compiled.
//!
//! [`Selector::compile`] parses, expands macros, checks types, folds constants, estimates the worst-case cost and lowers
//! the expression; [`Selector::matches`] runs the result over a device and counts what it costs.

mod check;
mod columns;
mod cost;
mod declare;
mod depends;
mod derive;
mod device;
mod driver;
mod error;
mod fast;
mod filed;
mod glance;
mod library;
mod names;
mod program;
mod selector;
mod sets;
mod slice;
mod stack;
mod syntax;
mod types;
mod validate;
mod value;

pub use columns::DeviceSlice;
pub use declare::Environment;
pub use derive::{Derived, DerivedValue};
pub use device::{AttributeValue, BadAttribute, Device};
pub use error::{CompileError, CompileErrorKind, SyntaxMistake};
pub use names::Names;
pub use selector::{COST_MAX, EvalError, Evaluated, ExpressionKind, Selector};
pub use slice::{MatchCache, SliceMatches, SliceRevision};
pub use value::ErrorClass;
