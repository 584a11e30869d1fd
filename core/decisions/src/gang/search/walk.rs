//! Seats for members one after the other, each on the first node that will do, as if those before it were there.
//!
//! This is quick and will often do. It never looks back, so a member for which it finds no seat may have one. If members must
//! be near each other, the place of the first decides; then it is tried again from other places.
//!
//! Invariant: nothing is counted or held afterwards that was not before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::{NodeIdx, NodeState};
use placement::{Budget, Load, Walk};
use rustc_hash::FxHashMap;

use crate::filters;
use crate::gang::search::joint_devices::{JointDevices, Need, NodeDevices};
use crate::gang::search::view::ClusterView;
use crate::pod::Beside;
use crate::values::gang_reason::NextMember;
use crate::values::node_refusal::NodeRefusal;
use crate::values::reason::{DeviceReason, Reason};

/// From how many places a walk begins at the most.
const PLACES_MAX: usize = 32;

/// How far a walk has come.
struct Path {
    nodes: Vec<NodeIdx>,
    /// How many members of each kind have a seat.
    seated: Vec<u32>,
    loads: FxHashMap<NodeIdx, Load>,
    /// Nodes that have members, as they are with these.
    states: FxHashMap<NodeIdx, NodeState>,
    devices: Vec<NodeDevices>,
    /// By kind, which nodes may still take a member.
    open: Vec<Vec<bool>>,
    /// By kind, the first of these.
    first: Vec<usize>,
}

/// What a node says to one more member.
enum Seating {
    Seat(Option<NodeDevices>),
    /// Not now.
    Later(NodeRefusal),
    /// Not while the others have their seats.
    Never(Option<NodeRefusal>),
}

impl ClusterView<'_, '_> {
    /// Seats for as many members as can be found, one after the other.
    pub(crate) fn walk_over(&mut self, nodes: &[NodeIdx], budget: &mut Budget) -> Walk<NextMember> {
        let everybody: u32 = self.cast.kinds.iter().map(|kind| kind.len() as u32).sum();
        let mut best = self.walk_once(nodes.to_vec(), budget);
        if best.seated() == everybody || !self.rules.as_ref().is_some_and(|rules| rules.have_near()) {
            return best;
        }
        let mut groups: Vec<u32> = Vec::new();
        let of_nodes: Vec<u32> = nodes.iter().map(|at| self.group_of(*at)).collect();
        for group in &of_nodes {
            if !groups.contains(group) && groups.len() < PLACES_MAX {
                groups.push(*group);
            }
        }
        for group in groups.into_iter().skip(1) {
            let (here, others): (Vec<_>, Vec<_>) =
                nodes.iter().zip(&of_nodes).partition(|(_, of)| **of == group);
            let order = here.into_iter().chain(others).map(|(at, _)| *at).collect();
            let walk = self.walk_once(order, budget);
            if walk.seated() > best.seated() {
                best = walk;
            }
            if best.seated() == everybody || budget.left() == 0 {
                break;
            }
        }
        best
    }

