//! Composable fabrics: devices that are attached to hosts and detached from them by order.
//!
//! [`Fabric`] is all that is asked of one. [`Redfish`] asks a manager over HTTP, in the manner of Redfish; [`Emulator`] is such a
//! manager, with hosts, switches, ports and devices of an inventory file, for everybody who has no fabric at hand.

mod emulator;
mod http;
mod redfish;
mod resources;

use std::pin::Pin;

use controllers::fabric::inventory::{Inventory, Place};
use model::timestamp::Timestamp;
use thiserror::Error;

pub use emulator::{BadSetup, Emulator, Setup};
pub use http::{Address, BadAddress};
pub use redfish::Redfish;

/// What is asked of a fabric. Asking twice for the same is as good as once.
pub trait Fabric: Send + Sync {
    /// What is there now.
    fn inventory(&self, now: Timestamp) -> Call<'_, Inventory>;

    /// Attaches a device to a host; done when it is attached.
    fn attach<'a>(&'a self, unit: &'a str, place: &'a Place) -> Call<'a, ()>;

    /// Detaches a device from a host; one that is not attached to it is left as it is.
    fn detach<'a>(&'a self, unit: &'a str, host: &'a str) -> Call<'a, ()>;
}

/// A call of a fabric, and what comes of it.
pub type Call<'a, T> = Pin<Box<dyn Future<Output = Result<T, Trouble>> + Send + 'a>>;

/// Why a fabric did not do what it was asked to.
#[derive(Debug, Error)]
pub enum Trouble {
    /// It cannot be reached, or does not answer.
    #[error(
        "cannot reach the fabric manager at {address}: {why}; hint: check that it runs and that the URL is correct"
    )]
    Unreachable {
        /// Where it should be.
        address: String,
        /// What went wrong.
        why: String,
    },
    /// It does not want to.
    #[error("the fabric manager refused the request: {0}")]
    Refused(String),
    /// It wanted to, and could not.
    #[error("the fabric manager failed: {0}")]
    Failed(String),
    /// It began, and does not say what came of it.
    #[error("the fabric manager has not finished: {0}")]
    Unfinished(String),
    /// It says what nobody understands.
    #[error("the fabric manager sent an invalid answer for {path}: {why}")]
    Unreadable {
        /// What it was asked for.
        path: String,
        /// What is wrong with the answer.
        why: String,
    },
}

impl Trouble {
    /// Whether what was asked for is known not to have been done, and not to be done later.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Failed(_) => true,
            Self::Unreachable { .. } | Self::Unfinished(_) | Self::Unreadable { .. } => false,
        }
    }
}
