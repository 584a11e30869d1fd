//! What members on one node mean for members on another, while seats are looked for: rules about pods, devices that several
//! nodes reach, claims that members share.
//!
//! Loads are assumed node by node. A load is refused at once if a member must be apart from others, or if there are no devices
//! for all, as nothing that follows could change that. Whether all can be there by rules for which the order of members matters
//! is found out in the end.
//!
//! Invariant: rules and devices are those of the loads that are assumed.

use cluster::nodes::NodeIdx;
use placement::{Budget, Load, Verdict};

use crate::filters;
use crate::gang::search::joint_devices::{JointDevices, needs};
use crate::gang::search::order;
use crate::gang::search::view::ClusterView;

impl ClusterView<'_, '_> {
    /// Goes on as if a load were on a node.
    pub(crate) fn assume_load(&mut self, at: NodeIdx, load: &Load, budget: &mut Budget) -> Verdict {
        let node = self.cycle.facts.nodes.get(at).node.clone().expect("only nodes that exist are looked at");
        if self.rules.as_mut().is_some_and(|rules| !rules.add(self.cycle, at, &node, load)) {
            return Verdict::No;
        }
        // With more to look at, a step takes longer.
        budget.spend(self.rules.as_ref().map_or(0, |rules| rules.spread_out() as u64 / 4));
        let seated: u32 = self.assumed.seated.iter().sum::<u32>() + load.total();
        if self.has_no_time(at, seated, budget) {
            self.forget_rules(at, load);
            return Verdict::Unknown;
        }
        self.assumed.loads.push((at, load.clone()));
        load.present().for_each(|(kind, count)| self.assumed.seated[kind] += count);
        let verdict = match self.is_hopeless() {
            true => Verdict::No,
            false if self.assumed.devices_cross => self.find_devices_for_last(budget),
            false => Verdict::Yes,
        };
        if verdict != Verdict::Yes {
            self.forget_last();
        }
        verdict
    }

    /// Takes the last load back.
    pub(crate) fn revert_load(&mut self) {
        self.assumed.devices.truncate(self.assumed.loads.len().saturating_sub(1));
        self.forget_last();
    }

    fn forget_last(&mut self) {
        let (at, load) = self.assumed.loads.pop().expect("there is a load to take back");
        load.present().for_each(|(kind, count)| self.assumed.seated[kind] -= count);
        self.forget_rules(at, &load);
    }

    fn forget_rules(&mut self, at: NodeIdx, load: &Load) {
        if let Some(rules) = &mut self.rules {
            rules.remove(at, filters::node_of(self.cycle.facts.nodes.get(at)), load);
        }
    }

    /// Whether a member can never be where it is, whichever others come besides.
    fn is_hopeless(&self) -> bool {
        let Some(rules) = self.rules.as_ref().filter(|rules| rules.have_order()) else { return false };
        let (seated, kinds) = (&self.assumed.seated, &self.cast.kinds);
        let left: Vec<u32> =
            kinds.iter().zip(seated).map(|(kind, seated)| kind.len() as u32 - seated).collect();
        rules.are_hopeless(self.cycle, &left)
    }

    /// Devices for the load that was assumed last, with other ones for those before if need be.
    fn find_devices_for_last(&mut self, budget: &mut Budget) -> Verdict {
        let cast = self.cast;
        let needs = needs(cast, &self.assumed.loads);
        let last = needs.last().expect("a load was assumed");
        if let Some(devices) = self.cycle.devices_beside_others(&self.assumed.devices, last, budget) {
            self.assumed.devices.push(devices);
            return Verdict::Yes;
        }
        match self.cycle.devices_across_nodes(&needs, budget) {
            JointDevices::Found(devices) => {
                self.assumed.devices = devices;
                Verdict::Yes
            }
            JointDevices::Impossible => Verdict::No,
            JointDevices::Unknown => Verdict::Unknown,
        }
    }

    /// Whether members can come to their nodes one after the other.
    pub(crate) fn confirm_order(&mut self, budget: &mut Budget) -> Verdict {
        let ClusterView { cycle, rules, assumed, profile, .. } = self;
        let Some(rules) = rules.as_mut().filter(|rules| rules.have_order()) else { return Verdict::Yes };
        let count_all = |rules: &mut crate::gang::search::rules::Rules, comes: bool| {
            for (at, load) in &assumed.loads {
                let node = filters::node_of(cycle.facts.nodes.get(*at));
                for (kind, count) in load.present() {
                    (0..count).for_each(|_| rules.count(kind, node, comes));
                }
            }
        };
        count_all(rules, false);
        let verdict = order::find(cycle, rules, &assumed.loads, profile, budget);
        count_all(rules, true);
        verdict
    }
}
