//! Finds nodes for pods, or says why there are none.

mod alike;
mod alternatives;
pub mod change;
mod cycle;
mod deallocate;
pub mod engine;
pub mod filters;
pub mod node_refusal;
pub mod profile;
pub mod queue;
mod rivals;
pub mod scores;
pub mod storage;
mod touches;
pub mod wake;

#[cfg(test)]
mod sample;
