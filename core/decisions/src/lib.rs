//! What should be: a node for a pod, seats for a gang or a tree of groups, which pods would have to make way, and what drivers'
//! controllers are to be asked. Or why there is nothing of that.
//!
//! Everything here is a function of facts, plans and settings. It answers with a choice or a refusal, both plain values, and never
//! writes, queues or keeps the state of a pod.
//!
//! From the bottom up; no module uses one that stands below it in this list:
//! - `values`: choices, refusals and reasons, and what they are counted by;
//! - `filters` and `scores`: which nodes will do for a pod, and which are better;
//! - `lanes`: how pieces of work are done side by side;
//! - `driven_off`: whether a pod on its way may still go to its node;
//! - `profile`, `settings`, `plans`, `underway`, `caches`, `readiness`: what a scheduling cycle sees besides facts;
//! - `held_back`: what a pod lacks before it is looked at;
//! - `cycle`: one scheduling cycle, on which all decisions below are methods;
//! - `devices`: the claims of a pod, and devices for them;
//! - `pod`: one pod against all nodes;
//! - `preempt`: pods that would have to go for a pod;
//! - `negotiation`: what drivers' controllers are to be asked;
//! - `gang`: seats for pods that are placed together, as a gang or as a tree of groups;
//! - `considering`: a whole decision about a pod, a gang or a tree, at once or on a snapshot.

mod caches;
pub mod considering;
pub mod cycle;
mod devices;
pub mod driven_off;
pub mod filters;
pub mod gang;
pub mod giving_back;
pub mod held_back;
pub mod lanes;
pub mod negotiation;
pub mod plans;
pub mod pod;
pub mod preempt;
pub mod profile;
pub mod readiness;
pub mod scores;
pub mod settings;
pub mod underway;
mod values;

#[cfg(test)]
mod sample;

pub use devices::{extended, footprint, holding};
pub use pod::comparison;
pub use scores::placement as placement_scores;
pub use values::{
    binding_part, certainty, driver_wait, event_reasons, gang_outcome, gang_preemption, gang_reason,
    in_the_way, lacking, meaning, node_refusal, not_bound, not_ready, notice, preemption, reason, wake, work,
};
