//! Clusters in which everything goes wrong: a seed decides what people do, and which write, watch, leader or node fails.
//!
//! Invariant: nothing here looks at a clock, a file or a random source. The same seed gives the same history.

pub mod world;
