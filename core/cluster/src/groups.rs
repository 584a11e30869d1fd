//! Groups of pods, groups of groups, the workloads that they come from, and which pods are members of what.
//!
//! Invariant: there is a group for each replica of each group of a workload that is there, and for no other. A pod is a member of
//! one group at the most; it waits, or has a seat: a node that it is on or on its way to. While it is on its way it is both.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use gates::{Gate, Gates};
use model::group::{Composite, Group, GroupId, GroupName};
use model::identity::{GroupUid, PodUid};
use model::pod::Pod;
use model::workload::{Terms, Workload, WorkloadId};
use rustc_hash::FxHashMap;

use crate::shared_map::SharedMap;
use crate::topologies::NodeTopology;

/// How deep trees are at the most, groups included. The API allows for less.
pub const DEPTH_MAX: usize = 8;

/// What is placed at once.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Root {
    /// A group that belongs to no other.
    Group(GroupId),
    /// A group of groups.
    Composite(GroupId),
}

impl Root {
    /// Which group it is.
    #[must_use]
    pub fn id(&self) -> &GroupId {
        let (Root::Group(id) | Root::Composite(id)) = self;
        id
    }
}

/// What waits for its turn as one. Of what came at the same moment and is as important, gangs come first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Key {
    /// All members of a group that wait.
    Gang(GroupId),
    /// All members of all groups below a group of groups that wait.
    Tree(GroupId),
    /// A pod that belongs to no group, by uid.
    Pod(PodUid),
}

impl Key {
    /// The group or the group of groups, unless it is a single pod.
    #[must_use]
    pub fn root(&self) -> Option<Root> {
        match self {
            Key::Pod(_) => None,
            Key::Gang(id) => Some(Root::Group(id.clone())),
            Key::Tree(id) => Some(Root::Composite(id.clone())),
        }
    }
}

impl From<&Root> for Key {
    fn from(root: &Root) -> Key {
        match root {
            Root::Group(id) => Key::Gang(id.clone()),
            Root::Composite(id) => Key::Tree(id.clone()),
        }
    }
}

impl From<&Pod> for Key {
    /// The key of a pod as one that belongs to no group.
    fn from(pod: &Pod) -> Key {
        Key::Pod(pod.uid.clone())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Pod(uid) => write!(out, "pod {uid}"),
            Key::Gang(id) => write!(out, "pod group {id}"),
            Key::Tree(id) => write!(out, "composite pod group {id}"),
        }
    }
}

/// Groups, and the pods that belong to them.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    gates: Gates,
    known: BTreeMap<GroupId, Arc<Group>>,
    by_uid: FxHashMap<GroupUid, GroupId>,
    composites: BTreeMap<GroupId, Arc<Composite>>,
    /// What is in each group of groups, whether that is known or not.
    children: BTreeMap<GroupId, BTreeSet<Root>>,
    /// What groups of our own workloads ask of their placement.
    terms: BTreeMap<GroupId, Arc<Terms>>,
    /// The groups of each of our own workloads.
    workloads: BTreeMap<WorkloadId, Vec<GroupId>>,
    /// How nodes are grouped, by name.
    topologies: BTreeMap<Arc<str>, NodeTopology>,
    /// Members that wait for a node, and whether something else has to be done before they may be placed.
    waiting: BTreeMap<GroupId, BTreeMap<PodUid, bool>>,
    /// Members that are on a node or on their way to one.
    seated: BTreeMap<GroupId, BTreeSet<PodUid>>,
    /// The group of each of these.
    group_of: SharedMap<PodUid, GroupId>,
}

/// What a workload that is there, or otherwise, or gone means for groups.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WorkloadTouched {
    /// Its groups.
    pub groups: Vec<GroupId>,
    /// Groups that it has no more.
    pub went: Vec<GroupId>,
}

impl Groups {
    /// No groups yet; these features are on.
    #[must_use]
    pub fn new(gates: Gates) -> Groups {
        Groups { gates, ..Groups::default() }
    }

    /// A group by name.
    #[must_use]
    pub fn get(&self, id: &GroupId) -> Option<&Arc<Group>> {
        self.known.get(id)
    }

    /// The levels of the topology that groups and groups of groups name, each once.
    #[must_use]
    pub fn levels(&self) -> BTreeSet<&Arc<str>> {
        let groups = self.known.values().flat_map(|group| &group.levels);
        let composites = self.composites.values().flat_map(|composite| &composite.levels);
        let terms = self.terms.values().flat_map(|terms| &terms.levels).map(|term| &term.level);
        groups.chain(composites).chain(terms).collect()
    }

