//! What members on one node mean for members on another, while seats are looked for: rules about pods, devices that several
//! nodes reach, claims that members share.
//!
//! Loads are assumed node by node. A load is refused at once if somebody must be apart from others, or if there are no devices
//! for all, as nothing that follows could change that. Whether all can be there by rules for which it matters who comes first
//! is found out in the end.
//!
//! Invariant: rules and devices are those of the loads that are assumed.

use std::collections::VecDeque;

use cluster::nodes::NodeIdx;
use placement::{Budget, Load, Placement, Verdict};

use super::cast::{Cast, Member, Unit};
use super::ground::Ground;
use super::joint::{Need, Plan, Step};
use super::order;
use super::seek::{Seated, seat};
use crate::cycle::Cycle;
use crate::filters;

/// How many steps it may take to find the devices again that seats were found with.
const STEPS_MAX: u64 = 2_000_000;

/// What is assumed of members.
#[derive(Debug)]
pub(super) struct Across {
    /// Whether devices of members on one node can be in the way of those on another.
    devices_cross: bool,
    /// Whether devices have to be planned for other reasons: they take of the node.
    has_footings: bool,
    loads: Vec<(NodeIdx, Load)>,
    /// How many of each kind are assumed.
    seated: Vec<u32>,
    /// The devices of each load that is assumed, if they cross nodes.
    plan: Vec<Step>,
}

impl Across {
    pub fn new(cycle: &Cycle<'_>, cast: &Cast) -> Across {
        let follows = cast.is_apart && cast.examples().any(|member| !member.follows.is_empty());
        let mut examples = cast.examples();
        let is_shared = cast.is_apart && examples.any(|member| cycle.may_share_with_others(member));
        Across {
            devices_cross: follows || is_shared,
            has_footings: cast.is_apart && cast.examples().any(|member| member.claims.footing.is_some()),
            loads: Vec::new(),
            seated: vec![0; cast.kinds.len()],
            plan: Vec::new(),
        }
    }

    /// Whether devices of members on one node can be in the way of those on another.
    pub fn devices_cross(&self) -> bool {
        self.devices_cross
    }

    /// Whether devices have to be planned.
    pub fn plans(&self) -> bool {
        self.devices_cross || self.has_footings
    }
}

impl Ground<'_, '_> {
    /// Goes on as if a load were on a node.
    pub(super) fn assume_load(&mut self, at: NodeIdx, load: &Load, budget: &mut Budget) -> Verdict {
        let node = self.cycle.facts.nodes.get(at).node.clone().expect("only nodes that exist are looked at");
        if self.rules.as_mut().is_some_and(|rules| !rules.add(at, &node, load)) {
            return Verdict::No;
        }
        // With more to look at, a step takes longer.
        budget.spend(self.rules.as_ref().map_or(0, |rules| rules.spread_out() as u64 / 4));
        let seated: u32 = self.across.seated.iter().sum::<u32>() + load.total();
        if self.has_no_time(at, seated, budget) {
            self.forget_rules(at, load);
            return Verdict::Unknown;
        }
        self.across.loads.push((at, load.clone()));
        load.present().for_each(|(kind, count)| self.across.seated[kind] += count);
        let verdict = match self.is_hopeless() {
            true => Verdict::No,
            false if self.across.devices_cross => self.plan_last(budget),
            false => Verdict::Yes,
        };
        if verdict != Verdict::Yes {
            self.forget_last();
        }
        verdict
    }

    /// Takes the last load back.
    pub(super) fn revert_load(&mut self) {
        self.across.plan.truncate(self.across.loads.len().saturating_sub(1));
        self.forget_last();
    }

    fn forget_last(&mut self) {
        let (at, load) = self.across.loads.pop().expect("there is a load to take back");
        load.present().for_each(|(kind, count)| self.across.seated[kind] -= count);
        self.forget_rules(at, &load);
    }

    fn forget_rules(&mut self, at: NodeIdx, load: &Load) {
        if let Some(rules) = &mut self.rules {
            rules.remove(at, filters::node_of(self.cycle.facts.nodes.get(at)), load);
        }
    }

