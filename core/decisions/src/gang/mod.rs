//! Pods that are placed together: seats for all of them, or why there are none.
//!
//! From the bottom up; no module uses one that stands below it in this list:
//! - `answer`: seats, and what came closest to them;
//! - `members`: the pods of a gang by kind, with what their claims need;
//! - `domains`: where a gang may be, by levels and by sets of devices;
//! - `search`: the cluster as the search for a placement sees it;
//! - `why`: which changes could help a gang, and why a member has no node even if it were alone;
//! - `seats`: seats for one gang;
//! - `tree`: seats for a tree of groups;
//! - `party`: what gangs and trees have in common;
//! - `preempt`: pods that would have to go for a gang or a tree;
//! - `replicas`: seats for several gangs of a kind at once.

mod answer;
mod domains;
mod members;
mod party;
mod party_seats;
mod preempt;
mod replicas;
mod search;
mod seats;
mod tree;
mod why;

pub use self::answer::seats::{Seated, sort};
pub use self::party::{Party, importance};
pub use self::preempt::candidate::GangCandidate;
pub use self::preempt::way::Way;
pub use self::seats::seek::STEPS_MAX;
pub use self::seats::sought::Sought;
pub use self::tree::branch::members_here;
pub use self::tree::sought::Tree;
pub use crate::plans::gang::GangPlan;
pub use crate::values::gang_refusal::GangRefusal;
pub use crate::values::miss::Miss;
pub use crate::values::tried::Tried;
