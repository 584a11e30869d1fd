//! The cluster as a gang sees it: which node takes how many members of which kinds, with devices for all of them.
//!
//! Invariant: nothing is changed here but what was learnt about expressions.

use std::sync::Arc;

use allocation::Answer;
use cluster::nodes::{NodeIdx, NodeState};
use model::allocation::Allocation;
use model::claim::Claim;
use model::node::Node;
use model::pod::Resources;
use placement::{Amounts, Budget, Likeness, Load, PlacementState, Verdict, Walk};
use rustc_hash::FxHashMap;

use super::across::Across;
use super::cast::{Cast, Member, Unit};
use super::joint::{Need, Plan};
use super::likeness::Likenesses;
use super::rules::Rules;
use crate::cycle::Cycle;
use crate::extended::wish_on;
use crate::profile::Profile;
use crate::{filters, work};

/// The step of a gang's search that as many steps of a search for devices stand for.
const DEVICE_STEPS: u64 = 64;

/// The cluster, for the members of a cast.
pub(super) struct Ground<'g, 'c> {
    pub cycle: &'g mut Cycle<'c>,
    pub cast: &'g Cast,
    pub profile: &'g Profile,
    pub likenesses: Likenesses,
    /// What members mean for each other, if there are rules.
    pub(super) rules: Option<Rules>,
    /// What is assumed of members, if something crosses nodes.
    pub(super) across: Across,
    /// Which kinds a node as such will do for, by node.
    fixed: FxHashMap<NodeIdx, Box<[bool]>>,
    /// What nodes have left.
    free: FxHashMap<NodeIdx, Amounts>,
    /// What nodes share, by all of these.
    shared: FxHashMap<Vec<NodeIdx>, Amounts>,
}

impl<'g, 'c> Ground<'g, 'c> {
    pub fn new(cycle: &'g mut Cycle<'c>, cast: &'g Cast, profile: &'g Profile) -> Ground<'g, 'c> {
        let likenesses = Likenesses::new(cast, &cycle.facts.classes);
        let rules = if cast.is_local { None } else { Rules::new(cycle, cast, profile) };
        let across = Across::new(cycle, cast);
        let (fixed, free, shared) = Default::default();
        Ground { cycle, cast, profile, likenesses, rules, across, fixed, free, shared }
    }

    /// Which kinds a node will do for, whatever becomes of members.
    pub(super) fn fixed(&mut self, at: NodeIdx) -> &[bool] {
        let Ground { cycle, cast, profile, rules, .. } = self;
        self.fixed.entry(at).or_insert_with(|| {
            let node = filters::node_of(cycle.facts.nodes.get(at));
            let will_do = |member: &Member| {
                let (shape, claims) = (&member.pod.shape, &member.claims);
                member.within.as_ref().is_none_or(|nodes| nodes.contains(&at))
                    && filters::anywhere(shape, &profile.filters).is_ok()
                    && filters::fixed(shape, node, &profile.filters).is_ok()
                    && claims.settled.iter().all(|state| state.is_usable_on(node))
                    && claims.pending.iter().all(|pending| pending.refuses(node).is_none())
            };
            let admits = |(kind, units): (usize, &Vec<Unit>)| {
                let admit = |rules: &Rules| rules.admit(cycle, kind, &units[0].members[0], at, profile);
                units[0].members.iter().all(will_do) && rules.as_ref().is_none_or(admit)
            };
            cast.kinds.iter().enumerate().map(admits).collect()
        })
    }

    /// Members of a load: of each kind the first that are there.
    fn members(&self, load: &Load) -> Vec<&'g Member> {
        let cast = self.cast;
        let units = load.present().flat_map(|(kind, count)| &cast.kinds[kind][..count as usize]);
        units.flat_map(|unit| &unit.members).collect()
    }

    /// Whether what a node has left will do for all of these.
    pub fn has_room(&self, node: NodeIdx, members: &[&Member]) -> bool {
        let mut state = self.cycle.facts.nodes.get(node).clone();
        members.iter().all(|member| {
            let (pod, settings) = (&member.pod, &self.profile.filters);
            let fits = filters::usage(&pod.shape, &state, settings).and_then(|()| {
                let who = (&*pod.uid, pod.priority);
                self.cycle.check_beside_nominees(&pod.shape, who, &state, None, settings)
            });
            state.put(pod.clone());
            fits.is_ok()
        })
    }

    /// Counts what it is to look at so many members on a node, and ends the search if there is too much to do.
    pub(super) fn has_no_time(&mut self, node: NodeIdx, members: u32, budget: &mut Budget) -> bool {
        let pods = self.cycle.facts.nodes.get(node).pods.len() as u64 + 2 * u64::from(members);
        self.cycle.caches.work.spend(work::STATE + pods * work::POD);
        if self.cycle.caches.work.is_spent() {
            budget.end();
        }
        self.cycle.caches.work.is_spent()
    }

    /// How many devices are free at the most that only this node reaches.
    fn free_devices(&self, node: &Node) -> u64 {
        let slices = self.cycle.facts.slices.of_node(&node.name);
        slices.map(|published| self.cycle.free_in(published, |_, _| true)).fold(0, u64::saturating_add)
    }
}

