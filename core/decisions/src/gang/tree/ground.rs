//! Nodes and members of a tree as numbers: what nodes have left, what members need, and which node takes which members.
//!
//! For most members amounts say all there is to say. For others, those with devices, ports or rules, the cluster is asked, once for
//! each kind of node and load. The room that a node has for each kind of member, if there are no others, is counted as an amount too.
//!
//! Invariant: if members on one node cannot be in the way of members on another, a node takes exactly the loads that are said here.
//! Otherwise it takes no more than these.

use cluster::nodes::NodeIdx;
use placement::{Budget, Likeness, Load, PlacementState, Verdict};
use rustc_hash::FxHashMap;

use crate::cycle::Cycle;
use crate::filters;
use crate::gang::members::cast::Cast;
use crate::gang::members::member::Member;
use crate::gang::search::view::ClusterView;
use crate::profile::Profile;
use crate::values::work;

/// For how many kinds of members the room of nodes is counted.
const COUNTED_MAX: usize = 32;

/// The axis along which devices are counted; those from [`DEVICE_AXES`] on, resources by name aside, count them by class.
const DEVICES: usize = 4;
const DEVICE_AXES: usize = 5;

/// How many members of which kinds, by the number of the kind.
pub(crate) type Counts = Vec<(usize, u32)>;

/// Nodes and members as numbers.
pub(crate) struct Ground<'g, 'c> {
    pub view: ClusterView<'g, 'c>,
    pub nodes: Vec<NodeIdx>,
    /// Axes of amounts, and one for each kind that is counted.
    pub axes: usize,
    /// How many of them are amounts.
    pub amounts: usize,
    free: Vec<u64>,
    needs: Vec<u64>,
    pub likeness: Vec<Likeness>,
    /// Which kinds each node will do for at all.
    fixed: Vec<Box<[bool]>>,
    /// Kinds, and nodes, of which amounts say all.
    plain_kinds: Vec<bool>,
    plain_nodes: Vec<bool>,
    known: FxHashMap<(Likeness, Counts), bool>,
    /// Members on one node can be in the way of members on another.
    pub crosses: bool,
    pub budget: Budget,
    /// A question was left open, so that "no" proves nothing.
    pub unsure: bool,
}

impl<'g, 'c> Ground<'g, 'c> {
    pub fn new(
        cycle: &'g mut Cycle<'c>,
        (cast, profile): (&'g Cast, &'g Profile),
        nodes: Vec<NodeIdx>,
        steps: u64,
    ) -> Ground<'g, 'c> {
        let kinds = cast.kinds.len();
        cycle.caches.work.spend(nodes.len() as u64 * (work::SURVEY + kinds as u64 * work::GLANCE));
        let gang = cast.gang(1);
        let amounts = gang.axes.len();
        let view = ClusterView::new(cycle, cast, profile);
        let is_pending = cast.examples().any(|member| !member.claims.pending.is_empty());
        let crosses = view.crosses_nodes() || is_pending;
        let counted = if crosses || kinds > COUNTED_MAX { 0 } else { kinds };
        let axes = amounts + counted;
        let mut needs = vec![0; kinds * axes];
        for (kind, needed) in gang.kinds.iter().enumerate() {
            needs[kind * axes..][..amounts].copy_from_slice(&needed.needs.0);
        }
        let mut ground = Ground {
            nodes,
            axes,
            amounts,
            free: Vec::new(),
            needs,
            likeness: Vec::new(),
            fixed: Vec::new(),
            plain_kinds: cast.kinds.iter().map(|kind| view.is_plain(&kind[0].members[0])).collect(),
            plain_nodes: Vec::new(),
            known: FxHashMap::default(),
            crosses,
            budget: Budget::new(steps),
            unsure: false,
            view,
        };
        ground.survey(counted);
        ground
    }

    fn survey(&mut self, counted: usize) {
        let others = self.view.cast.others.len();
        for at in self.nodes.clone() {
            let mut free = self.view.free(at).0;
            if self.crosses {
                // What nodes share is not among these.
                let (rest, devices) = (DEVICES + 1..DEVICE_AXES + others, DEVICES..free.len());
                devices.filter(|axis| !rest.contains(axis)).for_each(|axis| free[axis] = u64::MAX);
            }
            free.resize(self.axes, u64::MAX);
            self.free.extend(free);
            self.fixed.push(self.view.fixed(at).into());
            let likeness = if self.crosses { Likeness(u64::from(at.0)) } else { self.view.likeness(at) };
            self.likeness.push(likeness);
            let name = &filters::node_of(self.view.cycle.facts.nodes.get(at)).name;
            self.plain_nodes.push(self.view.cycle.plans.nominations.on(name).next().is_none());
        }
        let mut alone: FxHashMap<(Likeness, usize), u64> = FxHashMap::default();
        for node in 0..self.nodes.len() {
            for kind in 0..counted {
                let key = (self.likeness[node], kind);
                let room = alone.get(&key).copied().unwrap_or_else(|| {
                    let members = self.view.cast.kinds[kind].len() as u32;
                    u64::from(self.most(node, kind, members))
                });
                alone.insert(key, room);
                self.free[node * self.axes + self.amounts + kind] = room;
            }
        }
        (0..counted).for_each(|kind| self.needs[kind * self.axes + self.amounts + kind] = 1);
    }

