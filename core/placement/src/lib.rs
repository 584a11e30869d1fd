//! Gangs: a seat for every member at once, or a proof that there is none.
//!
//! Three phases, as in the design that this follows: a [`PlacementGenerator`] names the domains in which a gang may be, each
//! domain is tried on a [`PlacementState`] and left as it was, and a [`PlacementScorer`] says which of those that will do is
//! best. [`place`] runs them.
//!
//! The search knows neither filters nor devices. Members that are alike are one [`Kind`], and what it asks is whether a node
//! takes a [`Load`]: so many members of each kind at once. The state that answers decides the devices of all of them together, so
//! that no member is seated with a device that only another could have used.

mod answer;
mod arithmetic;
mod axis;
mod budget;
mod closest;
mod domain_name;
mod domain_search;
mod gang;
mod generator;
mod inquiry;
mod load;
mod pack;
mod phases;
mod placing;
mod reach;
mod room;
mod scorer;
mod search;
mod state;
mod topology;

pub use answer::{Lack, Placement, PlacementAnswer, Refusal, Seats, Shortfall};
pub use arithmetic::{Amounts, shortfall};
pub use axis::{Axis, Unit};
pub use budget::Budget;
pub use domain_name::DomainName;
pub use gang::{Gang, Kind};
pub use generator::{Domain, PlacementGenerator, Strictness, TopologyConstraint, TopologyGenerator};
pub use load::Load;
pub use phases::{PlacementQuestion, place};
pub use placing::{Placing, Progress};
pub use reach::ReachGenerator;
pub use scorer::{
    FewestNodes, FewestParts, LeastFragments, LooseFit, MostMembers, PlacementScorer, Scored, TightestFit,
    Weighted, judge,
};
pub use state::{Likeness, PlacementState, Trial, Verdict, Walk};
pub use topology::Topology;
