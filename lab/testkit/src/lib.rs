//! Makes objects for tests: any object that a served kind can have, and small instances of allocation.
//!
//! A test brings bytes, from a property test or a fuzzer, and gets an object. Fewer bytes make a smaller object and
//! the same bytes the same object, so whoever shrinks the bytes shrinks the object.

mod choices;
mod instances;
mod objects;
mod scalars;
mod unknown;

pub use choices::Choices;
pub use instances::Instance;
pub use objects::{object, sample};
pub use unknown::scatter_unknown;
