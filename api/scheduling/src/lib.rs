//! The engine's door to the API: its settings from a configuration file, its writes as calls, how these are carried out,
//! explanations as JSON, and recordings of all that the engine hears and decides.
//!
//! Invariant: this is the only crate of the room that knows the engine. What an object says about the cluster is for
//! `convert` to tell, which everybody may use who never schedules anything.

pub mod explanation;
mod footprint;
mod made_claim;
mod negotiation;
mod noted_group;
pub mod protocol;
pub mod recording;
pub mod request;
mod settings;
mod volume;

pub use settings::{plugins_of, settings};
