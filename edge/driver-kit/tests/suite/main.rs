//! The kit on an API server of ours, and on real sockets.

mod publishing;
mod stage;
