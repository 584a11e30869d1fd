//! The embedded Kubernetes API server.
//!
//! A request is authenticated, routed to a resource, judged by `admission`, applied to the `store` and made durable by
//! a log before it is answered. Reads and watches show only what is durable.

mod apply;
mod authenticate;
mod body;
mod call;
mod change;
mod compress;
mod delete;
mod durable;
mod impersonate;
mod limits;
mod listen;
#[cfg(test)]
mod long_lists;
mod metrics;
mod negotiate;
mod objects;
mod patch;
mod paths;
mod pods;
mod present;
mod read;
mod registry;
mod respond;
mod reviews;
mod route;
mod seed;
mod service;
mod status;
mod tls;
mod upkeep;
mod watch;

use schema::yaml;

pub use authenticate::Users;
pub use durable::{DiskLog, open, open_on};
pub use journal::holds_journal;
pub use listen::{ListenError, Options, Server};
pub use registry::{Appended, Log, NoLog, NotDurable, Settled};
pub use tls::{Credentials, Identity, TlsError};
