//! Drivers of devices on this node: found by their sockets, registered, called, and forgotten when they are gone.
//!
//! `sockets` says what came and went in the registration directory, `registration` judges what a plugin says of itself,
//! `registry` keeps who may be called, `link` holds a connection, `endpoint` makes the calls, and `steward` joins them:
//! one task for each socket.
//!
//! Invariant: nothing that a plugin does or leaves undone holds up another: each has its own task, its own connection and
//! a limit on the time and the size of its answers.

mod endpoint;
mod link;
mod registration;
mod registry;
mod sockets;
mod steward;

pub(crate) use endpoint::{CallError, Endpoint};
pub(crate) use registry::Registry;
pub(crate) use steward::{News, Rules, Steward};

/// The directory below the root in which plugins register.
pub(crate) const REGISTRY_DIR: &str = "plugins_registry";

/// The directory below the root in which drivers have their own, and which they expect to be there.
pub(crate) const PLUGINS_DIR: &str = "plugins";
