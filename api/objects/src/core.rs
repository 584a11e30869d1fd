//! The core group.

pub mod affinity;
pub mod container;
pub mod event;
pub mod kinds;
pub mod node;
pub mod pod;
