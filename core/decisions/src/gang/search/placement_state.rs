//! What the search for a placement asks about the cluster.

use cluster::nodes::NodeIdx;
use model::pod::Resources;
use placement::{Amounts, Budget, Likeness, Load, PlacementState, Verdict, Walk};

use crate::filters;
use crate::gang::search::joint_devices::{JointDevices, Need};
use crate::gang::search::node_devices::{DEVICE_STEPS, Devices};
use crate::gang::search::rules::Rules;
use crate::gang::search::view::ClusterView;
use crate::values::gang_reason::NextMember;

impl PlacementState for ClusterView<'_, '_> {
    type Stop = NextMember;

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
        let ClusterView { cycle, cast, .. } = self;
        let shared = self.shared.entry(nodes).or_insert_with_key(|nodes| {
            let (devices, by_axis) = cycle.shared_amounts(nodes, &cast.axes);
            cast.amounts(&Resources::default(), 0, devices, &by_axis)
        });
        shared.clone()
    }

    fn likeness(&mut self, node: NodeIdx) -> Likeness {
        let mut features: Vec<u64> = self.fixed(node).iter().map(|will_do| u64::from(*will_do)).collect();
        if !features.contains(&1) {
            // No member can be there, and that is all there is to say.
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
        let has_volumes = self.rules.as_ref().is_some_and(Rules::heed_what_is_on_nodes);
        // What devices take of a node is a matter of more than is compared here.
        let is_alone = has_ports || has_names || has_nominees || has_volumes || self.assumed.has_footings();
        let crosses = self.assumed.devices_cross();
        if is_alone || (crosses && !self.likenesses.reached(self.cycle, node, &mut features)) {
            features.push(u64::from(node.0));
        }
        // A claim that members share needs devices as well, whichever of them brings these.
        if self.cast.examples().any(|member| member.open().next().is_some()) {
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
        let there = filters::node_of(self.cycle.facts.nodes.get(node));
        let agree = |rules: &Rules| rules.agree(there, load) && rules.have_volumes(self.cycle, there, load);
        if !self.rules.as_ref().is_none_or(agree) {
            return Verdict::No;
        }
        let members = self.members(load);
        if !self.has_room(node, self.members_by_kind(load)) {
            return Verdict::No;
        }
        if self.assumed.needs_joint_devices() {
            return match self.cycle.devices_across_nodes(&[Need { at: node, members }], budget) {
                JointDevices::Found(_) => Verdict::Yes,
                JointDevices::Impossible => Verdict::No,
                JointDevices::Unknown => Verdict::Unknown,
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
        self.assumed.devices_cross() || self.rules.as_ref().is_some_and(Rules::cross)
    }

    fn group(&mut self, node: NodeIdx) -> u32 {
        self.group_of(node)
    }

    fn most(&mut self, rooms: &[(NodeIdx, Load)]) -> Load {
        let by_rules = self.rules.as_ref().map(|rules| rules.most(self.cycle, rooms));
        let by_pools = self.assumed.devices_cross().then(|| self.most_by_pools(rooms));
        let counts = |most: &Load| most.counts().to_vec();
        match (by_rules, by_pools) {
            (Some(most), None) | (None, Some(most)) => most,
            (Some(one), Some(other)) => {
                let both = counts(&one).into_iter().zip(counts(&other));
                Load::new(both.map(|(one, other)| one.min(other)).collect::<Vec<_>>())
            }
            (None, None) => {
                let mut most = Load::none(self.cast.kinds.len());
                rooms.iter().for_each(|(_, room)| most.add(room));
                most
            }
        }
    }

    fn walk(&mut self, nodes: &[NodeIdx], budget: &mut Budget) -> Walk<NextMember> {
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
        let rules = self.rules.as_ref().filter(|_| !self.assumed.devices_cross())?;
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
