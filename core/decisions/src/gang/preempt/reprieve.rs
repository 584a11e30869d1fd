//! Pods of a domain that may stay after all, the most important first, and before all others those that a disruption budget would
//! keep.
//!
//! They are put back, and seats for the gang are looked for again: many at once, and only if that fails in halves, so that the number
//! of searches grows with the number of pods that have to go. What is left open at the bound is decided by the seats that were found
//! last: a pod that is not in their way stays. So the bound can cost a pod its place, but never lets one go for nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use cluster::nodes::NodeIdx;
use model::identity::PodUid;
use model::timestamp::Timestamp;
use placement::Domain;

use crate::cycle::Cycle;
use crate::filters;
use crate::gang::answer::seats::Seated;
use crate::gang::party::Party;
use crate::gang::preempt::bounds::STEPS_MAX;
use crate::gang::preempt::candidate::{Cost, GangCandidate, Going, cost};
use crate::gang::search::node_devices::Devices;
use crate::gang::search::view::ClusterView;
use crate::preempt::{Absence, Unit, broken, harm, pods_of};

/// A domain in which it is found out which pods may stay.
struct Reprieve<'a> {
    party: Party<'a>,
    domain: &'a Domain,
    at_least: u32,
    absence: Absence,
    /// Seats that there are as things are thought to be.
    seated: Seated,
    /// How many more searches there may be.
    searches: usize,
    /// The units that cannot stay.
    victims: Vec<Unit>,
    /// What was not found out.
    open: Vec<Unit>,
}

