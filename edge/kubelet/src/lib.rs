//! Nodes, each kind in a module of its own: those that are [`simulated`] by the thousand, and the [`node`] that speaks with
//! drivers of devices.

mod claims;
mod health;
pub mod node;
mod plugins;
pub mod simulated;
