//! Claims whose devices are given by drivers' own controllers: what is wanted and what is there means nothing to us, so that
//! nodes are found by asking.

mod claim;
mod rounds;
mod selections;
mod wish;

use crate::cycle::Cycle;
use crate::filters::node_of;
use crate::pod::{Choice, Claims, PodRefusal, choice};
use crate::profile::Profile;
pub use claim::Pending;
use cluster::groups::Key;
use model::node::Node;
use model::pod::Pod;
use placement::Domain;
pub use rounds::Rounds;
pub use selections::Selections;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
pub use wish::{Say, unanswered};
use wish::{mix, say};

/// The most nodes that a context may name.
pub const NODES_MAX: usize = 128;

/// Claims that are to be negotiated about, and the nodes that would do otherwise, the best first.
#[derive(Clone, Debug)]
pub struct Openings {
    /// The claims.
    pub pending: Vec<Pending>,
    /// The nodes, the best first.
    pub nodes: Vec<Arc<str>>,
}

impl Openings {
    /// What is to be negotiated about for a single node, if anything is.
    pub fn at(claims: &Claims, node: &Node) -> Option<Box<Openings>> {
        let (pending, nodes) = (claims.pending.clone(), vec![node.name.clone()]);
        (!pending.is_empty()).then(|| Box::new(Openings { pending, nodes }))
    }
}

impl Cycle<'_> {
    /// All nodes that would do for a pod of which some claims are to be negotiated about.
    pub(crate) fn choose_negotiated(
        &mut self,
        pod: &Pod,
        claims: &Claims,
        profile: &Profile,
    ) -> Result<Choice, Box<PodRefusal>> {
        let mut seats = self.seats_anew(pod, claims, profile, usize::MAX)?;
        let nodes = seats.iter().map(|seat| seat.node.clone()).collect();
        let mut best = seats.swap_remove(0);
        best.negotiation = Some(Box::new(Openings { pending: claims.pending.clone(), nodes }));
        Ok(best)
    }

    /// The node of a pod that was bound by hand; its claims have devices to come.
    pub(crate) fn negotiated_there(pod: &Pod, node: &Node, claims: &Claims) -> Choice {
        let mut there = choice(pod, node, claims, Vec::new());
        there.negotiation = Openings::at(claims, node);
        there
    }

    /// What is to be said to drivers about a pod.
    pub fn wanted(&self, pod: &Pod, openings: &Openings) -> Say {
        let plans = self.plans;
        let chosen = plans.selections.of(&pod.uid);
        let tried = plans.rounds.tried(&Key::from(pod));
        say(self.facts.context(pod), (chosen, tried), &openings.nodes, &openings.pending)
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
        pods.first().map_or(0, |pod| self.plans.rounds.failed(&self.facts.groups.key_of(pod)))
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
}

/// Forgets a pod under one of the things that it is found by.
fn forget<K: Ord>(pods: &mut BTreeMap<K, BTreeSet<Arc<str>>>, key: &K, uid: &str) {
    let Some(known) = pods.get_mut(key) else { return };
    known.remove(uid);
    if known.is_empty() {
        pods.remove(key);
    }
}
