//! Finds nodes for pods, or says why there are none.

mod alike;
mod alternatives;
mod certainty;
pub mod companions;
pub mod comparison;
mod cycle;
mod deallocate;
mod device_search;
pub mod engine;
mod extended;
pub mod filters;
mod footprint;
pub mod gang;
pub mod negotiation;
pub mod node_refusal;
pub mod placement_scores;
pub mod preempt;
pub mod profile;
pub mod queue;
mod reason;
mod rivals;
mod scopes;
pub mod scores;
pub mod wake;
mod work;
pub mod write;

#[cfg(test)]
mod sample;
