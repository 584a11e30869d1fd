//! Pods that are placed together: seats for all of them, or why there are none.

mod across;
mod alone;
mod assumed;
mod attempt;
mod axes;
mod cast;
mod claims;
mod device_sets;
mod domains;
mod ground;
mod helps;
mod in_the_way;
mod joint;
mod likeness;
mod order;
mod party;
mod replicas;
mod rules;
mod seek;
mod tree;
mod tree_choice;
mod tree_search;
mod tree_seats;
mod tree_whole;
mod tried;
mod victims;
mod walk;
mod way;

pub use attempt::Miss;
pub use party::{Party, importance};
pub use seek::{GangRefusal, STEPS_MAX, Seated, Sought, sort};
pub use tree::members_here;
pub use tree_seats::{Tree, joint};
pub use tried::Tried;
pub use victims::GangCandidate;
pub use way::{GangPlan, Way};
