//! What the members of a tree of groups look for.

use std::sync::Arc;

use cluster::groups::Root;
use model::group::{Composite, Group};
use model::identity::PodUid;
use model::pod::Pod;
use placement::Domain;

use crate::cycle::Cycle;
use crate::gang::members::cast::Cast;
use crate::gang::tree::branch::Branch;
use crate::gang::why::helps::ROOM;
use crate::profile::Profile;
use crate::values::in_the_way::InTheWay;
use crate::values::miss::Miss;
use crate::values::wake::{Wake, Wakes};

/// What the members of a tree look for.
#[derive(Debug)]
pub struct Tree {
    /// What is above all.
    pub composite: Arc<Composite>,
    /// Its groups.
    pub groups: Vec<Arc<Group>>,
    pub(crate) branches: Vec<Branch>,
    /// All members that wait.
    pub(crate) cast: Cast,
    /// The domains in which it may be as a whole.
    pub domains: Vec<Domain>,
    /// What members ask of nodes, as the profile that they name says.
    pub profile: Arc<Profile>,
    /// Claims of members that have devices of no use to any pod, and for which pod they give them back.
    pub in_the_way: Vec<(InTheWay, PodUid)>,
}

impl Tree {
    /// Whether groups of groups have to be in one domain of a level.
    pub fn has_levels(&self) -> bool {
        !self.composite.levels.is_empty() || self.branches.iter().any(Branch::has_levels)
    }
}

impl Cycle<'_> {
    /// What the members of a tree look for, unless a group above its groups is not known.
    pub fn seek_tree(&mut self, root: &Root, pods: &[Arc<Pod>]) -> Option<Tree> {
        let Branch::Inner { composite, branches } = self.branch(root)? else { return None };
        let leaves = self.facts.groups.leaves_of(root);
        let groups = leaves.iter().filter_map(|leaf| self.facts.groups.get(leaf).cloned()).collect();
        let profile = self.settings.profile_of(&pods[0]);
        let cast = Cast::new(self, self.members_of(pods, &profile), &profile);
        let pinned = self.pins(&branches);
        let domains = self.domains_within(&composite.levels, &pinned, &self.whole_domain(&pods[0]));
        let in_the_way = |pod: &Arc<Pod>| {
            let refusal = self.claims_of(pod, &profile).err()?;
            Some((refusal.in_the_way()?, pod.uid.clone()))
        };
        let in_the_way = pods.iter().filter_map(in_the_way).collect();
        Some(Tree { composite, groups, branches, cast, domains, profile, in_the_way })
    }

    /// The changes that could help the members of a tree, of which this is known.
    pub fn helps_tree(&mut self, tree: &Tree, pods: &[Arc<Pod>], miss: &Miss) -> Wakes {
        let devices = self.device_helps(pods, Some(miss));
        let of_groups = tree.groups.iter().map(|group| self.helps_besides_devices(group, pods));
        let wakes = of_groups.fold(devices, Wakes::or).or(Wakes::of(&ROOM));
        // Levels of what is above them count as well.
        if tree.has_levels() { wakes.or(Wake::NodeLabels.into()) } else { wakes }
    }
}
