//! Objects by revision: a state machine without a clock, a file or a thread.
//!
//! One global revision counts every change. A change is a `Write` that names the revision it was made against; what was
//! changed can be watched from any revision that the window still covers, and listed as it was at such a revision.

pub mod binding;
mod collection;
pub mod deletion;
pub mod eviction;
pub mod managed;
pub mod patch;
mod record;
mod select;
mod store;
mod stored_object;

pub use collection::{Change, Event, TooOld};
pub use record::{Record, Unreadable};
pub use select::{BadSelector, FieldSelector, LabelSelector, Selection, selectable};
pub use store::{Committed, Expected, ListAt, Page, Resource, Store, WriteError};
pub use stored_object::{Body, Key, StoredObject};
