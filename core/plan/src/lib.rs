//! What would become of pods if they were made now, or if the cluster were otherwise.
//!
//! The scheduler itself decides, on a copy of what is known of the cluster; what it writes is carried out on the copy. So a plan says
//! what the scheduler would do, in the order of its queue, and nothing is written.
//!
//! From the bottom up; no module uses one that stands below it in this list:
//! - `written`: what an API server would tell after a write;
//! - `rehearsal`: the scheduler at work on a copy;
//! - `alteration`: what is to be otherwise, as people write it;
//! - `alter`: a copy that is otherwise;
//! - `usage`: what is in use of each node, and nodes that are alike;
//! - `plan`: whether pods fit, and where;
//! - `capacity`: how many more pods like one fit;
//! - `defragment`, with `search` and `partitions`: which pods would have to move.

mod alter;
mod alteration;
mod capacity;
mod defragment;
mod partitions;
mod plan;
mod rehearsal;
mod search;
mod usage;
mod written;

pub use self::alter::NoSuchThing;
pub use self::alteration::{Alteration, DEVICES_MAX, NODES_MAX};
pub use self::capacity::{COPIES_MAX, Capacity, NoCapacity, OneMoreNode, Shortage, capacity};
pub use self::defragment::{Defragmentation, Goal, Move, NoMoves, defragment};
pub use self::plan::{Origin, PlanQuestion, PlannedPod, PodPlan, Standing, WORK_MAX, plan};
pub use self::rehearsal::PreemptedPod;
pub use self::usage::{ClusterUsage, InUse, LikeNodes, Usage, like_nodes, usage};
pub use explain::Extent;
