//! Preemption: which pods would have to go so that a pod or a gang fits.
//!
//! Invariant: no pod is said to have to go unless a trial has shown that the other then fits on the node, with its devices.

mod absence;
mod attempt;
mod candidate;
mod holders;
mod lack;
mod lacks;
mod node;
mod node_trial;
mod planned;
mod units;
mod waiting;

pub(crate) use self::absence::Absence;
pub use self::attempt::Attempt;
pub use self::candidate::Candidate;
pub(crate) use self::candidate::{Harm, harm};
pub use self::planned::planned;
pub use self::units::{Unit, broken, pods_of};
pub use self::waiting::Going;
pub use crate::plans::nominations::{Nomination, Nominations};
pub use crate::profile::PreemptionSettings;
