//! Starts API servers and talks to them over bare connections, for tests and measurements.
//!
//! A caller is one HTTP/1.1 connection that does one thing at a time and never repeats a request by itself, so that a
//! test knows exactly what it asked and what it was told.

mod connection;
mod launched;
mod leashed;
pub mod real;

pub use connection::{CallError, Caller, Lines, Place, RawResponse};
pub use launched::{LaunchError, Launched};
pub use leashed::Leashed;
