//! The driver as a process: good, bad, and killed.

mod inventory;
mod life;
mod stage;
