//! The driver as a process: good, bad, and killed.

mod documents;
mod inventory;
mod life;
mod stage;
