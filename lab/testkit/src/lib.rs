//! Makes objects for tests: any object that a served kind can have, and instances of allocation, small ones and hard ones.
//!
//! A test brings bytes, from a property test or a fuzzer, and gets an object. Fewer bytes make a smaller object and
//! the same bytes the same object, so whoever shrinks the bytes shrinks the object.

mod choices;
mod hard;
mod instances;
mod objects;
mod scalars;
mod unknown;

pub use choices::Choices;
pub use hard::{Family, hard};
pub use instances::Instance;
pub use objects::{object, sample};
pub use unknown::scatter_unknown;
