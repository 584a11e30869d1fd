//! Finds nodes for pods, or says why there are none.

mod alike;
pub mod change;
pub mod companions;
pub mod comparison;
mod cycle;
pub mod engine;
pub mod filters;
pub mod node_refusal;
pub mod profile;
pub mod queue;
pub mod scores;
pub mod storage;
mod touches;
pub mod wake;

#[cfg(test)]
mod sample;
