//! The protocol between nodes and drivers.

mod generated;
mod wire;
