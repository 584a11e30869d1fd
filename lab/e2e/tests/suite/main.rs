//! Every case runs unchanged on our own server and on a real one; where there is none, that half says that it was skipped.
//!
//! `cargo test -p e2e embedded::` runs the first half, `cargo test -p e2e real::` the other.

mod stage;

/// Makes two tests of each case, one on our server and one on a real one; after a semicolon, one on the server that is named.
macro_rules! on_both {
    ($($case:ident),* $(,)? $(; embedded: $($ours:ident),*)? $(; real: $($theirs:ident),*)?) => {
        mod embedded {
            $(#[test] fn $case() -> anyhow::Result<()> { crate::stage::embedded(super::$case) })*
            $($(#[test] fn $ours() -> anyhow::Result<()> { crate::stage::embedded(super::$ours) })*)?
        }
        mod real {
            $(#[test] fn $case() -> anyhow::Result<()> { crate::stage::real(super::$case) })*
            $($(#[test] fn $theirs() -> anyhow::Result<()> { crate::stage::real(super::$theirs) })*)?
        }
    };
}
use on_both;

/// Makes two tests of each case, on servers that serve groups of pods.
macro_rules! with_groups {
    ($($case:ident),* $(,)?) => {
        mod embedded {
            $(#[test] fn $case() -> anyhow::Result<()> { crate::stage::embedded_with_groups(super::$case) })*
        }
        mod real {
            $(#[test] fn $case() -> anyhow::Result<()> { crate::stage::real_with_groups(super::$case) })*
        }
    };
}
use with_groups;

mod claims;
mod compatibility;
mod contention;
mod devices;
mod elected;
mod evictions;
mod fabric;
mod gangs;
mod gated;
mod interruptions;
mod kills;
mod kube;
mod leaders;
mod lives;
mod lost;
mod negotiation;
mod pods;
mod python;
mod readying;
mod rivals;
mod sharing;
mod unprocessable;
mod volumes;
mod words;
