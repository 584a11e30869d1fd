//! The engine's settings from files, and its writes as calls.

mod explanation;
mod made_claim;
mod negotiation;
mod noted_group;
mod recording;
mod settings;
mod volume;
