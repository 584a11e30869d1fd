//! Finds nodes for pods, or says why there are none.

mod alike;
pub mod change;
mod cycle;
pub mod engine;
pub mod filters;
pub mod node_refusal;
pub mod preempt;
pub mod queue;
pub mod scores;
mod touches;
pub mod wake;

#[cfg(test)]
mod sample;
