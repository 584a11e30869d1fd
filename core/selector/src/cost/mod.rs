//! What evaluation costs: the worst case before it runs, and the count while it runs.

pub(crate) mod bounds;
mod calls;
mod estimate;
mod kubernetes;
mod path;

pub(crate) use calls::is_sized_comparison;
pub(crate) use estimate::estimate;

/// Reading a variable or a field.
pub(crate) const SELECT: u64 = 1;
/// Building a list.
pub(crate) const LIST: u64 = 10;
/// Building a map.
pub(crate) const MAP: u64 = 30;
/// Building a message.
pub(crate) const MESSAGE: u64 = 40;
/// Walking over one unit of a string.
pub(crate) const STRING_FACTOR: f64 = 0.1;
/// One character of a regular expression.
pub(crate) const REGEX_FACTOR: f64 = 0.25;
