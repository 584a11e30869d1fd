//! The cluster as a gang sees it: which node takes how many members of which kinds, with devices for all of them.
//!
//! Invariant: nothing is changed here but what was learnt about expressions.

use cluster::nodes::NodeIdx;
use model::node::Node;
use placement::{Amounts, Budget, Load};
use rustc_hash::FxHashMap;

use crate::cycle::Cycle;
use crate::filters;
use crate::gang::members::cast::Cast;
use crate::gang::members::member::{Bundle, Member};
use crate::gang::search::assumed_loads::AssumedLoads;
use crate::gang::search::likeness::Likenesses;
use crate::gang::search::rules::Rules;
use crate::pod::Beside;
use crate::profile::Profile;
use crate::values::work;

/// The cluster, for the members of a cast.
pub(crate) struct ClusterView<'g, 'c> {
    pub cycle: &'g mut Cycle<'c>,
    pub cast: &'g Cast,
    pub profile: &'g Profile,
    pub likenesses: Likenesses,
    /// What members mean for each other, if there are rules.
    pub(crate) rules: Option<Rules>,
    /// What is assumed of members, if something crosses nodes.
    pub(crate) assumed: AssumedLoads,
    /// Which kinds a node as such will do for, by node.
    fixed: FxHashMap<NodeIdx, Box<[bool]>>,
    /// What nodes have left.
    pub(crate) free: FxHashMap<NodeIdx, Amounts>,
    /// What nodes share, by all of these.
    pub(crate) shared: FxHashMap<Vec<NodeIdx>, Amounts>,
}

impl<'g, 'c> ClusterView<'g, 'c> {
    pub fn new(cycle: &'g mut Cycle<'c>, cast: &'g Cast, profile: &'g Profile) -> ClusterView<'g, 'c> {
        let likenesses = Likenesses::new(cast, &cycle.facts.classes);
        let rules = if cast.is_local { None } else { Rules::new(cycle, cast, profile) };
        let assumed = AssumedLoads::new(cycle, cast);
        let (fixed, free, shared) = Default::default();
        ClusterView { cycle, cast, profile, likenesses, rules, assumed, fixed, free, shared }
    }

    /// Which kinds a node will do for, whatever becomes of members.
    pub(crate) fn fixed(&mut self, at: NodeIdx) -> &[bool] {
        let ClusterView { cycle, cast, profile, rules, .. } = self;
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
            let admits = |(kind, bundles): (usize, &Vec<Bundle>)| {
                let admit = |rules: &Rules| rules.admit(cycle, kind, &bundles[0].members[0], at, profile);
                bundles[0].members.iter().all(will_do) && rules.as_ref().is_none_or(admit)
            };
            cast.kinds.iter().enumerate().map(admits).collect()
        })
    }

    /// The number that all nodes have which rules do not tell apart.
    pub(crate) fn group_of(&mut self, at: NodeIdx) -> u32 {
        let node = filters::node_of(self.cycle.facts.nodes.get(at));
        self.rules.as_mut().map_or(0, |rules| rules.group(at, node))
    }

    /// Members of a load: of each kind the first that are there.
    pub(crate) fn members(&self, load: &Load) -> Vec<&'g Member> {
        let cast = self.cast;
        let bundles = load.present().flat_map(|(kind, count)| &cast.kinds[kind][..count as usize]);
        bundles.flat_map(|bundle| &bundle.members).collect()
    }

    /// The same with the kind of each.
    pub(crate) fn members_by_kind(&self, load: &Load) -> impl Iterator<Item = (usize, &'g Member)> + use<'g> {
        let cast = self.cast;
        let loads: Vec<(usize, u32)> = load.present().collect();
        loads.into_iter().flat_map(move |(kind, count)| {
            let bundles = &cast.kinds[kind][..count as usize];
            bundles.iter().flat_map(|bundle| &bundle.members).map(move |member| (kind, member))
        })
    }

    /// Whether what a node has left will do for all of these, of which the kinds are told.
    pub fn has_room<'m>(
        &self,
        node: NodeIdx,
        members: impl IntoIterator<Item = (usize, &'m Member)>,
    ) -> bool {
        let mut state = self.cycle.facts.nodes.get(node).clone();
        members.into_iter().all(|(kind, member)| {
            let (pod, settings) = (&member.pod, &self.profile.filters);
            let fits = filters::usage(&pod.shape, &state, settings)
                .and_then(|()| match self.rules.as_ref().and_then(|rules| rules.mounts(kind)) {
                    Some(mounts) => mounts.check_use(&state, &self.cycle.facts.volumes),
                    None => Ok(()),
                })
                .and_then(|()| {
                    let who = (&*pod.uid, pod.priority);
                    self.cycle.check_beside_nominees(
                        &pod.shape,
                        who,
                        &state,
                        Beside::Nothing,
                        (settings, None),
                    )
                });
            state.put(pod.clone());
            fits.is_ok()
        })
    }

    /// Counts what it is to look at so many members on a node, and ends the search if there is too much to do.
    pub(crate) fn has_no_time(&mut self, node: NodeIdx, members: u32, budget: &mut Budget) -> bool {
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

impl ClusterView<'_, '_> {
    /// What a node has left, counted anew.
    pub(crate) fn count_free(&mut self, at: NodeIdx) -> Amounts {
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

/// Whether there must be enough of a resource on the node.
pub(crate) fn is_counted(name: &str, profile: &Profile) -> bool {
    let group = name.split_once('/').map_or("", |(group, _)| group);
    !profile.filters.ignored_resources.contains(name) && !profile.filters.ignored_groups.contains(group)
}
