//! Loads that are assumed on nodes while seats are looked for, and the devices of each.

use cluster::nodes::NodeIdx;
use placement::Load;

use crate::cycle::Cycle;
use crate::gang::members::cast::Cast;
use crate::gang::search::joint::Step;

/// What is assumed of members.
#[derive(Debug)]
pub(crate) struct Across {
    /// Whether devices of members on one node can be in the way of those on another.
    pub(crate) devices_cross: bool,
    /// Whether devices have to be planned for other reasons: they take of the node.
    has_footings: bool,
    pub(crate) loads: Vec<(NodeIdx, Load)>,
    /// How many of each kind are assumed.
    pub(crate) seated: Vec<u32>,
    /// The devices of each load that is assumed, if they cross nodes.
    pub(crate) plan: Vec<Step>,
}

impl Across {
    pub fn new(cycle: &Cycle<'_>, cast: &Cast) -> Across {
        let follows = cast.is_apart && cast.examples().any(|member| !member.follows.is_empty());
        let mut examples = cast.examples();
        let is_shared = cast.is_apart && examples.any(|member| cycle.may_share_with_others(member));
        Across {
            devices_cross: follows || is_shared,
            has_footings: cast.is_apart && cast.examples().any(|member| member.claims.footing.is_some()),
            loads: Vec::new(),
            seated: vec![0; cast.kinds.len()],
            plan: Vec::new(),
        }
    }

    /// Whether devices of members on one node can be in the way of those on another.
    pub fn devices_cross(&self) -> bool {
        self.devices_cross
    }

    /// Whether devices have to be planned.
    pub fn plans(&self) -> bool {
        self.devices_cross || self.has_footings
    }
}
