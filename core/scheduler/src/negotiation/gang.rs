//! Gangs of which some members have claims that drivers' controllers give devices: these are negotiated about member by
//! member, for the seats that the gang would have. It is sent on its way when all of them have devices.

use cluster::groups::Key;
use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::claims::ClaimState;
use model::node::Node;
use model::pod::Pod;
use model::timestamp::Timestamp;
use placement::Domain;

use super::step::NODES;
use super::wish::mix;
use crate::cycle::{Choice, Claims};
use crate::deallocate::{InTheWay, Remedy};
use crate::engine::Engine;
use crate::filters::node_of;
use crate::write::{WaitReason, Write};

impl Engine {
    /// Whether a gang that has seats waits for drivers' controllers first. They are asked then.
    pub(crate) fn negotiates_for_gang<'a>(
        &mut self,
        now: Timestamp,
        key: &Key,
        seated: impl IntoIterator<Item = &'a (Arc<Pod>, Choice)>,
    ) -> bool {
        let (asked, others): (Vec<_>, Vec<_>) =
            seated.into_iter().partition(|(_, choice)| choice.negotiation.is_some());
        let Some((first, _)) = asked.first() else { return false };
        if let Err(until) = self.negotiations.rounds.begin(key, now) {
            // Somebody who has not heard of it may give them something yet.
            let members: Vec<Arc<Pod>> = asked.iter().chain(&others).map(|(pod, _)| pod.clone()).collect();
            self.give_back_all(&members);
            self.queue.wait_until(key, NODES, until);
            return true;
        }
        for (pod, choice) in &asked {
            choice.negotiation.iter().for_each(|openings| self.ask_drivers(pod, openings));
        }
        others.into_iter().for_each(|(pod, _)| self.waits_with(pod, first));
        self.queue.wait(key, NODES, now);
        true
    }

    /// Says of a member that has everything why it waits all the same.
    fn waits_with(&mut self, pod: &Pod, other: &Pod) {
        let Some(wait) = self.negotiations.waits.get(&other.uid).cloned() else { return };
        if pod.node.is_some() || self.negotiations.waits.get(&pod.uid) == Some(&wait) {
            return;
        }
        let message = format!("pod {} of its group is {wait}", other.id.name);
        self.negotiations.waits.insert(pod.uid.clone(), wait);
        let (id, uid, reason) = (pod.id.clone(), pod.uid.clone(), WaitReason::Negotiating);
        self.submit_and_forget(Write::Note { pod: id, uid, reason, message });
    }

    /// A gang has no seats: it gives back what it has, and rests before it negotiates again.
    pub(crate) fn give_up_gang(&mut self, now: Timestamp, key: &Key, members: &[Arc<Pod>]) {
        self.negotiations.rounds.fail(key, now, self.settings.patience);
        self.give_back_all(members);
    }

    /// What drivers' controllers gave to these pods alone is asked back, and nothing is chosen for the others any more.
    pub(super) fn give_back_all(&mut self, pods: &[Arc<Pod>]) {
        for pod in pods {
            let mut is_asked = false;
            for id in pod.claim_ids() {
                let Some(state) = self.facts.claims.get(&id).cloned() else { continue };
                if self.is_given_to(&state, pod) && !self.is_being_reserved(&id) && !self.is_given_up(&id) {
                    let one = InTheWay { claim: id, uid: state.uid.clone(), remedy: Remedy::Deallocate };
                    self.ask_for(one, &pod.uid);
                    is_asked = true;
                }
            }
            let known = self.facts.context(pod).filter(|known| known.selected.is_some());
            let Some(potential) = known.map(|known| known.potential.clone()).filter(|_| !is_asked) else {
                continue;
            };
            if !self.negotiations.is_writing(&pod.uid) {
                self.say(pod, None, potential);
            }
        }
    }

    /// The node that is chosen for a pod.
    pub(crate) fn selected_for(&self, pod: &Pod) -> Option<&Arc<str>> {
        self.facts.context(pod)?.selected.as_ref()
    }

    /// Domains in the order in which they are tried for a gang that is negotiated about. The one that is being asked about
    /// comes first of its rank. After it was given up the order is another: what drivers say of a node holds for
    /// one member at that moment, so that they may seem to have room for all of them over and over where they have not.
    pub(crate) fn in_turn<'d>(&self, pods: &[&Arc<Pod>], domains: &'d [Domain]) -> Vec<&'d Domain> {
        let mut ordered: Vec<&Domain> = domains.iter().collect();
        if !pods.iter().any(|pod| self.facts.context(pod).is_some()) {
            return ordered;
        }
        let selected: BTreeSet<&Arc<str>> = pods.iter().filter_map(|pod| self.selected_for(pod)).collect();
        let is_chosen = |domain: &Domain| {
            let mut nodes = domain.nodes.iter().map(|at| &node_of(self.facts.nodes.get(*at)).name);
            nodes.any(|name| selected.contains(name))
        };
        let failed = self.failed_rounds(pods).to_string();
        let states = pods.iter().flat_map(|pod| pod.claim_ids()).filter_map(|id| self.facts.claims.get(&id));
        let versions: Vec<&str> = states.map(|state| &*state.version).chain([&*failed]).collect();
        ordered.sort_by_cached_key(|domain| {
            let lot = mix(&[&[&*domain.name], versions.as_slice()].concat());
            (domain.rank, !is_chosen(domain), lot)
        });
        ordered
    }

    /// How many rounds of negotiation about these members failed in a row.
    fn failed_rounds(&self, pods: &[&Arc<Pod>]) -> u32 {
        pods.first().map_or(0, |pod| self.negotiations.rounds.failed(&self.facts.groups.key_of(pod)))
    }

    /// The node of a domain that a member is to have in this round, by lot among those that it could have, if other rounds failed.
    /// What search prefers is the same every time, and may be what members cannot have together though each of them could.
    pub(crate) fn by_lot(&self, pod: &Arc<Pod>, claims: &Claims, domain: &Domain) -> Option<Arc<str>> {
        // At times what is best is tried again: others may have been in the way.
        let failed =
            Some(self.failed_rounds(&[pod])).filter(|failed| failed % 3 > 0 && !claims.pending.is_empty())?;
        let nodes = domain.nodes.iter().map(|at| &**node_of(self.facts.nodes.get(*at)));
        let will_do = |node: &&Node| {
            claims.settled.iter().all(|state| state.is_usable_on(node))
                && claims.pending.iter().all(|pending| pending.refuses(node).is_none())
        };
        let nodes: Vec<&Node> = nodes.filter(will_do).collect();
        let lot = mix(&[&*pod.uid, &*domain.name, &failed.to_string()]);
        let node = nodes.get((lot % nodes.len().max(1) as u64) as usize)?;
        Some(node.name.clone())
    }

    /// Whether a driver's controller gave a claim devices for this pod alone, and not for good.
    fn is_given_to(&self, state: &ClaimState, pod: &Pod) -> bool {
        let control = &state.control;
        control.controller.is_some()
            && !control.immediate
            && !control.leaving
            && state.allocation.is_some()
            && state.reserved_for.iter().all(|user| *user == pod.uid)
    }
}
