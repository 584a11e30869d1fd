//! Seats for the members of a tree: each group in the domain of its parent.
//!
//! Invariant: what is assumed of members is taken back before the answer is given.

use std::sync::Arc;

use cluster::groups::Root;
use cluster::nodes::NodeIdx;
use model::group::{Composite, Group, GroupId};
use model::pod::Pod;
use placement::{Domain, PlacementGenerator, Strictness, Topology, TopologyConstraint, TopologyGenerator};

use super::attempt::Miss;
use super::cast::{Cast, Member};
use super::claims::ClaimUsers;
use super::seek::Seated;
use super::tree::Branch;
use super::tree_search::TreeSearch;
use crate::cycle::Cycle;
use crate::filters;
use crate::profile::Profile;

/// What the members of a tree look for.
#[derive(Debug)]
pub struct Tree {
    /// What is above all.
    pub composite: Arc<Composite>,
    /// Its groups.
    pub groups: Vec<Arc<Group>>,
    pub(super) branches: Vec<Branch>,
    /// All members that wait.
    pub(super) cast: Cast,
    /// The domains in which it may be as a whole.
    pub domains: Vec<Domain>,
    /// What members ask of nodes, as the profile that they name says.
    pub profile: Arc<Profile>,
}

impl Cycle<'_> {
    /// What the members of a tree look for, unless one of those above its groups is not known.
    pub fn seek_tree(&mut self, root: &Root, pods: &[Arc<Pod>]) -> Option<Tree> {
        let Branch::Inner { composite, branches } = self.branch(root)? else { return None };
        let leaves = self.facts.groups.leaves_of(root);
        let groups = leaves.iter().filter_map(|leaf| self.facts.groups.get(leaf).cloned()).collect();
        let profile = self.settings.profile_of(&pods[0]);
        let cast = Cast::new(self, self.members_of(pods, &profile), &profile);
        let pinned = self.pins(&branches);
        let domains = self.domains_within(&composite.levels, &pinned, &self.whole_domain(&pods[0]));
        Some(Tree { composite, groups, branches, cast, domains, profile })
    }

    /// Members as a search sees them, but for those whose claims cannot be met anywhere.
    pub(super) fn members_of(&self, pods: &[Arc<Pod>], profile: &Profile) -> Vec<Member> {
        let mut users = ClaimUsers::default();
        let member = |pod: &Arc<Pod>| {
            let claims = self.claims_beside(&mut users, pod, profile).ok()?;
            Some(Member::new(pod.clone(), claims))
        };
        pods.iter().filter_map(member).collect()
    }

    /// Seats for members of enough groups, and for so many members in all, in one of these domains, or why there are none.
    pub(super) fn find_tree_seats(
        &mut self,
        tree: &Tree,
        domains: &[Domain],
        wanted: u32,
        steps_max: u64,
    ) -> Result<(Arc<str>, Seated), Miss> {
        let mut search = TreeSearch::new(self, steps_max, tree.groups.len());
        let wanted = wanted.max(1);
        let mut is_enough = |search: &mut TreeSearch<'_, '_>| search.count() >= wanted as usize;
        let whole = (&*tree.composite, &*tree.branches);
        let found = search.seat_in_best(whole, domains, wanted, &mut is_enough);
        let mut found = found.map(|at| (at, search.end()));
        if found.is_none() {
            search.end();
            found = search.seat_whole(tree, domains, wanted);
        }
        let Some((at, seated)) = found else {
            let miss = search.miss(String::new);
            return Err(match (&*miss.message, domains.is_empty()) {
                ("", true) => Miss { message: self.lack_of_domains(tree), ..miss },
                ("", false) => Miss { message: self.lack_of_groups(tree), ..miss },
                _ => miss,
            });
        };
        Ok((domains[at].name.clone(), seated))
    }

    fn lack_of_groups(&self, tree: &Tree) -> String {
        let Composite { at_least, .. } = *tree.composite;
        match self.least(&tree.composite, &tree.branches) {
            None => format!("too few of its groups have enough members, {at_least} needed"),
            Some(_) => format!("too few of its groups fit, {at_least} needed"),
        }
    }

    fn lack_of_domains(&self, tree: &Tree) -> String {
        let levels = tree.composite.levels.join(", ");
        let runs = !self.pins(&tree.branches).is_empty();
        let lack = if runs { "members that run are not all" } else { "no node is" };
        format!("{lack} in one domain of level {levels}")
    }

    /// The nodes on which members of these are.
    pub(super) fn pins(&self, branches: &[Branch]) -> Vec<NodeIdx> {
        let of_branch = |branch: &Branch| match branch {
            Branch::Leaf { group, .. } => self.pins_of(&group.id).collect(),
            Branch::Inner { branches, .. } => self.pins(branches),
        };
        branches.iter().flat_map(of_branch).collect()
    }

    pub(super) fn pins_of(&self, id: &GroupId) -> impl Iterator<Item = NodeIdx> {
        self.facts.groups.seated(id).filter_map(|uid| Some(self.facts.nodes.pod(uid)?.0))
    }

    /// All nodes, the best for a pod first.
    fn whole_domain(&self, pod: &Pod) -> Domain {
        let profile = self.settings.profile_of(pod);
        let companions = self.companions_of(&pod.shape, &profile);
        let all: Vec<NodeIdx> = self.facts.nodes.iter().map(|(at, _)| at).collect();
        Domain::whole(self.ranked(pod, all, &[], companions.as_ref(), &profile))
    }

    /// The domains of these levels within another.
    pub(super) fn domains_within(
        &self,
        levels: &[Arc<str>],
        pinned: &[NodeIdx],
        within: &Domain,
    ) -> Vec<Domain> {
        if levels.is_empty() {
            return vec![within.clone()];
        }
        let constraint =
            |level: &Arc<str>| TopologyConstraint { level: level.clone(), strictness: Strictness::Required };
        let constraints: Vec<TopologyConstraint> = levels.iter().map(constraint).collect();
        let labels = |at: &NodeIdx| (*at, &filters::node_of(self.facts.nodes.get(*at)).labels);
        let known = within.nodes.iter().chain(pinned).map(labels);
        let topology = Topology::read(levels.iter().cloned(), known);
        TopologyGenerator { topology: &topology, constraints: &constraints, pinned }
            .generate(std::slice::from_ref(within))
    }
}

impl Tree {
    /// Whether groups of groups have to be in one domain of a level.
    pub fn has_levels(&self) -> bool {
        !self.composite.levels.is_empty() || self.branches.iter().any(Branch::has_levels)
    }
}

/// The name under which members of a tree are looked at or on their way together; no group has a name like this.
pub fn joint(root: &GroupId) -> GroupId {
    GroupId { namespace: root.namespace.clone(), name: format!("{} and its groups", root.name).into() }
}
