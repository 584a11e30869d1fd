//! Selectors: compiled, weighed and run.

mod compile;
mod evaluate;
mod glance;
