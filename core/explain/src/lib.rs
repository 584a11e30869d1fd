//! Why a pod, a claim or a pod group waits or is where it is, and what would help.
//!
//! An explanation is made from a snapshot of what the scheduler knows. Whether something fits is always asked of the scheduler's own
//! decision, about the snapshot or about a copy in which something is otherwise, so that an explanation cannot disagree with it.
//!
//! [`explain`] is the way in. What it needs is a [`Snapshot`](decisions::considering::Snapshot), such as `Engine::snapshot` gives at
//! any time, or one of an engine that was told a saved state:
//!
//! ```
//! use decisions::considering::Snapshot;
//! use explain::{Audience, Effort, Subject, explain};
//! use model::pod::PodId;
//!
//! fn told(snapshot: &Snapshot) -> String {
//!     let subject = Subject::Pod(PodId { namespace: "default".into(), name: "train".into() });
//!     explain(snapshot, &subject, &Audience::AllNamespaces, Effort::default()).to_string()
//! }
//! ```
//!
//! An explanation is made of plain values with the codes of reasons, constraints and changes (`code()`), and is a text when it is
//! displayed. The first line of a pod or pod group that has no place is the message of its condition.
//!
//! From the bottom up; no module uses one that stands below it in this list:
//! - `audience`: of which namespaces objects may be named;
//! - `case`: a question with what is known, which can be changed;
//! - `effort`: how much may be done, and the way to ask the scheduler;
//! - `constraint`, `relax`: what is asked for, and a case without some of it;
//! - `edit`: changes that may help;
//! - `preparing`: devices that have to be made ready;
//! - `nodes`: what removes which nodes;
//! - `conflict`: the smallest set of constraints that conflict;
//! - `candidates`, `remedies`: the smallest changes that help;
//! - `waiting`, `placed`, `group`, `pod`: a pod that waits, one that is on a node, a group of pods, and any pod;
//! - `claim`: a claim;
//! - `subject`: whatever is to be explained;
//! - `words`, `text`, `told`: what an explanation says.

mod audience;
mod candidates;
mod case;
mod claim;
mod conflict;
mod constraint;
mod edit;
mod effort;
mod group;
mod nodes;
mod placed;
mod pod;
mod preparing;
mod relax;
mod remedies;
mod subject;
mod text;
mod told;
mod waiting;
mod words;

pub use self::audience::{Audience, Shown};
pub use self::case::Case;
pub use self::claim::{ClaimExplanation, ClaimStanding, FoundClaim, explain_claim};
pub use self::conflict::Conflict;
pub use self::constraint::{Constraint, Entry};
pub use self::edit::Edit;
pub use self::effort::{Effort, Extent};
pub use self::group::{DomainRoom, GroupExplanation, RefusedGroup, explain_group};
pub use self::nodes::{DeviceHolder, DeviceLack, HolderName, NearestNode, NodeGroup, reasons};
pub use self::placed::{NowPlaced, PlacedPod};
pub use self::pod::{PodExplanation, explain_pod};
pub use self::remedies::{LeadsTo, Remedies, Remedy};
pub use self::subject::{Explanation, Subject, explain};
pub use self::waiting::{RefusedPod, WaitingPod};
