//! What is under way: pods on their way to nodes, claims that get and lose devices, gangs that are bound together, negotiations. The
//! engine takes facts, turns and answers in, has decisions made, and says what is to be written.

mod bindings;
mod deallocate;
pub mod engine;
mod extended;
mod footprint;
pub mod gang;
pub mod negotiation;
pub mod preempt;
pub mod queue;
mod rivals;
pub mod write;
