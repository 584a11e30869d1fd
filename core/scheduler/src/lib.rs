//! What is under way: pods on their way to nodes, claims that get and lose devices, gangs that are bound together, negotiations. The
//! engine takes facts, turns and answers in, has decisions made, and says what is to be written.

mod bindings;
mod claim_waits;
pub mod considerations;
pub mod engine;
mod life_cycles;
pub mod news;
pub mod outbox;
mod pacing;
pub mod queue;
mod rivals;
pub mod write;
