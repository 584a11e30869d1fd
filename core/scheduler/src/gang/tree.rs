//! Groups of groups: their pods are placed in one turn, each group in the domain of its parent.
//!
//! Groups are placed in the order in which they were made, each as if those before it had their seats. If one does not fit, those
//! before it are tried in other domains, up to a bound; what is not met within it is not called a proof.
//!
//! Invariant: what is assumed of members is taken back before the answer is given.

use std::sync::Arc;

use cluster::nodes::NodeIdx;
use gates::Gate;
use model::group::{Composite, Group, GroupId};
use model::pod::Pod;
use model::timestamp::Timestamp;
use placement::{Domain, PlacementGenerator, Strictness, Topology, TopologyConstraint, TopologyGenerator};

use super::flight::Flight;
use super::one_by_one::Assumed;
use super::turn::{GangRefusal, Seated};
use super::{Root, key_of};
use crate::engine::Engine;
use crate::filters::{self, Filter, FilterSet};
use crate::queue::Failure;
use crate::wake::{Wake, Wakes};

/// How often seats for a group are looked for in one turn of a tree.
const TRIES_MAX: u32 = 512;

/// How deep trees are at the most, groups included. The API allows for less.
const DEPTH_MAX: usize = 8;

/// A part of a tree, with the members that wait.
enum Branch {
    Leaf { group: Arc<Group>, pods: Vec<Arc<Pod>> },
    Inner { composite: Arc<Composite>, branches: Vec<Branch> },
}

/// Seats that groups have for the moment.
#[derive(Default)]
struct Trial {
    seats: Vec<(Arc<Group>, Seated, Vec<Assumed>)>,
    tries: u32,
    /// How many groups had seats at most, and why the next had none.
    nearest: Option<(usize, String)>,
}

/// What has to fit besides.
type Then<'t> = &'t mut dyn FnMut(&mut Engine, &mut Trial) -> bool;

impl Engine {
    /// The root of the tree that a group is in: itself, or the group of groups above all. Nothing if one of those is not known.
    pub(super) fn root_of(&self, id: &GroupId) -> Option<Root> {
        let group = self.gangs.groups.get(id)?;
        let is_on = self.settings.gates.enabled(Gate::CompositePodGroup);
        let Some(mut above) = group.parent.as_ref().filter(|_| is_on) else {
            return Some(Root::Group(id.clone()));
        };
        for _ in 0..DEPTH_MAX {
            let at = GroupId { namespace: id.namespace.clone(), name: above.clone() };
            match &self.gangs.composites.get(&at)?.parent {
                Some(parent) => above = parent,
                None => return Some(Root::Composite(at)),
            }
        }
        None
    }

    /// The groups below a group of groups.
    pub(super) fn leaves_of(&self, id: &GroupId) -> Vec<GroupId> {
        self.leaves_below(id, DEPTH_MAX)
    }

    fn leaves_below(&self, id: &GroupId, depth: usize) -> Vec<GroupId> {
        let children = self.gangs.children.get(id).into_iter().flatten().filter(|_| depth > 0);
        let leaves = children.flat_map(|child| match child {
            Root::Group(leaf) => vec![leaf.clone()],
            Root::Composite(inner) => self.leaves_below(inner, depth - 1),
        });
        leaves.collect()
    }

    /// Queues a tree with members that want a node, held back until enough of its groups have enough members.
    pub(super) fn look_at_tree(&mut self, now: Timestamp, root: &GroupId) {
        let key = key_of(&Root::Composite(root.clone()));
        let leaves = self.leaves_of(root);
        let waiting = leaves.iter().filter_map(|leaf| self.gangs.waiting.get(leaf)).flatten();
        let mut here = waiting.filter(|(uid, _)| !self.placing.contains_key(*uid)).peekable();
        if here.peek().is_none() {
            self.queue.remove(&key);
            return;
        }
        let is_gated = here.any(|(_, gated)| *gated);
        let priority = self.gangs.composites.get(root).map_or(0, |composite| composite.priority);
        let is_held_back = is_gated || !self.has_enough(&Root::Composite(root.clone()), DEPTH_MAX);
        self.queue.apply(&key, priority, is_held_back, now);
        if is_held_back {
            let waiting = leaves.iter().filter_map(|leaf| self.gangs.waiting.get(leaf));
            let members: Vec<Arc<str>> = waiting.flat_map(|members| members.keys().cloned()).collect();
            self.suspect_all(&members);
        }
    }

