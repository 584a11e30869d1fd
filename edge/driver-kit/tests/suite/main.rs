//! The kit on an API server of ours, and on real sockets.

mod controller;
mod plugin;
mod publishing;
mod stage;
