//! Every case runs unchanged on our own server and on a real one; where there is none, that half says that it was skipped.
//!
//! `cargo test -p e2e embedded::` runs the first half, `cargo test -p e2e real::` the other.

mod stage;

/// Makes two tests of each case: one on our server, one on a real one.
macro_rules! on_both {
    ($($case:ident),* $(,)?) => {
        mod embedded {
            $(#[test] fn $case() -> anyhow::Result<()> { crate::stage::embedded(super::$case) })*
        }
        mod real {
            $(#[test] fn $case() -> anyhow::Result<()> { crate::stage::real(super::$case) })*
        }
    };
}
use on_both;

mod devices;
mod interruptions;
mod kills;
mod leaders;
mod pods;
mod rivals;