    /// Whether enough members are there, wherever they are.
    fn has_enough(&self, at: &Root, depth: usize) -> bool {
        match at {
            Root::Group(id) => {
                let group = self.gangs.groups.get(id);
                group.is_some_and(|group| self.gangs.members(id) >= group.at_least as usize)
            }
            Root::Composite(id) => {
                let Some(composite) = self.gangs.composites.get(id).filter(|_| depth > 0) else {
                    return false;
                };
                let children = self.gangs.children.get(id).into_iter().flatten();
                let whole = children.filter(|child| self.has_enough(child, depth - 1)).count();
                whole >= composite.at_least as usize
            }
        }
    }

    /// Looks for seats for the members of a tree, and sends those on their way that have one.
    pub(super) fn turn_tree(&mut self, now: Timestamp, key: &Arc<str>, root: &GroupId) {
        let leaves = self.leaves_of(root);
        let waiting =
            leaves.iter().filter_map(|leaf| self.gangs.waiting.get(leaf)).flat_map(|one| one.keys());
        let (on_the_way, here): (Vec<_>, Vec<_>) = waiting.partition(|uid| self.placing.contains_key(*uid));
        let is_coming_back = on_the_way.iter().any(|uid| !self.nodes.has_pod(uid));
        let pods: Vec<Arc<Pod>> = here.into_iter().filter_map(|uid| self.waiting.get(uid).cloned()).collect();
        let Some(first) = pods.first().cloned() else { return self.look_at_tree(now, root) };
        if is_coming_back {
            return self.queue.put_back(key, Failure::Failed, now);
        }
        if pods.iter().any(|pod| self.wants_devices(pod))
            && let Some(until) = self.rivals.stands_back(now, key)
        {
            return self.queue.postpone(key, until);
        }
        let Some(branch) = self.branch(&Root::Composite(root.clone()), DEPTH_MAX) else {
            return self.look_at_tree(now, root);
        };
        pods.iter().for_each(|pod| self.watch_claims(pod));
        let mut trial = Trial::default();
        let whole = self.whole_domain(&first);
        let is_seated = self.seat_branch(&branch, &whole, &mut trial, &mut |_, trial| !trial.is_empty());
        let seats = std::mem::take(&mut trial.seats);
        for (_, _, assumed) in seats.iter().rev() {
            assumed.iter().rev().for_each(|one| self.revert_seat(one));
        }
        if is_seated {
            let seats: Vec<(Arc<Group>, Seated)> =
                seats.into_iter().map(|(group, seated, _)| (group, seated)).collect();
            if self.negotiates_for_gang(now, key, seats.iter().flat_map(|(_, seated)| seated)) {
                return;
            }
            return self.take_off_tree(now, key, root, seats, &pods);
        }
        let why = match trial.nearest {
            Some((_, why)) => why,
            None => "there are too few members".to_owned(),
        };
        self.give_up_gang(&pods);
        let mut message = format!("pod group is unschedulable, {why}");
        let mut filters: FilterSet = [Filter::Resources].into_iter().collect();
        if let Some((alone, said)) = self.why_alone(&pods) {
            message = format!("{message}; {alone}");
            filters = said;
        }
        for group in leaves.iter().filter_map(|leaf| self.gangs.groups.get(leaf).cloned()).collect::<Vec<_>>()
        {
            self.tell_refused(&group, &first, &message);
        }
        let refusal = GangRefusal { message, wakes_on: self.helps_tree(&leaves, &pods), filters };
        self.refuse_gang(now, key, &pods, &refusal);
    }

    /// The changes that could help the members of a tree.
    fn helps_tree(&self, leaves: &[GroupId], pods: &[Arc<Pod>]) -> Wakes {
        let groups = leaves.iter().filter_map(|leaf| self.gangs.groups.get(leaf));
        let wakes = groups.map(|group| self.helps(group, pods)).fold(Wakes::NONE, Wakes::or);
        // Levels of what is above them count as well.
        wakes.or(Wake::NodeLabels.into())
    }

