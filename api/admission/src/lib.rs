//! Who may be stored: defaulting, validation, immutability, and the stripping of fields whose feature is off.
//!
//! Pure functions. What an object's fate depends on besides itself (the moment, the features, other objects) is an
//! argument. A refused object yields the reasons and field paths that clients of Kubernetes know.

mod addresses;
mod admit;
mod cause;
mod conditions;
mod defaulted;
mod expressions;
mod kind;
mod kinds;
mod metadata;
mod rejection;
mod same;
mod selectors;
mod surroundings;
mod used;
mod versions;

use schema::names;

pub use admit::{Admitted, FieldValidation, Identity, Operation, Owners, Submission, admit};
pub use cause::{Cause, Reason};
pub use defaulted::defaulted;
pub use kind::Context;
pub use rejection::Rejection;
pub use surroundings::Surroundings;
pub use used::used_gates;
pub use versions::{from_stored, stored_kind, to_stored};
