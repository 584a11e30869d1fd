//! Seats for the members of a tree: each group in the domain of its parent.
//!
//! Groups are placed in the order in which they were made, each as if those before it had their seats. If one does not fit, those
//! before it are tried in other domains, up to a bound; what is not met within it is not called a proof. Groups that may be
//! anywhere in the domain of their parent are searched seats for together first.
//!
//! Invariant: what is assumed of members is taken back before the answer is given.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::nodes::NodeIdx;
use model::allocation::Allocation;
use model::claim::ClaimId;
use model::group::{Composite, Group, GroupId};
use model::pod::Pod;
use placement::{Domain, PlacementGenerator, Strictness, Topology, TopologyConstraint, TopologyGenerator};

use super::assumed::Assumed;
use super::cast::{Cast, Member};
use super::tree::Branch;
use super::turn::Seated;
use super::{Root, turn};
use crate::cycle::Wanted;
use crate::engine::{Engine, held};
use crate::filters;
use crate::profile::Profile;

/// How often seats for a group are looked for in one search, at the most.
const TRIES_MAX: u64 = 512;

/// So many steps of a search stand for one of these.
const STEPS_PER_TRY: u64 = 4_000;

/// What the members of a tree look for.
#[derive(Debug)]
pub(super) struct Tree {
    /// What is above all.
    pub composite: Arc<Composite>,
    /// Its groups.
    pub groups: Vec<Arc<Group>>,
    branches: Vec<Branch>,
    /// All members that wait.
    pub cast: Cast,
    /// The domains in which it may be as a whole.
    pub domains: Vec<Domain>,
    pub profile: Arc<Profile>,
}

/// Seats that groups have for the moment.
struct Trial {
    seats: Vec<(Seated, Vec<Assumed>)>,
    /// How many members have to have seats in the end.
    wanted: usize,
    tries_left: u64,
    /// How many steps each search for seats of a group may take.
    steps_max: u64,
    /// How many groups had seats at most, and why the next had none.
    nearest: Option<(usize, String)>,
}

/// What has to fit besides.
type Then<'t> = &'t mut dyn FnMut(&mut Engine, &mut Trial) -> bool;

impl Engine {
    /// What the members of a tree look for, unless one of those above its groups is not known.
    pub(super) fn seek_tree(&mut self, root: &Root, pods: &[Arc<Pod>]) -> Option<Tree> {
        let Branch::Inner { composite, branches } = self.branch(root)? else { return None };
        let leaves = self.leaves_of(root);
        let groups = leaves.iter().filter_map(|leaf| self.gangs.groups.get(leaf).cloned()).collect();
        let profile = self.settings.profile_of(&pods[0]);
        let member = |pod: &Arc<Pod>| {
            let claims = self.claims_of(pod, &profile).ok()?;
            Some(Member { pod: pod.clone(), claims, follows: Vec::new() })
        };
        let cast = Cast::new(self, pods.iter().filter_map(member).collect(), &profile);
        let pinned: Vec<NodeIdx> = branches.iter().flat_map(|branch| self.pins(branch)).collect();
        let domains = self.domains_within(&composite.levels, &pinned, &self.whole_domain(&pods[0]));
        Some(Tree { composite, groups, branches, cast, domains, profile })
    }

    /// Seats for members of enough groups, and for so many members in all, in one of these domains, or why there are none.
    pub(super) fn find_tree_seats(
        &mut self,
        tree: &Tree,
        domains: &[Domain],
        wanted: u32,
        steps_max: u64,
    ) -> Result<(Arc<str>, Seated), String> {
        let mut trial = Trial {
            seats: Vec::new(),
            wanted: wanted.max(1) as usize,
            tries_left: (steps_max / STEPS_PER_TRY).clamp(1, TRIES_MAX),
            steps_max,
            nearest: None,
        };
        let mut is_enough = |_: &mut Engine, trial: &mut Trial| trial.count() >= trial.wanted;
        let found = domains.iter().find(|domain| {
            self.seat_together(&tree.composite, &tree.branches, domain, &mut trial, &mut is_enough)
        });
        let mut seats: Vec<Seated> = std::iter::from_fn(|| self.revert_group(&mut trial)).collect();
        seats.reverse();
        let Some(domain) = found else {
            return Err(match trial.nearest {
                Some((_, why)) => why,
                None if domains.is_empty() => {
                    let levels = tree.composite.levels.join(", ");
                    let runs = tree.branches.iter().any(|branch| !self.pins(branch).is_empty());
                    let lack = if runs { "members that run are not all" } else { "no node is" };
                    format!("{lack} in one domain of level {levels}")
                }
                None => "there are too few members".to_owned(),
            });
        };
        let mut seated: Seated = seats.into_iter().flatten().collect();
        follow_each_other(&mut seated);
        Ok((domain.name.clone(), seated))
    }