    /// Sends members of all groups on their way together.
    fn take_off_tree(
        &mut self,
        now: Timestamp,
        key: &Arc<str>,
        root: &GroupId,
        seats: Vec<(Arc<Group>, Seated)>,
        pods: &[Arc<Pod>],
    ) {
        let members = seats.iter().flat_map(|(_, seated)| seated).map(|(pod, _)| pod.uid.clone());
        let flight = Flight {
            members: members.collect(),
            ready: Default::default(),
            vacant: Default::default(),
            at_least: seats.iter().map(|(_, seated)| seated.len()).sum(),
            is_cleared: false,
            attempts: self.queue.attempts(key),
            since: self.queue.began(key),
        };
        self.begin_flight(&root_flight(root), flight);
        for (group, mut seated) in seats {
            self.reserve_once(&mut seated);
            if let Some((pod, _)) = seated.first() {
                self.tell_seated(&group, &pod.clone(), seated.len());
            }
            for (pod, choice) in seated {
                self.place(now, &pod, choice);
            }
        }
        let is_left = |pod: &&Arc<Pod>| !self.placing.contains_key(&pod.uid);
        let left: Vec<Arc<Pod>> = pods.iter().filter(is_left).cloned().collect();
        let group = left.first().and_then(|pod| self.gang_of(pod));
        if let Some(group) = group.and_then(|id| self.gangs.groups.get(&id).cloned()) {
            return self.leave_rest(now, key, &group, &left);
        }
        self.queue.remove(key);
    }

    /// The part of the tree below a root, its groups in the order in which they were made.
    fn branch(&self, at: &Root, depth: usize) -> Option<Branch> {
        match at {
            Root::Group(id) => {
                let group = self.gangs.groups.get(id)?.clone();
                let waiting = self.gangs.waiting.get(id).into_iter().flat_map(|members| members.keys());
                let here = waiting.filter(|uid| !self.placing.contains_key(*uid));
                let mut pods: Vec<Arc<Pod>> = here.filter_map(|uid| self.waiting.get(uid).cloned()).collect();
                super::turn::sort(&mut pods);
                Some(Branch::Leaf { group, pods })
            }
            Root::Composite(id) => {
                let composite = self.gangs.composites.get(id).filter(|_| depth > 0)?.clone();
                let mut children: Vec<&Root> = self.gangs.children.get(id).into_iter().flatten().collect();
                children.sort_by_key(|child| self.made(child));
                let branches =
                    children.into_iter().filter_map(|child| self.branch(child, depth - 1)).collect();
                Some(Branch::Inner { composite, branches })
            }
        }
    }

    fn made(&self, at: &Root) -> (Option<Timestamp>, Arc<str>) {
        match at {
            Root::Group(id) => (self.gangs.groups.get(id).and_then(|group| group.created), id.name.clone()),
            Root::Composite(id) => {
                (self.gangs.composites.get(id).and_then(|composite| composite.created), id.name.clone())
            }
        }
    }

    /// Seats a part of a tree within a domain so that the rest fits as well.
    fn seat_branch(&mut self, branch: &Branch, within: &Domain, trial: &mut Trial, then: Then<'_>) -> bool {
        match branch {
            Branch::Leaf { group, pods } => self.seat_leaf(group, pods, within, trial, then),
            Branch::Inner { composite, branches } => {
                let pinned: Vec<NodeIdx> = branches.iter().flat_map(|branch| self.pins(branch)).collect();
                for domain in self.domains_within(&composite.levels, &pinned, within) {
                    if self.seat_branches(composite, branches, 0, &domain, trial, then) {
                        return true;
                    }
                }
                false
            }
        }
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
            if trial.tries >= TRIES_MAX {
                return false;
            }
            trial.tries += 1;
            let seated = match self.seat_gang_in(group, pods, among) {
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
            let assumed = seated.iter().map(|(pod, choice)| self.assume_choice(pod, choice)).collect();
            trial.seats.push((group.clone(), seated, assumed));
            if then(self, trial) {
                return true;
            }
            if let Some((_, _, assumed)) = trial.seats.pop() {
                assumed.iter().rev().for_each(|one| self.revert_seat(one));
            }
        }
        is_met && then(self, trial)
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

impl Trial {
    fn is_empty(&self) -> bool {
        self.seats.iter().all(|(_, seated, _)| seated.is_empty())
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

/// The name under which members of a tree are on their way together; no group has a name like this.
fn root_flight(root: &GroupId) -> GroupId {
    GroupId { namespace: root.namespace.clone(), name: format!("{} and its groups", root.name).into() }
}
