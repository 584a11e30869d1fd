//! Feature gates: what there is to switch, what is on by default, and what needs what.
//!
//! Names, stages, defaults, locks and dependencies are those of Kubernetes 1.37. One gate is ours:
//! `DRAControlPlaneController`, which Kubernetes had in 1.31 and dropped.

mod listing;
mod parse;
mod set;
mod table;

pub use listing::{listing, listing_of};
pub use parse::GateError;
pub use set::Gates;
pub use table::{FeatureStage, Gate, Preset, Spec};
