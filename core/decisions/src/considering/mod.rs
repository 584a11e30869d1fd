//! One decision about a pod, a gang or a tree of groups as a whole: a question goes in, and a verdict comes out.
//!
//! A question may be asked within a slice of work. What a slice does not decide is decided on a snapshot, for as long as that takes,
//! while others have their turns. From the bottom up; no module uses one that stands below it in this list:
//! - `question`: what is asked, and the verdict;
//! - `situation`: what is known when something is decided, and a copy of it;
//! - `decide`: the decision;
//! - `survey`: everything that keeps a pod off each node;
//! - `unchanged`: whether what a verdict rests on is as it was;
//! - `confirm`: whether a verdict about an earlier moment holds now.

mod confirm;
mod decide;
mod question;
mod situation;
mod survey;
mod unchanged;

pub use self::question::{
    Clearing, GangVerdict, NoSeats, PartySought, PodVerdict, SchedulingQuestion, SchedulingVerdict,
    SeatsVerdict,
};
pub use self::situation::{Consideration, Considered, Situation, Snapshot};
pub use self::survey::Surveyed;
pub use crate::caches::learned::Learned;
