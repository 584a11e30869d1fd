//! Seats for a tree of groups: each group in the domain of its parent.
//!
//! From the bottom up; no module uses one that stands below it in this list:
//! - `branch`: what is in which, and `sought`: what its members look for;
//! - `ground`: nodes and members as numbers; `map`: domains within domains; `outline`: the parts of a tree as a list;
//! - `loads`: members on nodes for the moment; `runs`: their seats given to members;
//! - `build`: seats by taking what is best for each part, without looking back;
//! - `wishes`: which members of a group get seats; `why`: what a group lacks;
//! - `joint` and `across`: seats for groups that have their domains, all at once;
//! - `choices`: every choice of domains;
//! - `find` and `seats`: all of it, way by way.

pub(crate) mod across;
pub(crate) mod branch;
pub(crate) mod build;
pub(crate) mod choices;
pub(crate) mod find;
pub(crate) mod ground;
pub(crate) mod joint;
pub(crate) mod loads;
pub(crate) mod map;
pub(crate) mod outline;
pub(crate) mod runs;
pub(crate) mod seats;
pub(crate) mod sought;
pub(crate) mod why;
pub(crate) mod wishes;
