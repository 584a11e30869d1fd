//! Judges device allocations by API objects alone.
//!
//! Objects go in, violations come out: [`check_allocations`] for allocations that were just made for a node,
//! [`check_state`] for a whole cluster, [`check_binding`] for a pod that is put on a node, and [`search`] to find out whether a small instance can be solved at all.
//! Nothing here is shared with the allocator, and nothing is clever: every rule is a loop over objects, in a file of
//! its own. What the allocator and this crate agree on was written down twice.
//!
//! ```
//! use invariants::{Evidence, GroupsFrom, Made, check_allocations};
//! use objects::resource::claim::ResourceClaim;
//!
//! let node: objects::core::node::Node = objects::decode(br#"{"metadata": {"name": "node-1"}}"#)?;
//! let claim: ResourceClaim = objects::decode(
//!     br#"{"metadata": {"name": "c", "namespace": "n"}, "spec": {"devices": {"requests": [
//!         {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}}"#,
//! )?;
//! let evidence = Evidence {
//!     gates: gates::Gates::default(),
//!     slices: &[],
//!     classes: &[],
//!     claims: &[],
//!     groups: GroupsFrom::Results,
//! };
//! let made = [Made { claim: &claim, allocation: &Default::default() }];
//! let violations = check_allocations(&evidence, &node, &made);
//! assert_eq!(violations[0].to_string(), "n/c, request gpu: wants 1 devices and got 0");
//! # Ok::<(), objects::Unreadable>(())
//! ```

mod attempt;
mod capacity;
mod check;
mod configuration;
mod constraints;
mod counters;
mod counts;
mod evidence;
mod expressions;
mod features;
mod groups;
mod matching;
mod names;
mod node_selector;
mod policy;
mod pools;
mod reach;
mod readiness;
mod reservations;
mod result_fields;
mod search;
mod selection;
mod shares;
mod taint_rules;
mod taints;
mod taken;
mod violation;
mod wanted;

pub use check::{check_allocations, check_state};
pub use evidence::{Evidence, GroupsFrom, Made};
pub use names::{ClaimName, DeviceName, PoolName};
pub use readiness::check_binding;
pub use search::{Possibility, search};
pub use taint_rules::with_taint_rules;
pub use violation::{Choice, ResultField, Violation};
