//! The kit on an API server of ours, and on real sockets.

mod plugin;
mod publishing;
mod stage;
