//! What makes one node better than another, one file for each kind of reason.
//!
//! Each kind gives every candidate 0 to 100. Some can say so of a node alone, others only among all candidates, after a
//! raw score for each. A kind about which a pod says nothing is left out.

pub mod balanced;
pub mod devices;
pub mod images;
mod kind;
pub mod node_affinity;
pub mod placement;
pub mod pod_affinity;
pub mod ready_devices;
pub mod resources;
mod scale;
mod settings;
pub mod spread;
pub mod taints;
mod totals;
mod view;

pub use self::kind::Score;
pub use self::scale::{BEST, normalised};
pub(crate) use self::settings::HOST;
pub use self::settings::ScoreSettings;
pub use self::totals::{by_kind, local, relative, scores, totals};
pub use self::view::{Candidate, View};