    /// A group of groups by name.
    #[must_use]
    pub fn composite(&self, id: &GroupId) -> Option<&Arc<Composite>> {
        self.composites.get(id)
    }

    /// What is in a group of groups, whether that is known or not.
    pub fn children(&self, id: &GroupId) -> impl Iterator<Item = &Root> {
        self.children.get(id).into_iter().flatten()
    }

    /// What a group of a workload of our own asks of its placement.
    #[must_use]
    pub fn terms(&self, id: &GroupId) -> Option<&Arc<Terms>> {
        self.terms.get(id)
    }

    /// Gives a group of a workload of our own other terms, for a look at what would be then.
    pub fn change_terms(&mut self, id: &GroupId, change: impl FnOnce(&mut Terms)) {
        if let Some(terms) = self.terms.get_mut(id) {
            change(Arc::make_mut(terms));
        }
    }

    /// The groups of a workload of our own.
    #[must_use]
    pub fn of_workload(&self, id: &WorkloadId) -> Option<&[GroupId]> {
        self.workloads.get(id).map(Vec::as_slice)
    }

    /// How nodes are grouped, by each that says something about it.
    pub fn topologies(&self) -> impl Iterator<Item = &NodeTopology> {
        self.topologies.values()
    }

    /// Members that wait for a node, and whether something else has to be done before they may be placed.
    #[must_use]
    pub fn waiting(&self, id: &GroupId) -> Option<&BTreeMap<PodUid, bool>> {
        self.waiting.get(id)
    }

    /// Groups with members that wait, from this one on.
    pub fn waiting_from(&self, first: GroupId) -> impl Iterator<Item = &GroupId> {
        self.waiting.range(first..).map(|(id, _)| id)
    }

    /// The members that are on a node or on their way to one.
    pub fn seated(&self, id: &GroupId) -> impl Iterator<Item = &PodUid> {
        self.seated.get(id).into_iter().flatten()
    }

    /// The group of a member that is on a node or on its way to one.
    #[must_use]
    pub fn of_seated(&self, uid: &str) -> Option<&GroupId> {
        self.group_of.get(uid)
    }

    /// The members of the group with this uid that are on a node or on their way to one.
    pub fn seated_by_uid(&self, uid: &str) -> impl Iterator<Item = &PodUid> {
        self.by_uid.get(uid).into_iter().flat_map(|id| self.seated(id))
    }

    /// The group with this uid.
    #[must_use]
    pub fn by_uid(&self, uid: &str) -> Option<&GroupId> {
        self.by_uid.get(uid)
    }

    /// How many members there are, wherever they are.
    #[must_use]
    pub fn members(&self, id: &GroupId) -> usize {
        let none = BTreeSet::new();
        let seated = self.seated.get(id).unwrap_or(&none);
        let waiting = self.waiting.get(id).into_iter().flat_map(BTreeMap::keys);
        seated.len() + waiting.filter(|uid| !seated.contains(*uid)).count()
    }

    /// The group that a pod belongs to, whether it is known or not.
    #[must_use]
    pub fn gang_of(&self, pod: &Pod) -> Option<GroupId> {
        // Groups of our own workloads are joined by labels of ours, which stand behind no gate of Kubernetes.
        let counts = |name: &&GroupName| match name {
            GroupName::Object(_) => self.gates.enabled(Gate::GenericWorkload),
            GroupName::Replica(_) => true,
        };
        let name = pod.group.as_ref().filter(counts)?;
        Some(GroupId { namespace: pod.id.namespace.clone(), name: name.clone() })
    }

    /// The root of the tree that a group is in: itself, or the group of groups above all. Nothing if one of those is not known.
    #[must_use]
    pub fn root_of(&self, id: &GroupId) -> Option<Root> {
        let group = self.known.get(id)?;
        if group.parent.is_none() || !self.gates.enabled(Gate::CompositePodGroup) {
            return Some(Root::Group(id.clone()));
        }
        let highest = self.composites_above(group).pop()?;
        highest.parent.is_none().then(|| Root::Composite(highest.id.clone()))
    }

    /// The root of the tree that a group is in. A group of a tree of which a part is not known stands for itself.
    #[must_use]
    pub fn root_or_self(&self, id: &GroupId) -> Root {
        self.root_of(id).unwrap_or_else(|| Root::Group(id.clone()))
    }

    /// What a pod waits as: itself, or its gang or tree.
    #[must_use]
    pub fn key_of(&self, pod: &Pod) -> Key {
        self.gang_of(pod).map_or_else(|| Key::from(pod), |id| self.key_for(&id))
    }

