//! The connection to a Kubernetes API server, real or embedded.
//!
//! Four things are done over it. [`Connection::list_and_watch`] says what is there and what changes, each once and in
//! order. Writes are answered by an [`Answer`], which names everything that may come of them. [`lead`] takes part in
//! the election of a leader. [`Recorder`] writes events. Objects are read straight from the wire into the types of `objects`, and only once.

mod answer;
mod backoff;
mod clock;
mod connect;
mod connection;
mod events;
mod lease;
mod list;
mod pace;
mod reach;
mod requests;
mod resource;
mod watch;
mod write;

pub use answer::{Answer, Unavailable};
pub use backoff::Backoff;
pub use clock::Clock;
pub use connect::ConnectError;
pub use connection::{Connection, Options};
pub use events::{Recorder, Report, reference};
pub use lease::{
    BadTerms, Candidacy, Election, Leadership, LeaseAction, Observed, Terms, decide, identity, lead,
};
pub use list::{ListRequest, Page};
pub use reach::{Outage, Reach};
pub use requests::{Hearer, Requests, Sent};
pub use resource::Resource;
pub use watch::{AnyObject, Event, Gone, Readers, Selectors, SomeObject, WatchOptions};
pub use write::{Patch, Request, Verb};