    /// How many members of a kind a node takes if there are no others, up to a bound.
    fn most(&mut self, node: usize, kind: usize, bound: u32) -> u32 {
        let (free, needs) = (self.free_on(node), self.needs_of(kind));
        let fits = fitting(free, needs, bound);
        self.largest(fits, |ground, count| ground.takes(node, &[(kind, count)]))
    }

    /// The largest number up to a bound of which this is so. It is so of each number that is smaller than one of which it is.
    pub fn largest(&mut self, bound: u32, mut is_so: impl FnMut(&mut Self, u32) -> bool) -> u32 {
        if bound == 0 || is_so(self, bound) {
            return bound;
        }
        let (mut most, mut refused) = (0, bound);
        while refused - most > 1 {
            let middle = most + (refused - most) / 2;
            if is_so(self, middle) {
                most = middle;
            } else {
                refused = middle;
            }
        }
        most
    }

    /// What a node has left before any member comes.
    pub fn free_on(&self, node: usize) -> &[u64] {
        &self.free[node * self.axes..][..self.axes]
    }

    /// What a member of a kind needs.
    pub fn needs_of(&self, kind: usize) -> &[u64] {
        &self.needs[kind * self.axes..][..self.axes]
    }

    /// How many kinds there are.
    pub fn kinds(&self) -> usize {
        self.plain_kinds.len()
    }

    /// Whether a node will do for a kind at all.
    pub fn admits(&self, node: usize, kind: usize) -> bool {
        self.fixed[node][kind]
    }

    /// Whether amounts say all about these members on a node.
    pub fn is_plain(&self, node: usize, load: &[(usize, u32)]) -> bool {
        self.crosses || (self.plain_nodes[node] && load.iter().all(|(kind, _)| self.plain_kinds[*kind]))
    }

    /// Whether a node takes a load. What is left open counts as no, and is noted.
    pub fn takes(&mut self, node: usize, load: &[(usize, u32)]) -> bool {
        let needed = |axis: usize| {
            let needs = load.iter().map(|(kind, count)| self.needs_of(*kind)[axis] * u64::from(*count));
            needs.fold(0, u64::saturating_add)
        };
        let free = self.free_on(node);
        if !load.iter().all(|(kind, _)| self.admits(node, *kind))
            || (0..self.axes).any(|axis| needed(axis) > free[axis])
        {
            return false;
        }
        if self.is_plain(node, load) {
            return true;
        }
        let key = (self.likeness[node], load.to_vec());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let mut whole = Load::none(self.kinds());
        load.iter().for_each(|(kind, count)| whole.set(*kind, *count));
        let verdict = self.view.takes(self.nodes[node], &whole, &mut self.budget);
        self.unsure |= verdict == Verdict::Unknown;
        if verdict != Verdict::Unknown {
            self.known.insert(key, verdict == Verdict::Yes);
        }
        verdict == Verdict::Yes
    }

    /// Counts what was done.
    pub fn spend(&mut self, nanos: u64) {
        self.view.cycle.caches.work.spend(nanos);
    }

    /// Whether no more may be done.
    pub fn is_spent(&self) -> bool {
        self.budget.left() == 0 || self.view.cycle.caches.work.is_spent()
    }
}

impl ClusterView<'_, '_> {
    /// Whether a node takes members like this one if, and only if, it has enough left.
    fn is_plain(&self, member: &Member) -> bool {
        let Member { pod, claims, follows, .. } = member;
        let device_resources = &self.profile.filters.device_resources;
        let is_ignored = |name| {
            device_resources.contains(name) || !crate::gang::search::view::is_counted(name, self.profile)
        };
        self.rules.is_none()
            && !claims.need_devices()
            && claims.footing.is_none()
            && follows.is_empty()
            && pod.shape.ports.is_empty()
            && !pod.shape.requests.others.keys().any(|name| is_ignored(name))
    }
}

/// For how many members that need so much there is enough, up to a bound.
pub(crate) fn fitting(free: &[u64], needs: &[u64], bound: u32) -> u32 {
    let of_axis = |(free, need): (&u64, &u64)| free.checked_div(*need).unwrap_or(u64::MAX);
    let most = free.iter().zip(needs).map(of_axis).min().unwrap_or(u64::MAX);
    u32::try_from(most).unwrap_or(u32::MAX).min(bound)
}