    /// What the members of a group wait as. Those of a tree of which a part is not known wait as the group.
    #[must_use]
    pub fn key_for(&self, id: &GroupId) -> Key {
        Key::from(&self.root_or_self(id))
    }

    /// The groups of groups that a group is in, as far as they are known, the nearest first.
    #[must_use]
    pub fn composites_above(&self, group: &Group) -> Vec<Arc<Composite>> {
        let mut found: Vec<Arc<Composite>> = Vec::new();
        let is_on = group.parent.is_some() && self.gates.enabled(Gate::CompositePodGroup);
        let mut name = group.parent.as_ref().filter(|_| is_on);
        while let Some(above) = name.filter(|_| found.len() < DEPTH_MAX) {
            let id = GroupId { namespace: group.id.namespace.clone(), name: above.clone().into() };
            let Some(composite) = self.composites.get(&id) else { break };
            found.push(composite.clone());
            name = composite.parent.as_ref();
        }
        found
    }

    /// What a group, or a group of groups, is in.
    #[must_use]
    pub fn parent_of(&self, root: &Root) -> Option<&Arc<Composite>> {
        let (id, parent) = match root {
            Root::Group(id) => (id, self.known.get(id)?.parent.as_ref()?),
            Root::Composite(id) => (id, self.composites.get(id)?.parent.as_ref()?),
        };
        let id = GroupId { namespace: id.namespace.clone(), name: parent.clone().into() };
        let is_on = self.gates.enabled(Gate::CompositePodGroup);
        self.composites.get(&id).filter(|_| is_on)
    }

    /// The groups below a group of groups, or a group itself.
    #[must_use]
    pub fn leaves_of(&self, root: &Root) -> Vec<GroupId> {
        self.leaves_below(root, DEPTH_MAX)
    }

    fn leaves_below(&self, root: &Root, depth: usize) -> Vec<GroupId> {
        match root {
            Root::Group(leaf) => vec![leaf.clone()],
            Root::Composite(id) => {
                let children = self.children(id).filter(|_| depth > 0);
                children.flat_map(|child| self.leaves_below(child, depth - 1)).collect()
            }
        }
    }

    /// How many groups of a group of groups have enough members on nodes or on their way there.
    #[must_use]
    pub fn standing_groups(&self, id: &GroupId) -> usize {
        let seated = |leaf: &GroupId| self.seated(leaf).count();
        self.children(id).filter(|child| self.is_enough_below(child, DEPTH_MAX, &seated)).count()
    }

    /// Whether enough members are there, wherever they are.
    #[must_use]
    pub fn has_enough(&self, root: &Root) -> bool {
        self.is_enough(root, &|leaf: &GroupId| self.members(leaf))
    }

    /// Whether enough groups have enough members, as they are counted.
    #[must_use]
    pub fn is_enough(&self, root: &Root, count: &dyn Fn(&GroupId) -> usize) -> bool {
        self.is_enough_below(root, DEPTH_MAX, count)
    }

    fn is_enough_below(&self, root: &Root, depth: usize, count: &dyn Fn(&GroupId) -> usize) -> bool {
        match root {
            Root::Group(id) => self.known.get(id).is_some_and(|group| count(id) >= group.at_least as usize),
            Root::Composite(id) => {
                let Some(composite) = self.composites.get(id).filter(|_| depth > 0) else { return false };
                let whole = self.children(id).filter(|child| self.is_enough_below(child, depth - 1, count));
                whole.count() >= composite.at_least as usize
            }
        }
    }

    /// Takes note of a group.
    pub fn apply(&mut self, group: Group) {
        let id = group.id.clone();
        self.remove(&id);
        self.adopt(group.parent.as_ref(), &Root::Group(id.clone()));
        self.by_uid.insert(group.uid.clone(), id.clone());
        self.known.insert(id, Arc::new(group));
    }

    /// Forgets a group.
    pub fn remove(&mut self, id: &GroupId) {
        if let Some(group) = self.known.remove(id) {
            self.by_uid.remove(&group.uid);
            self.disown(group.parent.as_ref(), &Root::Group(id.clone()));
        }
    }

    /// Takes note of a group of groups.
    pub fn apply_composite(&mut self, composite: Composite) {
        let id = composite.id.clone();
        self.remove_composite(&id);
        self.adopt(composite.parent.as_ref(), &Root::Composite(id.clone()));
        self.composites.insert(id, Arc::new(composite));
    }

    /// Forgets a group of groups, and says whether it was known.
    pub fn remove_composite(&mut self, id: &GroupId) -> bool {
        let Some(composite) = self.composites.remove(id) else { return false };
        self.disown(composite.parent.as_ref(), &Root::Composite(id.clone()));
        true
    }

