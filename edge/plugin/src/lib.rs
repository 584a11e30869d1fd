//! The protocol between a node and the drivers of its devices: messages, clients and servers.
//!
//! The node finds a driver by its socket in the directory that it watches ([`registration`]), and then has it prepare and
//! unprepare claims ([`dra`]) and say how its devices are ([`health`]). The files below `proto` say what each message means;
//! everything in `generated` is made of them.
//!
//! Invariant: names and numbers on the wire are those of Kubernetes, so that its drivers work with our nodes and ours with
//! its nodes. A test makes the generated code anew and compares.

mod generated;
mod names;

pub use generated::{dra, health, registration};
pub use names::{DRA_PLUGIN, DraVersion, HealthVersion};