impl Ground<'_, '_> {
    /// What a node has left, counted anew.
    fn count_free(&mut self, at: NodeIdx) -> Amounts {
        let name = filters::node_of(self.cycle.facts.nodes.get(at)).name.clone();
        let by_axis = self.cycle.device_amounts(&name, &self.cast.axes);
        let state = self.cycle.facts.nodes.get(at);
        let node = filters::node_of(state);
        let mut left = node.allocatable.clone();
        left.add(&state.used, -1);
        let pods = node.pods_max.saturating_sub(state.pods.len() as i64);
        let needs_devices = self.cast.examples().any(|member| member.claims.need_devices());
        let devices = if needs_devices { self.free_devices(node) } else { 0 };
        let mut free = self.cast.amounts(&left, u64::try_from(pods).unwrap_or(0), devices, &by_axis);
        for (axis, name) in self.cast.others.iter().enumerate() {
            // Devices may stand for it, or it may be ignored: how much there is says nothing.
            if self.profile.filters.device_resources.contains(name) || !is_counted(name, self.profile) {
                free.0[5 + axis] = u64::MAX;
            }
        }
        free
    }
}

impl PlacementState for Ground<'_, '_> {
    fn free(&mut self, at: NodeIdx) -> Amounts {
        if let Some(known) = self.free.get(&at) {
            return known.clone();
        }
        let free = self.count_free(at);
        self.free.insert(at, free.clone());
        free
    }

    fn shared(&mut self, nodes: &[NodeIdx]) -> Amounts {
        if self.cast.axes.is_empty() || !self.cycle.facts.slices.has_shared() {
            return Amounts::default();
        }
        let mut nodes = nodes.to_vec();
        nodes.sort_unstable();
        let Ground { cycle, cast, .. } = self;
        let shared = self.shared.entry(nodes).or_insert_with_key(|nodes| {
            let (devices, by_axis) = cycle.shared_amounts(nodes, &cast.axes);
            cast.amounts(&Resources::default(), 0, devices, &by_axis)
        });
        shared.clone()
    }

    fn likeness(&mut self, node: NodeIdx) -> Likeness {
        let mut features: Vec<u64> = self.fixed(node).iter().map(|will_do| u64::from(*will_do)).collect();
        if !features.contains(&1) {
            // Nobody can be there, and that is all there is to say.
            return self.likenesses.of(Vec::new());
        }
        features.extend(self.free(node).0);
        if let Some(rules) = &self.rules {
            features.extend(rules.places(filters::node_of(self.cycle.facts.nodes.get(node))));
        }
        let has_ports = self.cast.examples().any(|member| !member.pod.shape.ports.is_empty());
        let has_names = self.cast.examples().any(|member| member.claims.named.is_some());
        let name = &filters::node_of(self.cycle.facts.nodes.get(node)).name;
        let has_nominees = self.cycle.plans.nominations.on(name).next().is_some();
        if has_ports || has_names || has_nominees || self.across.plans() {
            features.push(u64::from(node.0));
        }
        if self.cast.examples().any(|member| !member.claims.open.is_empty()) {
            self.likenesses.devices(self.cycle, node, &mut features);
        }
        self.likenesses.of(features)
    }

    fn tried(&mut self, fits: bool) {
        self.cycle.tried.count(fits);
    }

    fn takes(&mut self, node: NodeIdx, load: &Load, budget: &mut Budget) -> Verdict {
        if self.has_no_time(node, load.total(), budget) {
            return Verdict::Unknown;
        }
        let fixed = self.fixed(node);
        if load.present().any(|(kind, _)| !fixed[kind]) {
            return Verdict::No;
        }
        let agree = |rules: &Rules| rules.agree(filters::node_of(self.cycle.facts.nodes.get(node)), load);
        if !self.rules.as_ref().is_none_or(agree) {
            return Verdict::No;
        }
        let members = self.members(load);
        if !self.has_room(node, &members) {
            return Verdict::No;
        }
        if self.across.plans() {
            return match self.cycle.plan_devices(&[Need { at: node, members }], budget) {
                Plan::Found(_) => Verdict::Yes,
                Plan::Impossible => Verdict::No,
                Plan::Unknown => Verdict::Unknown,
            };
        }
        match self.cycle.devices_for(node, &members) {
            Devices::Found(_, steps) => {
                budget.spend(steps / DEVICE_STEPS);
                Verdict::Yes
            }
            Devices::Impossible(steps) => {
                budget.spend(steps / DEVICE_STEPS);
                Verdict::No
            }
            Devices::Unknown => Verdict::Unknown,
        }
    }

