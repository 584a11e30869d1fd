//! The connection to an API server.

mod connecting;
mod leading;
mod protocol;
mod served;
mod watching;
mod writing;
