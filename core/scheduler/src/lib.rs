//! Finds nodes for pods, or says why there are none.

mod alike;
mod alternatives;
pub mod change;
mod cycle;
mod deallocate;
pub mod engine;
mod extended;
pub mod filters;
mod footprint;
pub mod node_refusal;
pub mod queue;
pub mod scores;
mod touches;
pub mod wake;

#[cfg(test)]
mod sample;
