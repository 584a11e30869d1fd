//! The door between the API's objects and the nouns of core, one file a kind.
//!
//! Invariant: this is the only crate that knows both sides. What it lets through has a name wherever core looks things
//! up by name; what it does not understand it passes on as unknown, so that whoever decides can say so.

mod allocation;
mod bare;
pub mod change;
mod claim;
mod claim_use;
mod class;
mod companions;
mod device_containers;
mod dialect;
mod disk;
mod error;
pub mod followed;
mod group;
mod label_selector;
mod negotiation;
mod node;
mod pod;
mod pod_features;
mod pod_terms;
mod preparation;
mod requests;
mod resources;
mod slice;
mod taint;
mod taken;
mod text;
mod volume;
mod workload;

pub use allocation::{allocation, is_kept};
pub use claim::{claim, claim_id};
pub use claim_use::claim_use;
pub use class::class;
pub use error::{ConvertError, ObjectName};
pub use group::INITIALLY_SCHEDULED;
pub use label_selector::label_selector;
pub use negotiation::owner as context_owner;
pub use node::{node, node_selector, node_selector_object};
pub use pod::{DISRUPTION_TARGET, GANG_BINDING_FAILED, pod, pod_id, toleration_operator};
pub use slice::slice;
pub use taint::{taint, taint_rule, toleration, toleration_object};
pub use taken::{Taken, give_back_from, take_into, taken};
pub use volume::{SELECTED_NODE, storage_class, volume, volume_claim};
pub use workload::{node_topology, workload, workload_id};