    fn crosses_nodes(&self) -> bool {
        self.across.devices_cross() || self.rules.as_ref().is_some_and(Rules::cross)
    }

    fn group(&mut self, node: NodeIdx) -> u32 {
        let cycle = &self.cycle;
        self.rules
            .as_mut()
            .map_or(0, |rules| rules.group(node, filters::node_of(cycle.facts.nodes.get(node))))
    }

    fn most(&mut self, rooms: &[(NodeIdx, Load)]) -> Load {
        let mut most = Load::none(self.cast.kinds.len());
        match &self.rules {
            Some(rules) => rules.most(self.cycle, rooms),
            None => {
                rooms.iter().for_each(|(_, room)| most.add(room));
                most
            }
        }
    }

    fn walk(&mut self, nodes: &[NodeIdx], budget: &mut Budget) -> Walk {
        self.walk_over(nodes, budget)
    }

    fn begin(&mut self, nodes: &[NodeIdx]) {
        let cycle = &self.cycle;
        let node = |at: &NodeIdx| (*at, &**filters::node_of(cycle.facts.nodes.get(*at)));
        if let Some(rules) = &mut self.rules {
            rules.begin(&nodes.iter().map(node).collect::<Vec<_>>());
        }
    }

    fn gist(&mut self, from: usize) -> Option<Box<[u32]>> {
        let rules = self.rules.as_ref().filter(|_| !self.across.devices_cross())?;
        Some(rules.gist(from))
    }

    fn assume(&mut self, node: NodeIdx, load: &Load, budget: &mut Budget) -> Verdict {
        self.assume_load(node, load, budget)
    }

    fn revert(&mut self) {
        self.revert_load();
    }

    fn confirm(&mut self, budget: &mut Budget) -> Verdict {
        self.confirm_order(budget)
    }
}

/// Whether there must be enough of a resource on the node.
fn is_counted(name: &str, profile: &Profile) -> bool {
    let group = name.split_once('/').map_or("", |(group, _)| group);
    !profile.filters.ignored_resources.contains(name) && !profile.filters.ignored_groups.contains(group)
}

/// Devices for several members on one node.
#[derive(Debug)]
pub(super) enum Devices {
    /// For each member those of its claims, in order.
    Found(Vec<Vec<Allocation>>, u64),
    Impossible(u64),
    Unknown,
}

impl Cycle<'_> {
    /// Devices for the claims of all these members, chosen together.
    pub(super) fn devices_for(&mut self, at: NodeIdx, members: &[&Member]) -> Devices {
        let state: &NodeState = self.facts.nodes.get(at);
        let node: Arc<Node> = state.node.clone().expect("only nodes that exist are looked at");
        let mut made: Vec<Option<Claim>> = Vec::new();
        for member in members {
            let named = member.claims.named.as_ref();
            made.push(
                named.and_then(|shape| wish_on(&self.facts.resources, shape, &node)).map(|(wish, _)| wish),
            );
        }
        let wishes_of = |(member, made): (&&'_ Member, &'_ Option<Claim>)| {
            member.claims.open.len() + usize::from(made.is_some())
        };
        let counts: Vec<usize> = members.iter().zip(&made).map(wishes_of).collect();
        let mut wishes: Vec<&Claim> = Vec::new();
        for (member, made) in members.iter().zip(&made) {
            wishes.extend(member.claims.open.iter().map(|state| &*state.wish));
            wishes.extend(made.as_ref());
        }
        if wishes.is_empty() {
            return Devices::Found(vec![Vec::new(); members.len()], 0);
        }
        // What cannot be judged on this node is no seat; it may be judged elsewhere.
        let Ok(reply) = self.ask_for_devices(&node, &wishes) else { return Devices::Impossible(0) };
        match reply.answer {
            Answer::Impossible(_) => Devices::Impossible(reply.steps),
            Answer::BudgetSpent => Devices::Unknown,
            Answer::Allocated(found) => {
                let mut found = found.into_iter();
                let of_members =
                    counts.into_iter().map(|count| found.by_ref().take(count).collect()).collect();
                Devices::Found(of_members, reply.steps)
            }
        }
    }
}
