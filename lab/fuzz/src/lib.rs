//! Feeds our parsers, decoders and the allocator what nobody would write.
//!
//! One module a target. A target is a function that takes any input, and panics if a promise is broken; the tests call
//! it with random inputs, a bounded number of them in `cargo test`. `BOLERO_RANDOM_ITERATIONS=1000000` runs longer,
//! `BOLERO_RANDOM_SEED` repeats a failure.

pub mod admission;
pub mod allocation;
pub mod decoding;
pub mod quantity;
pub mod selector;