    fn walk_once(&mut self, nodes: Vec<NodeIdx>, budget: &mut Budget) -> Walk<NextMember> {
        let kinds = self.cast.kinds.len();
        let mut open = vec![vec![false; nodes.len()]; kinds];
        for (place, at) in nodes.iter().enumerate() {
            let fixed = self.fixed(*at);
            fixed.iter().zip(&mut open).for_each(|(will_do, open)| open[place] = *will_do);
        }
        let mut path = Path {
            nodes,
            seated: vec![0; kinds],
            loads: FxHashMap::default(),
            states: FxHashMap::default(),
            devices: Vec::new(),
            open,
            first: vec![0; kinds],
        };
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for kind in 0..kinds {
                // A member that had no seat may have one now that others are there.
                while (path.seated[kind] as usize) < self.cast.kinds[kind].len()
                    && budget.spend(1)
                    && self.seat_next(kind, &mut path, budget)
                {
                    goes_on = true;
                }
            }
        }
        let stopped_by = self.stopped_by(&mut path, budget);
        self.take_back(&path);
        let Path { nodes, loads, .. } = path;
        let loads = nodes.iter().filter_map(|at| Some((*at, loads.get(at)?.clone()))).collect();
        Walk { loads, stopped_by }
    }

    /// Seats for so many members of each kind on each of these sets of nodes; nothing if one has none.
    pub(crate) fn walk_by_loads(
        &mut self,
        of: &[(Vec<NodeIdx>, Load)],
        budget: &mut Budget,
    ) -> Option<Vec<(NodeIdx, Load)>> {
        let kinds = self.cast.kinds.len();
        let mut path = Path {
            nodes: of.iter().flat_map(|(nodes, _)| nodes).copied().collect(),
            seated: vec![0; kinds],
            loads: FxHashMap::default(),
            states: FxHashMap::default(),
            devices: Vec::new(),
            open: Vec::new(),
            first: Vec::new(),
        };
        path.open = vec![vec![false; path.nodes.len()]; kinds];
        let mut begin = 0;
        let is_seated = of.iter().all(|(nodes, load)| {
            path.first = vec![begin; kinds];
            for (place, at) in (begin..).zip(nodes) {
                let fixed = self.fixed(*at);
                fixed.iter().zip(&mut path.open).for_each(|(will_do, open)| open[place] = *will_do);
            }
            let mut wanted =
                load.present().flat_map(|(kind, count)| std::iter::repeat_n(kind, count as usize));
            let is_seated = wanted.all(|kind| budget.spend(1) && self.seat_next(kind, &mut path, budget));
            for open in &mut path.open {
                open[begin..begin + nodes.len()].fill(false);
            }
            begin += nodes.len();
            is_seated
        });
        self.take_back(&path);
        let Path { nodes, loads, .. } = path;
        is_seated.then(|| nodes.iter().filter_map(|at| Some((*at, loads.get(at)?.clone()))).collect())
    }

    /// Gives the next member of a kind a seat on the first node that will do.
    fn seat_next(&mut self, kind: usize, path: &mut Path, budget: &mut Budget) -> bool {
        while path.open[kind].get(path.first[kind]) == Some(&false) {
            path.first[kind] += 1;
        }
        for place in path.first[kind]..path.nodes.len() {
            if !path.open[kind][place] {
                continue;
            }
            match self.offer(kind, path, path.nodes[place], budget) {
                Seating::Seat(devices) => {
                    self.take_seat(kind, path, path.nodes[place], devices);
                    return true;
                }
                Seating::Later(_) => {}
                Seating::Never(_) => path.open[kind][place] = false,
            }
        }
        false
    }

    /// What a node says to the next member of a kind.
    fn offer(&mut self, kind: usize, path: &Path, at: NodeIdx, budget: &mut Budget) -> Seating {
        if self.has_no_time(at, 1, budget) {
            return Seating::Never(None);
        }
        let member = &self.cast.kinds[kind][path.seated[kind] as usize].members[0];
        let (pod, settings) = (&member.pod, &self.profile.filters);
        let state = path.states.get(&at).unwrap_or_else(|| self.cycle.facts.nodes.get(at));
        let node = filters::node_of(state);
        let mounts = self.rules.as_ref().and_then(|rules| rules.mounts(kind));
        let use_of_node = filters::usage(&pod.shape, state, settings).and_then(|()| match mounts {
            Some(mounts) => mounts.check_use(state, &self.cycle.facts.volumes),
            None => Ok(()),
        });
        if let Err(refusal) = use_of_node {
            return Seating::Never(Some(refusal));
        }
        let rest = match &self.rules {
            None => {
                let who = (&*pod.uid, pod.priority);
                self.cycle.check_beside_nominees(&pod.shape, who, state, Beside::Nothing, (settings, None))
            }
            Some(rules) => {
                if let Err(refusal) = rules.around(kind).check_apart(node) {
                    return Seating::Never(Some(refusal));
                }
                rules.check(self.cycle, kind, state, self.profile)
            }
        };
        if let Err(refusal) = rest {
            return Seating::Later(refusal);
        }
        if !member.claims.need_devices() && member.follows.is_empty() && member.claims.footing.is_none() {
            return Seating::Seat(None);
        }
        let mut state = state.clone();
        let need = Need { at, members: vec![member] };
        let before: Vec<&NodeDevices> = path.devices.iter().collect();
        let found = self.cycle.devices_beside(&before, &need, &Default::default(), budget);
        let JointDevices::Found(mut found) = found else { return Seating::Never(None) };
        let devices = found.pop().expect("devices were found for the node");
        match self.cycle.check_footings(&mut state, &need, &devices) {
            Ok(()) => Seating::Seat(Some(devices)),
            Err(_) => Seating::Never(None),
        }
    }

    fn take_seat(&mut self, kind: usize, path: &mut Path, at: NodeIdx, devices: Option<NodeDevices>) {
        let member = &self.cast.kinds[kind][path.seated[kind] as usize].members[0];
        let kinds = self.cast.kinds.len();
        let state = path.states.entry(at).or_insert_with(|| self.cycle.facts.nodes.get(at).clone());
        if let Some(rules) = &mut self.rules {
            rules.count(kind, filters::node_of(state), true);
        }
        match devices {
            None => state.put(member.pod.clone()),
            Some(devices) => {
                let need = Need { at, members: vec![member] };
                let fits = self.cycle.check_footings(state, &need, &devices);
                assert!(fits.is_ok(), "a node has room for a member that it was just found to have room for");
                self.cycle.facts.take(&devices.held);
                path.devices.push(devices);
            }
        }
        let load = path.loads.entry(at).or_insert_with(|| Load::none(kinds));
        load.set(kind, load.get(kind) + 1);
        path.seated[kind] += 1;
    }

    fn take_back(&mut self, path: &Path) {
        path.devices.iter().rev().for_each(|devices| self.cycle.facts.give_back(&devices.held));
        let Some(rules) = &mut self.rules else { return };
        for (at, load) in &path.loads {
            let node = filters::node_of(self.cycle.facts.nodes.get(*at));
            for (kind, count) in load.present() {
                (0..count).for_each(|_| rules.count(kind, node, false));
            }
        }
    }

    /// Why the next member has no seat: nodes by reason.
    fn stopped_by(&mut self, path: &mut Path, budget: &mut Budget) -> Option<NextMember> {
        let kinds = self.cast.kinds.iter().enumerate();
        let (kind, bundles) =
            kinds.into_iter().find(|(kind, bundles)| (path.seated[*kind] as usize) < bundles.len())?;
        let pod = bundles[path.seated[kind] as usize].members[0].pod.id.name.clone();
        let mut reasons: BTreeMap<Reason, usize> = BTreeMap::new();
        let mut keys: BTreeMap<Reason, BTreeSet<Arc<str>>> = BTreeMap::new();
        let near = self.rules.as_ref().map_or_else(Vec::new, |rules| rules.around(kind).near_keys());
        let near: Vec<Arc<str>> = near.into_iter().cloned().collect();
        let mut count = |reason: Reason| *reasons.entry(reason).or_default() += 1;
        let mut note = |refusal: &NodeRefusal| {
            refusal.each_reason(&mut count);
            let near: &[Arc<str>] = if *refusal == NodeRefusal::NotNear { &near } else { &[] };
            let of_rule: Vec<Arc<str>> = refusal.key().into_iter().chain(near).cloned().collect();
            if !of_rule.is_empty() {
                keys.entry(refusal.reason()).or_default().extend(of_rule);
            }
        };
        let mut deviceless = 0;
        for place in 0..path.nodes.len() {
            let at = path.nodes[place];
            match self.is_fit(kind, at) {
                Err(refusal) => note(&refusal),
                Ok(()) => match self.offer(kind, path, at, budget) {
                    // Budgets end, and a seat was not looked for any more.
                    Seating::Seat(_) => {}
                    Seating::Later(refusal) | Seating::Never(Some(refusal)) => note(&refusal),
                    Seating::Never(None) => deviceless += 1,
                },
            }
        }
        if deviceless > 0 {
            *reasons.entry(DeviceReason::Insufficient.into()).or_default() += deviceless;
        }
        // If the work is spent, not all of this was found out.
        let is_known = !self.cycle.caches.work.is_spent() && !reasons.is_empty();
        is_known.then_some(NextMember { pod, reasons, keys })
    }

    /// Whether a node as such will do for a kind, and what is wrong with it.
    fn is_fit(&self, kind: usize, at: NodeIdx) -> Result<(), NodeRefusal> {
        let (shape, settings) = (&self.cast.kinds[kind][0].members[0].pod.shape, &self.profile.filters);
        let state = self.cycle.facts.nodes.get(at);
        let node = filters::node_of(state);
        filters::anywhere(shape, settings)?;
        filters::fixed(shape, node, settings)?;
        match self.rules.as_ref().and_then(|rules| rules.mounts(kind)) {
            Some(mounts) => mounts.check(state, &self.cycle.facts.volumes),
            None => Ok(()),
        }
    }
}
