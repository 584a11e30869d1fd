//! Runs the scenarios of `scenarios/`: documents that say what is given, what happens, and what must come of it.
//!
//! A file is read by [`read`] and each of its scenarios is run by [`run`]; [`files`] finds them all, and [`verdicts`]
//! does everything for one of them. A run keeps nothing
//! but API objects: what is taken is told from the status of claims before every decision, and every decision is
//! judged by the independent checker as well as by the scenario.

mod allocate;
mod difference;
mod document;
mod failure;
mod folder;
mod form;
mod negotiation;
mod run;
mod schedule;
mod verdict;
mod world;

pub use document::{Scenario, read};
pub use failure::{Failure, Fault};
pub use folder::{FolderError, files, folder, shown};
pub use run::run;
pub use verdict::{Outcome, Verdict, verdicts};