    fn adopt(&mut self, parent: Option<&Arc<str>>, child: &Root) {
        let Some(name) = parent else { return };
        let parent = GroupId { namespace: child.id().namespace.clone(), name: name.clone().into() };
        self.children.entry(parent).or_default().insert(child.clone());
    }

    fn disown(&mut self, parent: Option<&Arc<str>>, child: &Root) {
        let Some(name) = parent else { return };
        let parent = GroupId { namespace: child.id().namespace.clone(), name: name.clone().into() };
        if let Some(children) = self.children.get_mut(&parent) {
            children.remove(child);
            if children.is_empty() {
                self.children.remove(&parent);
            }
        }
    }

    /// Takes note of a workload of our own.
    pub fn apply_workload(&mut self, workload: &Workload) -> WorkloadTouched {
        let mut groups = Vec::new();
        for (group, terms) in workload.replicas() {
            let id = group.id.clone();
            self.known.insert(id.clone(), Arc::new(group));
            self.terms.insert(id.clone(), terms.clone());
            groups.push(id);
        }
        let before = self.workloads.insert(workload.id.clone(), groups.clone()).unwrap_or_default();
        let went: Vec<GroupId> = before.into_iter().filter(|id| !groups.contains(id)).collect();
        went.iter().for_each(|id| self.forget_replica(id));
        WorkloadTouched { groups, went }
    }

    /// Forgets a workload of our own, and tells which groups went with it.
    pub fn remove_workload(&mut self, id: &WorkloadId) -> Vec<GroupId> {
        let went = self.workloads.remove(id).unwrap_or_default();
        went.iter().for_each(|id| self.forget_replica(id));
        went
    }

    fn forget_replica(&mut self, id: &GroupId) {
        self.known.remove(id);
        self.terms.remove(id);
    }

    /// Takes note of how nodes are grouped, and tells which levels there were and are; none if it is as it was.
    pub fn apply_topology(&mut self, topology: NodeTopology) -> BTreeSet<Arc<str>> {
        if self.topologies.get(&topology.name) == Some(&topology) {
            return BTreeSet::new();
        }
        let mut levels = levels_of(&topology);
        let before = self.topologies.insert(topology.name.clone(), topology);
        levels.extend(before.iter().flat_map(levels_of));
        levels
    }

    /// Forgets how nodes are grouped, and tells which levels there were.
    pub fn remove_topology(&mut self, name: &str) -> BTreeSet<Arc<str>> {
        self.topologies.remove(name).iter().flat_map(levels_of).collect()
    }

    /// The groups of our own workloads that look for one of these levels.
    #[must_use]
    pub fn looking_for(&self, levels: &BTreeSet<Arc<str>>) -> Vec<GroupId> {
        let looks = |terms: &Terms| terms.levels.iter().any(|term| levels.contains(&term.level));
        self.terms.iter().filter(|(_, terms)| looks(terms)).map(|(id, _)| id.clone()).collect()
    }

    /// Takes note of a member that waits, and says whether that is new or it is held back otherwise than before.
    pub fn wait(&mut self, id: &GroupId, uid: &PodUid, gated: bool) -> bool {
        self.waiting.entry(id.clone()).or_default().insert(uid.clone(), gated) != Some(gated)
    }

    /// Takes note of a member that waits no more, and says whether it was the last of its group.
    pub fn wait_no_more(&mut self, id: &GroupId, uid: &str) -> bool {
        let Some(members) = self.waiting.get_mut(id) else { return false };
        members.remove(uid);
        let is_last = members.is_empty();
        if is_last {
            self.waiting.remove(id);
        }
        is_last
    }

    /// Takes note of a pod that is on a node, or on its way to one.
    pub fn seat(&mut self, pod: &Pod) {
        self.unseat(&pod.uid);
        if let Some(id) = self.gang_of(pod) {
            self.seated.entry(id.clone()).or_default().insert(pod.uid.clone());
            self.group_of.insert(pod.uid.clone(), id);
        }
    }

    /// Takes note of a pod that is on no node.
    pub fn unseat(&mut self, uid: &str) {
        let Some(id) = self.group_of.remove(uid) else { return };
        if let Some(members) = self.seated.get_mut(&id) {
            members.remove(uid);
            if members.is_empty() {
                self.seated.remove(&id);
            }
        }
    }
}

fn levels_of(topology: &NodeTopology) -> BTreeSet<Arc<str>> {
    topology.levels.iter().map(|level| level.name.clone()).collect()
}