    /// Seats a part of a tree within a domain so that the rest fits as well.
    fn seat_branch(&mut self, branch: &Branch, within: &Domain, trial: &mut Trial, then: Then<'_>) -> bool {
        match branch {
            Branch::Leaf { group, pods } => self.seat_leaf(group, pods, within, trial, then),
            Branch::Inner { composite, branches } => {
                let pinned: Vec<NodeIdx> = branches.iter().flat_map(|branch| self.pins(branch)).collect();
                let domains = self.domains_within(&composite.levels, &pinned, within);
                domains.iter().any(|domain| self.seat_together(composite, branches, domain, trial, then))
            }
        }
    }

    /// Seats what is in a group of groups within a domain.
    fn seat_together(
        &mut self,
        composite: &Composite,
        branches: &[Branch],
        within: &Domain,
        trial: &mut Trial,
        then: Then<'_>,
    ) -> bool {
        self.seat_as_one(composite, branches, within, trial, then)
            || self.seat_branches(composite, branches, 0, within, trial, then)
    }

    /// Seats all members of groups that may be anywhere in a domain as if they were one group. One after the other, the first might
    /// take what only another could use.
    fn seat_as_one(
        &mut self,
        composite: &Composite,
        branches: &[Branch],
        within: &Domain,
        trial: &mut Trial,
        then: Then<'_>,
    ) -> bool {
        let leaf = |branch: &'_ Branch| match branch {
            Branch::Leaf { group, pods } if group.levels.is_empty() => Some((group.clone(), pods.clone())),
            Branch::Leaf { .. } | Branch::Inner { .. } => None,
        };
        let Some(leaves) = branches.iter().map(leaf).collect::<Option<Vec<_>>>() else { return false };
        let has_enough = |(group, pods): &&(Arc<Group>, Vec<Arc<Pod>>)| {
            self.gangs.seated(&group.id).count() + pods.len() >= group.at_least as usize
        };
        let waiting = leaves.iter().filter(|(_, pods)| !pods.is_empty()).count();
        if waiting < 2 || leaves.iter().filter(has_enough).count() < leaves.len() || !trial.may_try() {
            return false;
        }
        let mut pods: Vec<Arc<Pod>> = leaves.iter().flat_map(|(_, pods)| pods).cloned().collect();
        turn::sort(&mut pods);
        let as_one = Group { id: joint(&composite.id), at_least: pods.len() as u32, ..Group::default() };
        let alone = std::slice::from_ref(within);
        let Ok(mut seated) = self.seat_gang_in(&Arc::new(as_one), &pods, alone, trial.steps_max) else {
            return false;
        };
        let before = trial.seats.len();
        for (group, _) in leaves {
            let is_own = |(pod, _): &mut (Arc<Pod>, _)| pod.group.as_ref() == Some(&group.id.name);
            let own: Seated = seated.extract_if(.., is_own).collect();
            self.assume_group(trial, own);
        }
        if then(self, trial) {
            return true;
        }
        while trial.seats.len() > before {
            self.revert_group(trial);
        }
        false
    }

    /// Seats as many of these as there is room for, but enough; `placed` of those before have theirs.
    fn seat_branches(
        &mut self,
        composite: &Composite,
        branches: &[Branch],
        placed: u32,
        within: &Domain,
        trial: &mut Trial,
        then: Then<'_>,
    ) -> bool {
        let Some((first, rest)) = branches.split_first() else {
            return placed >= composite.at_least && then(self, trial);
        };
        let mut with = |engine: &mut Engine, trial: &mut Trial| {
            engine.seat_branches(composite, rest, placed + 1, within, trial, then)
        };
        if self.seat_branch(first, within, trial, &mut with) {
            return true;
        }
        let is_needed = placed + (rest.len() as u32) < composite.at_least;
        !is_needed && self.seat_branches(composite, rest, placed, within, trial, then)
    }

    /// Seats a group in the best domain, and if the rest does not fit then in another.
    fn seat_leaf(
        &mut self,
        group: &Arc<Group>,
        pods: &[Arc<Pod>],
        within: &Domain,
        trial: &mut Trial,
        then: Then<'_>,
    ) -> bool {
        let is_met = self.gangs.seated(&group.id).count() >= group.at_least as usize;
        if pods.is_empty() {
            return is_met && then(self, trial);
        }
        let pinned: Vec<NodeIdx> = self.pins_of(&group.id).collect();
        let domains = self.domains_within(&group.levels, &pinned, within);
        let mut best = None;
        for choice in std::iter::once(None).chain(domains.iter().map(Some)) {
            let among = match choice {
                None => &domains[..],
                // This is where it was found to be best.
                Some(domain) if domains.len() == 1 || best.is_some_and(|at| domain.nodes.contains(&at)) => {
                    continue;
                }
                Some(domain) => std::slice::from_ref(domain),
            };
            if !trial.may_try() {
                return false;
            }
            let seated = match self.seat_gang_in(group, pods, among, trial.steps_max) {
                Ok(seated) => seated,
                Err(why) => {
                    trial.came_close(group, &why);
                    if choice.is_none() {
                        break;
                    }
                    continue;
                }
            };
            if choice.is_none() {
                best = seated.first().and_then(|(_, choice)| self.nodes.find(&choice.node));
            }
            self.assume_group(trial, seated);
            if then(self, trial) {
                return true;
            }
            self.revert_group(trial);
        }
        is_met && then(self, trial)
    }

    /// Goes on as if members of a group were on their nodes. Their claims have devices then, which members of other groups that name
    /// them share.
    fn assume_group(&mut self, trial: &mut Trial, seated: Seated) {
        let assumed = seated.iter().map(|(pod, choice)| self.assume_choice(pod, choice)).collect();
        for (state, allocation) in brought(&seated) {
            let allocation = Some(Arc::new(held(&state.wish.id, &state.uid, allocation, None).0));
            let with_devices = ClaimState { allocation, ..ClaimState::clone(state) };
            self.gangs.assumed.insert(state.wish.id.clone(), Arc::new(with_devices));
        }
        trial.seats.push((seated, assumed));
    }

    /// Takes back what was assumed of the last group.
    fn revert_group(&mut self, trial: &mut Trial) -> Option<Seated> {
        let (seated, assumed) = trial.seats.pop()?;
        assumed.iter().rev().for_each(|one| self.revert_seat(one));
        for (state, _) in brought(&seated) {
            self.gangs.assumed.remove(&state.wish.id);
        }
        Some(seated)
    }

    fn pins(&self, branch: &Branch) -> Vec<NodeIdx> {
        match branch {
            Branch::Leaf { group, .. } => self.pins_of(&group.id).collect(),
            Branch::Inner { branches, .. } => branches.iter().flat_map(|branch| self.pins(branch)).collect(),
        }
    }

    fn pins_of(&self, id: &GroupId) -> impl Iterator<Item = NodeIdx> {
        self.gangs.seated(id).filter_map(|uid| Some(self.nodes.pod(uid)?.0))
    }

    /// All nodes, the best for a pod first.
    fn whole_domain(&self, pod: &Pod) -> Domain {
        let profile = self.settings.profile_of(pod);
        let companions = self.companions_of(&pod.shape, &profile);
        let all: Vec<NodeIdx> = self.nodes.iter().map(|(at, _)| at).collect();
        Domain::whole(self.ranked(pod, all, &[], companions.as_ref(), &profile))
    }

    /// The domains of these levels within another.
    fn domains_within(&self, levels: &[Arc<str>], pinned: &[NodeIdx], within: &Domain) -> Vec<Domain> {
        if levels.is_empty() {
            return vec![within.clone()];
        }
        let constraint =
            |level: &Arc<str>| TopologyConstraint { level: level.clone(), strictness: Strictness::Required };
        let constraints: Vec<TopologyConstraint> = levels.iter().map(constraint).collect();
        let labels = |at: &NodeIdx| (*at, &filters::node_of(self.nodes.get(*at)).labels);
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

impl Trial {
    /// How many members have seats.
    fn count(&self) -> usize {
        self.seats.iter().map(|(seated, _)| seated.len()).sum()
    }

    /// Whether seats may be looked for once more.
    fn may_try(&mut self) -> bool {
        let may_try = self.tries_left > 0;
        self.tries_left = self.tries_left.saturating_sub(1);
        may_try
    }

    fn came_close(&mut self, group: &Group, message: &str) {
        let placed = self.seats.len();
        if self.nearest.as_ref().is_none_or(|(most, _)| *most < placed) {
            let why = message.strip_prefix("pod group is unschedulable, ").unwrap_or(message);
            let others = if placed == 0 { String::new() } else { format!(" beside {placed} others") };
            self.nearest = Some((placed, format!("group {}{others}: {why}", group.id.name)));
        }
    }
}

/// The claims that get devices with members.
fn brought(seated: &Seated) -> impl Iterator<Item = (&Arc<ClaimState>, &Allocation)> {
    let claims = seated.iter().flat_map(|(_, choice)| &choice.claims);
    claims.filter_map(|wanted| match wanted {
        Wanted::Allocation { state, allocation } => Some((state, allocation)),
        _ => None,
    })
}

/// Members that share a claim with one of another group reserve it when that has brought its devices.
fn follow_each_other(seated: &mut Seated) {
    let led: BTreeSet<ClaimId> = brought(seated).map(|(state, _)| state.wish.id.clone()).collect();
    for wanted in seated.iter_mut().flat_map(|(_, choice)| &mut choice.claims) {
        if let Wanted::Reservation { claim, uid } = wanted
            && led.contains(claim)
        {
            *wanted = Wanted::Following { claim: claim.clone(), uid: uid.clone() };
        }
    }
}

/// The name under which members of a tree are looked at or on their way together; no group has a name like this.
pub(super) fn joint(root: &GroupId) -> GroupId {
    GroupId { namespace: root.namespace.clone(), name: format!("{} and its groups", root.name).into() }
}
