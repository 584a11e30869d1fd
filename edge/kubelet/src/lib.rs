//! Nodes: those that are simulated by the thousand, each kind in a module of its own.

pub mod simulated;
