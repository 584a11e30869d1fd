//! The domains in which a gang fits if all less important pods go. That is a proof that preemption can help there, or cannot.

use std::collections::{BTreeMap, BTreeSet};

use cluster::nodes::NodeIdx;
use model::timestamp::Timestamp;
use placement::Domain;

use crate::cycle::Cycle;
use crate::gang::party::Party;
use crate::gang::preempt::bounds::{DOMAINS_MAX, STEPS_MAX};
use crate::gang::preempt::candidate::{Cost, Going, cost};
use crate::preempt::{Unit, harm, pods_of};
use crate::values::gang_preemption::Helpless;

/// A domain in which a gang fits if all go that could.
pub(crate) struct Hopeful<'s> {
    /// What it would cost if all pods went that are where the gang would be.
    pub(crate) cost: Cost,
    pub(crate) domain: &'s Domain,
    /// How many members are to have seats: all, unless only as many fit as have to.
    pub(crate) at_least: u32,
    /// The units whose going is tried there.
    pub(crate) concerned: Vec<usize>,
}

impl Cycle<'_> {
    /// The domains in which the gang fits if all go that could, those first where the least harm seems to be done.
    pub(crate) fn hopeful_domains<'s>(
        &mut self,
        now: Timestamp,
        party: Party<'s>,
        units: &[Unit],
        going: &Going,
    ) -> Result<Vec<Hopeful<'s>>, Helpless> {
        let mut on_node: BTreeMap<NodeIdx, BTreeSet<usize>> = BTreeMap::new();
        for (at, unit) in units.iter().enumerate() {
            for pod in &unit.pods {
                if let Some((node, _)) = self.facts.nodes.pod(&pod.uid) {
                    on_node.entry(node).or_default().insert(at);
                }
            }
        }
        let mut hopeful = Vec::new();
        let mut why = None;
        let mut is_empty = true;
        for domain in party.domains() {
            let concerned: Vec<usize> = if party.cast().is_local {
                let here = domain.nodes.iter().filter_map(|node| on_node.get(node)).flatten();
                here.copied().collect::<BTreeSet<_>>().into_iter().collect()
            } else {
                // Rules about pods and devices that several nodes reach know no domains.
                (0..units.len()).collect()
            };
            if concerned.is_empty() {
                continue;
            }
            is_empty = false;
            let mut absence = self.without(party, going);
            concerned.iter().for_each(|at| self.depart(&mut absence, &units[*at]));
            let alone = std::slice::from_ref(domain);
            let found = self.find_party_seats(party, alone, party.at_least(), STEPS_MAX);
            self.end_absence(&absence);
            match found {
                Ok((_, seated)) => {
                    let in_the_way: BTreeSet<usize> = seated
                        .iter()
                        .filter_map(|(_, choice)| on_node.get(&self.facts.nodes.find(&choice.node)?))
                        .flatten()
                        .copied()
                        .collect();
                    let pods: Vec<_> = pods_of(in_the_way.iter().map(|at| &units[*at])).cloned().collect();
                    let cost = cost(harm(&pods, (0, 0), now), domain);
                    let is_everybody = seated.len() == party.cast().members().count();
                    let at_least = if is_everybody { party.everybody() } else { party.at_least() };
                    hopeful.push(Hopeful { cost, domain, at_least, concerned });
                }
                Err(lack) => why = why.or(Some(lack)),
            }
        }
        if hopeful.is_empty() {
            return Err(match why.filter(|_| !is_empty) {
                Some(why) => Helpless::Lacks(Box::new(why)),
                None => Helpless::NoVictims,
            });
        }
        hopeful.sort_by_key(|one| one.cost);
        // The best of each rank is among those that are looked at.
        let mut ranks = BTreeSet::new();
        let (mut chosen, others): (Vec<_>, Vec<_>) =
            hopeful.into_iter().partition(|one| ranks.insert(one.domain.rank));
        chosen.extend(others);
        chosen.truncate(DOMAINS_MAX);
        Ok(chosen)
    }
}
