//! Managed fields: who set which field of an object, and server-side apply, which merges by that.
//!
//! Invariant: a field that an update or a forced apply changed belongs to its author alone; several can own a field
//! only by having applied the same value.
//!
//! Entries of another version of the kind are compared by path, and not converted.

mod adjust;
mod apply;
mod check;
mod conflict;
mod create;
mod entries;
mod fieldset;
mod form;
mod last_applied;
mod merge;
mod owned;
mod path_element;
mod reset;
mod tracker;
mod walk;

pub use apply::apply;
pub use conflict::{ApplyError, Conflict};
pub use fieldset::{BadFields, FieldSet};
pub use reset::{name_from_user_agent, reset_fields};
pub use tracker::{keep_times, track, tracked};

/// Who writes, through what and when.
#[derive(Clone, Copy, Debug)]
// tidy: allow(name): the word of Kubernetes' API, in which requests have a field manager
pub struct Manager<'a> {
    /// The name that the request gave, or that of the program that sent it; empty for nobody known.
    pub name: &'a str,
    /// The subresource of the request, such as `status`; empty for the object itself.
    pub subresource: &'a str,
    /// The time of the request, as it is written: `2026-01-02T03:04:05Z`.
    pub time: &'a str,
}

impl<'a> Manager<'a> {
    fn known_name(&self) -> &'a str {
        if self.name.is_empty() { "unknown" } else { self.name }
    }
}

/// How fields were set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By a create, an update or any other patch.
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}