impl Cycle<'_> {
    /// Lets as many stay as can in one domain.
    pub(crate) fn reprieve_in(
        &mut self,
        now: Timestamp,
        (party, domain, at_least): (Party<'_>, &Domain, u32),
        units: Vec<Unit>,
        (going, searches): (&Going, usize),
    ) -> Option<(Cost, GangCandidate)> {
        let mut absence = self.without(party, going);
        units.iter().for_each(|unit| self.depart(&mut absence, unit));
        let seated = self.find_party_seats(party, std::slice::from_ref(domain), at_least, STEPS_MAX);
        let Ok((_, seated)) = seated else {
            self.end_absence(&absence);
            return None;
        };
        let mut reprieve = Reprieve {
            party,
            domain,
            at_least,
            absence,
            seated,
            searches,
            victims: Vec::new(),
            open: Vec::new(),
        };
        let (kept, others): (Vec<_>, Vec<_>) =
            self.with_violations(units).into_iter().partition(|(_, violations)| *violations > 0);
        let against: BTreeMap<PodUid, usize> =
            kept.iter().map(|(unit, count)| (unit.pods[0].uid.clone(), *count)).collect();
        let order: Vec<Unit> = kept.into_iter().chain(others).map(|(unit, _)| unit).collect();
        // With all of them there the gang was refused a moment ago.
        self.spare(&mut reprieve, order, true);
        let is_decided = self.decide_by_seats(&mut reprieve);
        let Reprieve { absence, seated, mut victims, .. } = reprieve;
        let (gone, freeing) = (absence.gone(), absence.freeing());
        self.end_absence(&absence);
        if !is_decided {
            return None;
        }
        victims.sort_by_key(|unit| Reverse(unit.importance));
        let violations = victims.iter().filter_map(|unit| against.get(&unit.pods[0].uid)).sum();
        let pods: Vec<_> = pods_of(&victims).cloned().collect();
        let cost = cost(harm(&pods, (violations, broken(&victims)), now), domain);
        Some((cost, GangCandidate { domain: domain.name.clone(), seated, victims, gone, freeing }))
    }

    /// Thinks units back, all at once if the gang has seats then, and otherwise one half after the other.
    fn spare(&mut self, reprieve: &mut Reprieve<'_>, mut units: Vec<Unit>, is_too_many: bool) {
        if units.is_empty() {
            return;
        }
        if !is_too_many || units.len() == 1 {
            if reprieve.searches == 0 {
                reprieve.open.append(&mut units);
                return;
            }
            reprieve.searches -= 1;
            units.iter().for_each(|unit| self.come_back(&mut reprieve.absence, unit));
            let alone = std::slice::from_ref(reprieve.domain);
            let found = self.find_party_seats(reprieve.party, alone, reprieve.at_least, STEPS_MAX);
            if let Ok((_, seated)) = found {
                reprieve.seated = seated;
                return;
            }
            units.iter().for_each(|unit| self.depart(&mut reprieve.absence, unit));
            if units.len() == 1 {
                reprieve.victims.append(&mut units);
                return;
            }
        }
        let rest = units.split_off(units.len() / 2);
        let before = reprieve.victims.len() + reprieve.open.len();
        self.spare(reprieve, units, false);
        // If all of the first half stay, the second is too many as both were.
        let is_too_many = reprieve.victims.len() + reprieve.open.len() == before;
        self.spare(reprieve, rest, is_too_many);
    }

    /// Lets the units stay of which it was not found out, if they are not in the way of the seats that were found last; says
    /// whether that could be decided.
    fn decide_by_seats(&mut self, reprieve: &mut Reprieve<'_>) -> bool {
        let open = std::mem::take(&mut reprieve.open);
        if open.is_empty() {
            return true;
        }
        let mut seats: BTreeMap<NodeIdx, BTreeSet<PodUid>> = BTreeMap::new();
        for (pod, choice) in &reprieve.seated {
            if let Some(at) = self.facts.nodes.find(&choice.node) {
                seats.entry(at).or_default().insert(pod.uid.clone());
            }
        }
        let place = |cycle: &Cycle<'_>, unit: &Unit| -> BTreeSet<NodeIdx> {
            unit.pods.iter().filter_map(|pod| cycle.places_before(&reprieve.absence, &pod.uid)).collect()
        };
        let (beside, elsewhere): (Vec<_>, Vec<_>) = open
            .into_iter()
            .map(|unit| (place(self, &unit), unit))
            .partition(|(places, _)| places.iter().any(|at| seats.contains_key(at)));
        elsewhere.iter().for_each(|(_, unit)| self.come_back(&mut reprieve.absence, unit));
        if !reprieve.party.cast().is_local {
            reprieve.victims.extend(beside.into_iter().map(|(_, unit)| unit));
            let alone = std::slice::from_ref(reprieve.domain);
            let found = self.find_party_seats(reprieve.party, alone, reprieve.at_least, STEPS_MAX);
            return found.map(|(_, seated)| reprieve.seated = seated).is_ok();
        }
        for (places, unit) in beside {
            self.come_back(&mut reprieve.absence, &unit);
            let holds = |at: &NodeIdx| {
                let here = seats.get(at);
                here.is_none_or(|here| self.reseat(reprieve.party, *at, here).is_some())
            };
            if !places.iter().all(holds) {
                self.depart(&mut reprieve.absence, &unit);
                reprieve.victims.push(unit);
            }
        }
        // With the pods that are back, other devices may be those that fit.
        let again: Option<Vec<Seated>> =
            seats.iter().map(|(at, here)| self.reseat(reprieve.party, *at, here)).collect();
        again.map(|again| reprieve.seated = again.into_iter().flatten().collect()).is_some()
    }

    /// Devices for members on a node that has room for them, as things are thought to be.
    fn reseat(&mut self, party: Party<'_>, at: NodeIdx, uids: &BTreeSet<PodUid>) -> Option<Seated> {
        let members: Vec<_> =
            party.cast().members().filter(|member| uids.contains(&member.pod.uid)).collect();
        let kinds = party.cast().kinds.iter().enumerate();
        let of_kind = kinds.flat_map(|(kind, bundles)| bundles.iter().map(move |bundle| (kind, bundle)));
        let by_kind = of_kind
            .flat_map(|(kind, bundle)| bundle.members.iter().map(move |member| (kind, member)))
            .filter(|(_, member)| uids.contains(&member.pod.uid));
        if !ClusterView::new(self, party.cast(), party.profile()).has_room(at, by_kind) {
            return None;
        }
        let Devices::Found(found, _) = self.devices_for(at, &members) else { return None };
        let node = filters::node_of(self.facts.nodes.get(at)).clone();
        let seats = members.into_iter().zip(found);
        Some(seats.map(|(member, devices)| (member.pod.clone(), member.seat(&node, devices))).collect())
    }
}
