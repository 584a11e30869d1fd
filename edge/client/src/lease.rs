//! Leadership by a Lease, by the rules that Kubernetes' own components keep.
//!
//! Times on the lease are for people. Whether a lease has run out is told by our own clock, from when we last saw it
//! change, so clocks that disagree cannot make two leaders.

mod decide;
mod elect;

pub use decide::{BadTerms, LeaseAction, Observed, Terms, decide};
pub use elect::{Candidacy, Election, Leadership, identity, lead};
