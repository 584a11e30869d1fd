//! The nodes and domains that are asked about for a gang whose claims drivers' controllers give devices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::identity::{NodeName, PodUid};
use model::node::Node;
use model::pod::Pod;
use placement::{Domain, DomainName};

use crate::cycle::Cycle;
use crate::filters::node_of;
use crate::gang::answer::seats::Seated;
use crate::gang::members::cast::Cast;
use crate::gang::members::member::Member;
use crate::gang::seats::sought::Sought;
use crate::values::choice::Choice;
use crate::values::lot::mix;

/// Beyond so many ways to put members on nodes it is left to chance which one is tried.
const WAYS_MAX: usize = 64;

impl Cycle<'_> {
    /// The node that is chosen for a pod.
    pub(crate) fn selected_for(&self, pod: &Pod) -> Option<&NodeName> {
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
        let selected: BTreeSet<&NodeName> = pods.iter().filter_map(|pod| self.selected_for(pod)).collect();
        let is_chosen = |domain: &Domain| {
            let mut nodes = domain.nodes.iter().map(|at| &node_of(self.facts.nodes.get(*at)).name);
            nodes.any(|name| selected.contains(name))
        };
        let Some(draws) = self.draws(pods) else {
            let states =
                pods.iter().flat_map(|pod| pod.claim_ids()).filter_map(|id| self.facts.claims.get(&id));
            let versions: Vec<&str> = states.map(|state| &*state.version).collect();
            ordered.sort_by_cached_key(|domain| {
                let lot = mix(&[&[lot_name(domain)], versions.as_slice()].concat());
                (domain.rank, !is_chosen(domain), lot)
            });
            return ordered;
        };
        // Each of them comes first in its turn.
        ordered.sort_by_cached_key(|domain| mix(&[lot_name(domain)]));
        ordered.rotate_left(draws as usize % domains.len().max(1));
        ordered.sort_by_key(|domain| (domain.rank, !is_chosen(domain)));
        ordered
    }

    /// How often something else than what is best was tried for these members, if that is done in this round.
    fn draws(&self, pods: &[&Arc<Pod>]) -> Option<u32> {
        self.plans.rounds.draws(&self.facts.groups.key_of(pods.first()?))
    }

    /// What decides in this round on which node of a domain each of these members is to be, if that is drawn.
    pub(crate) fn lots(&self, pods: &[&Arc<Pod>], domains: usize) -> Option<Lots> {
        let turn = self.draws(pods)? as usize / domains.max(1);
        let mut uids: Vec<&PodUid> = pods.iter().map(|pod| &pod.uid).collect();
        uids.sort_unstable();
        let places = uids.into_iter().enumerate().map(|(place, uid)| (uid.clone(), place)).collect();
        Some(Lots { turn, places })
    }

    /// The node of a domain that a member is to have in this round among those that it could have, if other rounds failed.
    /// What search prefers is the same every time, and may be what members cannot have together though each of them could.
    pub(crate) fn by_lot(&self, lots: &Lots, member: &Member, domain: &Domain) -> Option<NodeName> {
        let Member { pod, claims, .. } = member;
        if claims.pending.is_empty() {
            return None;
        }
        let nodes = domain.nodes.iter().map(|at| &**node_of(self.facts.nodes.get(*at)));
        let will_do = |node: &&Node| {
            claims.settled.iter().all(|state| state.is_usable_on(node))
                && claims.pending.iter().all(|pending| pending.refuses(node).is_none())
        };
        let nodes: Vec<&Node> = nodes.filter(will_do).collect();
        let node = nodes.get(lots.drawn(&pod.uid, lot_name(domain), nodes.len())?)?;
        Some(node.name.clone())
    }

    /// The same gang with no more members than it needs, others in each round, if other rounds failed. Drivers may have devices for some
    /// members and not for others, while the seats that search prefers are those of the same members every time.
    pub(crate) fn needed_in_turn(&self, cast: &Cast, needed: u32) -> Option<Cast> {
        let members: Vec<PodUid> = cast.members().map(|member| member.pod.uid.clone()).collect();
        let key = self.facts.groups.key_of(&cast.members().next()?.pod);
        let ordered = self.plans.rounds.first_asked(&key, &members);
        let ordered = ordered.filter(|ordered| (needed as usize) < ordered.len())?;
        let first: BTreeSet<&PodUid> = ordered.iter().take(needed as usize).collect();
        Some(cast.only(|member| first.contains(&member.pod.uid)))
    }

    /// The same gang in the domain whose turn it is, with members that have to be on the nodes there which are selected for them or drawn for
    /// this round, if these are not the seats that were found. That no pod or fewer pods have to go for others does not make these better:
    /// they may be the ones that drivers refused in the rounds before.
    pub(crate) fn drawn_besides(
        &self,
        sought: &Sought,
        found: Option<(&DomainName, &Seated)>,
    ) -> Option<Sought> {
        let pods: Vec<&Arc<Pod>> = sought.cast.members().map(|member| &member.pod).collect();
        let domain = self.in_turn(&pods, &sought.domains).into_iter().next()?;
        let lots = self.lots(&pods, sought.domains.len())?;
        let lot = |member: &Member| self.by_lot(&lots, member, domain);
        sought.cast.members().find_map(lot)?;
        let drawn = |member: &Member| self.selected_for(&member.pod).cloned().or_else(|| lot(member));
        let is_other = found.is_none_or(|(found, seated)| {
            let seats: BTreeMap<&PodUid, &Choice> =
                seated.iter().map(|(pod, choice)| (&pod.uid, choice)).collect();
            let is_elsewhere = |member: &Member| {
                let choice = seats.get(&member.pod.uid).filter(|choice| choice.negotiation.is_some());
                choice.is_some_and(|choice| drawn(member).is_some_and(|node| node != choice.node))
            };
            domain.name != *found || sought.cast.members().any(is_elsewhere)
        });
        is_other.then(|| Sought {
            cast: sought.cast.staying(drawn),
            domains: vec![domain.clone()],
            ..sought.clone()
        })
    }
}

/// What decides in a round on which nodes members are to be.
#[derive(Debug)]
pub(crate) struct Lots {
    /// How often lots were drawn before for the same domain.
    turn: usize,
    /// The members in an order that is the same every time.
    places: BTreeMap<PodUid, usize>,
}

impl Lots {
    /// Which of so many nodes a member is to have. If members have few nodes together, each way to put them there comes once before any comes
    /// twice, and otherwise it is left to chance.
    fn drawn(&self, member: &PodUid, domain: &str, nodes: usize) -> Option<usize> {
        let place = *self.places.get(member)?;
        let ways = u32::try_from(self.places.len()).ok().and_then(|members| nodes.checked_pow(members));
        let first = mix(&[&**member, domain]) as usize;
        let drawn = if ways.is_some_and(|ways| ways <= WAYS_MAX) {
            first.wrapping_add(self.turn / nodes.pow(place as u32).max(1))
        } else {
            mix(&[&**member, domain, &self.turn.to_string()]) as usize
        };
        drawn.checked_rem(nodes)
    }
}

/// What lots are drawn by for a domain. Nothing is added to them for the whole cluster.
fn lot_name(domain: &Domain) -> &str {
    domain.name.part().unwrap_or_default()
}
