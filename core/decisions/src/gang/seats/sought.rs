//! What a gang looks for, once that is known.

use std::sync::Arc;

use model::group::Group;
use model::identity::PodUid;
use placement::{Domain, Gang};

use crate::gang::members::cast::Cast;
use crate::profile::Profile;
use crate::values::in_the_way::InTheWay;

/// What a gang looks for.
#[derive(Clone, Debug)]
pub struct Sought {
    /// Its group.
    pub group: Arc<Group>,
    pub(crate) cast: Cast,
    pub(crate) gang: Gang,
    /// How many members have to be seated at once; the search may count those that share claims as one.
    pub at_least: u32,
    /// Where it may be.
    pub domains: Vec<Domain>,
    /// Levels at which no node is in any domain.
    pub empty_levels: Vec<Arc<str>>,
    /// What members ask of nodes, as the profile that they name says.
    pub profile: Arc<Profile>,
    /// Claims of members that have devices of no use to any pod, and for which pod they give them back.
    pub in_the_way: Vec<(InTheWay, PodUid)>,
}

/// What seats are looked for: for a gang, or for members of several groups of a tree at once.
#[derive(Clone, Copy)]
pub(crate) struct SeatsWanted<'s> {
    /// The group of all members, if they are of one. Members of several groups have no wishes in common.
    pub group: Option<&'s Group>,
    pub cast: &'s Cast,
    pub gang: &'s Gang,
    /// How many members have to be seated at once; the search may count those that share claims as one.
    pub at_least: u32,
    /// Levels at which no node is in any domain.
    pub empty_levels: &'s [Arc<str>],
    pub profile: &'s Profile,
}

impl Sought {
    /// The seats that it looks for.
    pub(crate) fn seats(&self) -> SeatsWanted<'_> {
        let Sought { group, cast, gang, at_least, empty_levels, profile, .. } = self;
        SeatsWanted { group: Some(group), cast, gang, at_least: *at_least, empty_levels, profile }
    }
}
