//! The connection to a Kubernetes API server, real or embedded.
//!
//! Writes are answered by an [`Answer`], which names everything that may come of them.

mod answer;
mod connect;
mod connection;
mod pace;
mod resource;
mod write;

pub use answer::{Answer, Unavailable};
pub use connect::ConnectError;
pub use connection::{Connection, Options};
pub use resource::Resource;
pub use write::Patch;
