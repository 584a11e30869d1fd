//! Recordings: what came to the engine of a scheduler, with its times, and what it decided, one line for each input.
//!
//! Invariant: a line has all that the engine was told, and nothing that may be secret: objects are saved bare, which changes no fact.
//! The engine decides from its inputs and their times alone, so the same lines give the same decisions: [`Replay`] looks whether they
//! do. Nothing here reads or writes a file.

mod effects;
mod line;
mod object;
mod replay;
mod saved;
mod scribe;
mod start;

pub use effects::{KeptEffect, RecordedEffect};
pub use line::{FactOrigin, Line, RecordedInput, UnreadableLine};
pub use object::RecordedObject;
pub use replay::{Difference, Replay, ReplayTally};
pub use saved::SavedObjects;
pub use scribe::Scribe;
pub use start::{EngineStart, StartSettings};
