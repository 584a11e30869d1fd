//! What is under way, one record each: a pod on its way to a node, claims that are to give devices back, a gang whose members are
//! bound together, what drivers' controllers are told about a pod.
//!
//! Invariant: each is one enum, moved by one `step`. The header of each file has the table of its transitions, which a test compares
//! with the code. An event that the table has no place for is a mistake of the engine: debug builds stop there, others leave the
//! record as it is.

pub(crate) mod binding;
pub(crate) mod flight;
pub(crate) mod giving_back;
pub(crate) mod telling;

#[cfg(test)]
mod table;
