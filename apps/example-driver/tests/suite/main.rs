//! The driver as a process: good, bad, and killed.

mod cluster;
mod documents;
mod inventory;
mod lending;
mod life;
mod stage;
