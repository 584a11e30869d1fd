//! The scheduler at work on servers that misbehave.

mod busy_server;
mod late_kinds;
