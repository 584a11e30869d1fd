//! What should be: a node for a pod, seats for a gang or a tree of groups, who would have to make way, and what drivers' controllers
//! are to be asked. Or why there is nothing of that.
//!
//! Everything here is a function of facts, plans and settings. It answers with a choice or a refusal, both plain values, and never
//! writes, queues or keeps the state of a pod.

mod alike;
mod alternatives;
pub mod certainty;
mod companions;
pub mod comparison;
pub mod cycle;
mod device_search;
pub mod extended;
pub mod filters;
pub mod footprint;
pub mod gang;
pub mod giving_back;
pub mod holding;
pub mod in_the_way;
pub mod negotiation;
pub mod node_refusal;
pub mod placement_scores;
pub mod plans;
pub mod pod;
pub mod preempt;
pub mod profile;
pub mod readiness;
mod reason;
mod scopes;
pub mod scores;
pub mod settings;
pub mod wake;
pub mod work;

#[cfg(test)]
mod sample;