    /// Whether somebody can never be where it is, whoever comes besides.
    fn is_hopeless(&self) -> bool {
        let Some(rules) = self.rules.as_ref().filter(|rules| rules.have_order()) else { return false };
        let (seated, kinds) = (&self.across.seated, &self.cast.kinds);
        let left: Vec<u32> =
            kinds.iter().zip(seated).map(|(kind, seated)| kind.len() as u32 - seated).collect();
        rules.are_hopeless(self.cycle, &left)
    }

    /// Devices for the load that was assumed last, with other ones for those before if need be.
    fn plan_last(&mut self, budget: &mut Budget) -> Verdict {
        let cast = self.cast;
        let needs = needs(cast, &self.across.loads);
        let last = needs.last().expect("a load was assumed");
        if let Some(step) = self.cycle.plan_beside(&self.across.plan, last, budget) {
            self.across.plan.push(step);
            return Verdict::Yes;
        }
        match self.cycle.plan_devices(&needs, budget) {
            Plan::Found(plan) => {
                self.across.plan = plan;
                Verdict::Yes
            }
            Plan::Impossible => Verdict::No,
            Plan::Unknown => Verdict::Unknown,
        }
    }

    /// Whether members can come to their nodes one after the other.
    pub(super) fn confirm_order(&mut self, budget: &mut Budget) -> Verdict {
        let Ground { cycle, rules, across, profile, .. } = self;
        let Some(rules) = rules.as_mut().filter(|rules| rules.have_order()) else { return Verdict::Yes };
        let count_all = |rules: &mut super::rules::Rules, comes: bool| {
            for (at, load) in &across.loads {
                let node = filters::node_of(cycle.facts.nodes.get(*at));
                for (kind, count) in load.present() {
                    (0..count).for_each(|_| rules.count(kind, node, comes));
                }
            }
        };
        count_all(rules, false);
        let verdict = order::find(cycle, rules, &across.loads, profile, budget);
        count_all(rules, true);
        verdict
    }
}

/// The members that loads are for, each once.
pub(super) fn needs<'c>(cast: &'c Cast, loads: &[(NodeIdx, Load)]) -> Vec<Need<'c>> {
    let mut left: Vec<VecDeque<&Unit>> = cast.kinds.iter().map(|kind| kind.iter().collect()).collect();
    let mut need = |(at, load): &(NodeIdx, Load)| {
        let units = load
            .present()
            .flat_map(|(kind, count)| left[kind].drain(..count as usize).collect::<Vec<_>>())
            .collect::<Vec<_>>();
        Need { at: *at, members: units.into_iter().flat_map(|unit| &unit.members).collect() }
    };
    loads.iter().map(&mut need).collect()
}

impl Cycle<'_> {
    /// Gives the seats of a placement to members that are each by themselves. The first that has a claim which others share
    /// brings its devices, and the others follow.
    pub(super) fn hand_out_apart(&mut self, cast: &Cast, placement: &Placement) -> Result<Seated, String> {
        let loads: Vec<(NodeIdx, Load)> =
            placement.seats.iter().map(|seats| (seats.node, seats.load.clone())).collect();
        let needs = needs(cast, &loads);
        let kept = self.caches.work.begin_hand_out();
        let plan = self.plan_devices(&needs, &mut Budget::new(STEPS_MAX));
        self.caches.work.end_hand_out(kept);
        let Plan::Found(steps) = plan else {
            return Err("devices that were found for members are none for others like them".to_owned());
        };
        let mut seated = Vec::new();
        for (need, Step { own, mut shared, .. }) in needs.iter().zip(steps) {
            let node = filters::node_of(self.facts.nodes.get(need.at)).clone();
            for (member, mut allocations) in need.members.iter().zip(own) {
                let mut member = Member::clone(member);
                let is_followed = |id| member.follows.iter().any(|state| state.wish.id == id);
                let (brought, rest): (Vec<_>, Vec<_>) =
                    shared.into_iter().partition(|(state, _)| is_followed(state.wish.id.clone()));
                shared = rest;
                for (state, allocation) in brought {
                    member.follows.retain(|known| known.wish.id != state.wish.id);
                    // What has yet to be made comes last.
                    allocations.insert(member.claims.open.len(), allocation);
                    member.claims.open.push(state);
                }
                seated.push((member.pod.clone(), seat(&member, &node, allocations)));
            }
        }
        Ok(seated)
    }
}
