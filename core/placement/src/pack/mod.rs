//! Many members of few kinds on many nodes: seats by construction, and proofs by prices.
//!
//! Nodes that are alike are counted, not named, and a node's load is one of the few to which no member can be added. What a pass
//! builds is asked of the state before it counts; what it refuses is proved in whole numbers.

mod alike;
mod best_fit;
mod dearest;
mod dive;
mod full_loads;
mod linear_program;
mod load_search;
mod most_seated;
mod packing;
mod prices;
mod pricing;
mod worth;

#[cfg(test)]
mod tests;

pub(crate) use most_seated::most_seated;
pub(crate) use packing::{Packed, Packing};
