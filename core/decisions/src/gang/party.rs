//! What looks for seats together: the members of a gang, or those of all groups of a tree.

use std::sync::Arc;

use cluster::groups::Root;
use model::group::{Group, Grouping};
use model::pod::Pod;
use placement::Domain;

use crate::gang::members::cast::Cast;
use crate::gang::seats::sought::Sought;
use crate::gang::tree::sought::Tree;
use crate::profile::Profile;

/// What looks for seats together.
#[derive(Clone, Copy, Debug)]
pub enum Party<'p> {
    /// The members of a gang.
    Gang(&'p Sought),
    /// The members of all groups of a tree.
    Tree(&'p Tree),
}

impl<'p> Party<'p> {
    /// The gang or the tree.
    #[must_use]
    pub fn root(self) -> Root {
        match self {
            Party::Gang(sought) => Root::Group(sought.group.id.clone()),
            Party::Tree(tree) => Root::Composite(tree.composite.id.clone()),
        }
    }

    /// What it is called.
    #[must_use]
    pub fn grouping(self) -> Grouping {
        match self {
            Party::Gang(sought) => Grouping::Pods(sought.group.clone()),
            Party::Tree(tree) => Grouping::Groups(tree.composite.clone()),
        }
    }

    /// The groups that members belong to.
    #[must_use]
    pub fn groups(self) -> &'p [Arc<Group>] {
        match self {
            Party::Gang(sought) => std::slice::from_ref(&sought.group),
            Party::Tree(tree) => &tree.groups,
        }
    }

    /// All members that wait.
    pub(crate) fn cast(self) -> &'p Cast {
        match self {
            Party::Gang(sought) => &sought.cast,
            Party::Tree(tree) => &tree.cast,
        }
    }

    /// The domains in which they may be.
    pub fn domains(self) -> &'p [Domain] {
        match self {
            Party::Gang(sought) => &sought.domains,
            Party::Tree(tree) => &tree.domains,
        }
    }

    /// What members ask of nodes, as the profile that they name says.
    #[must_use]
    pub fn profile(self) -> &'p Arc<Profile> {
        match self {
            Party::Gang(sought) => &sought.profile,
            Party::Tree(tree) => &tree.profile,
        }
    }

    /// How many seats have to be found at once at the least, as a search counts them. How many that are in a tree is said by
    /// its groups.
    pub fn at_least(self) -> u32 {
        match self {
            Party::Gang(sought) => sought.gang.at_least,
            Party::Tree(_) => 1,
        }
    }

    /// How many seats all members need, as a search counts them.
    pub fn everybody(self) -> u32 {
        match self {
            Party::Gang(sought) => sought.gang.members(),
            Party::Tree(tree) => tree.cast.members().count() as u32,
        }
    }

    /// Whether less important pods may have to go for it, as its groups say.
    pub fn preempts(self) -> bool {
        let may_preempt = match self {
            Party::Gang(_) => true,
            Party::Tree(tree) => tree.composite.preempts,
        };
        may_preempt && self.groups().iter().all(|group| group.preempts)
    }

    /// How important it is to pods that would be preempted for it: as each of its groups and as each of its members.
    pub fn importance(self, members: &[Arc<Pod>]) -> i32 {
        let above = match self {
            Party::Gang(_) => i32::MAX,
            Party::Tree(tree) => tree.composite.priority,
        };
        self.groups().iter().map(|group| importance(group, members)).fold(above, i32::min)
    }
}

/// How important a gang is to pods that would be preempted for it: as its group and as each of its members. A group of our own
/// workloads is as important as its members.
pub fn importance(group: &Group, members: &[Arc<Pod>]) -> i32 {
    let of_group = if group.id.name.replica().is_some() { i32::MAX } else { group.priority };
    members.iter().map(|pod| pod.priority).fold(of_group, i32::min)
}
