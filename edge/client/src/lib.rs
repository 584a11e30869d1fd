//! The connection to a Kubernetes API server, real or embedded.
//!
//! [`Connection::list_and_watch`] says what is there and what changes, each once and in
//! order. Writes are answered by an [`Answer`], which names everything that may come of them. Objects are read straight from the wire into the types of `objects`, and only once.

mod answer;
mod backoff;
mod connect;
mod connection;
mod pace;
mod resource;
mod watch;
mod write;

pub use answer::{Answer, Unavailable};
pub use connect::ConnectError;
pub use connection::{Connection, Options};
pub use resource::Resource;
pub use watch::{Event, Gone, Selectors, WatchOptions};
pub use write::Patch;
