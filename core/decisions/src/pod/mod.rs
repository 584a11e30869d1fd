//! One pod against all nodes: which will do, which is best, and with which devices.
//!
//! Nothing is changed here. What is found is either a choice, with everything that has to be written for it, or a refusal
//! that counts the nodes by reason and says what could undo it.

mod alike;
mod anew;
mod choose;
mod companions;
pub mod comparison;
mod nominated;
mod nominees;
pub mod obstacles;
mod openings;
mod ranking;
mod relations;
mod selected;
mod tally;

pub(crate) use self::nominees::Beside;
pub use crate::values::choice::{Choice, Wanted};
pub use crate::values::pod_claims::{Footing, PodClaims};
pub use crate::values::pod_refusal::{Nearest, PodRefusal, Removed};
