//! Answers about nodes, kept for pods that need the same of a node.
//!
//! What filters and scores say of a node alone, and the devices there, is kept by what pods need, so a node is looked at again only
//! when something changed for it. What pods everywhere mean for a pod is held against tiers of such nodes for each pod anew:
//! [`relations`](super::relations). The answer is the one that looking at all nodes anew would give.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use allocation::Reply;
use cluster::nodes::NodeIdx;
use model::node::Node;
use model::pod::{LabelSelector, Pod};

use crate::caches::kinds::{KINDS_MAX, KnownNode, PodKind, need_the_same};
use crate::caches::refusals::{AlikePods, Moment};
use crate::caches::tiers::{Found, Traits};
use crate::cycle::Cycle;
use crate::devices::ahead;
use crate::devices::alternatives::worth;
use crate::filters;
use crate::lanes::part_min;
use crate::pod::nominees::Beside;
use crate::pod::relations::Unit;
use crate::profile::Profile;
use crate::scores::{self, Candidate, Score, devices, node_affinity, ready_devices, taints};
use crate::values::choice::{Choice, choice};
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::PodRefusal;
use crate::values::work;

/// What can be seen of a node without its devices.
struct Seen {
    node: Arc<Node>,
    /// No filter is against it.
    fits: bool,
    /// Its score, if so.
    score: i64,
    /// All but what its devices are worth.
    traits: Traits,
}

impl Cycle<'_> {
    /// Whether answers for the pod can be shared: no volumes, no claims that have devices, and no nominee that means something to it
    /// besides the room that it takes.
    pub(crate) fn is_alike_to_others(&self, pod: &Pod, claims: &PodClaims, profile: &Profile) -> bool {
        claims.pending.is_empty() && self.is_alike_but_for_drivers(pod, claims, profile)
    }

    /// The same whatever drivers say of nodes.
    pub(crate) fn is_alike_but_for_drivers(&self, pod: &Pod, claims: &PodClaims, profile: &Profile) -> bool {
        let shape = &pod.shape;
        let has_rules = || {
            !(shape.spread.is_empty() && shape.near.is_empty() && shape.apart.is_empty())
                || self.facts.nodes.placed_terms().picking(&shape.labels).next().is_some()
                || self.companions_of(shape, profile).is_some()
        };
        claims.settled.is_empty()
            && !shape.has_volumes()
            && !self.plans.nominations.must_be_apart_from(&shape.labels)
            && self.plans.nominations.get(&pod.uid).is_none()
            && (self.plans.nominations.is_empty() || !has_rules())
    }

    /// The best node for a pod that is alike to others; `None` if no node will do and it has to be found out why.
    pub(crate) fn choose_alike(
        &mut self,
        pod: &Pod,
        claims: &PodClaims,
        profile: &Arc<Profile>,
    ) -> Result<Option<Choice>, Box<PodRefusal>> {
        let mut kind = self.seen_kind(pod, claims, profile);
        let companions = self.companions_of(&pod.shape, profile);
        let found = self.best_of_kind(&mut kind, pod, claims, companions.as_ref());
        let chosen = found.and_then(|at| {
            let allocations = kind.get(at)?.allocations.clone();
            Some(choice(pod, filters::node_of(self.facts.nodes.get(at)), claims, allocations))
        });
        self.caches.kinds.push(kind);
        let pods = AlikePods { pod, claims, profile, companions: companions.as_ref() };
        match self.caches.refusals.refused(pods, self.moment()).filter(|_| chosen.is_none()) {
            Some(refusal) => Err(Box::new(refusal.clone()).for_claims(claims)),
            None => Ok(chosen),
        }
    }

    /// What is known by now for pods like this one, taken out of the list.
    pub(crate) fn seen_kind(&mut self, pod: &Pod, claims: &PodClaims, profile: &Arc<Profile>) -> PodKind {
        let mut kind = self.kind_of(pod, claims, profile);
        self.heed_images(&mut kind);
        let now = self.facts.touches.now();
        let mut nodes = std::mem::take(&mut kind.unseen);
        match kind.seen.filter(|_| !kind.tiers.is_outgrown()).and_then(|seen| self.facts.touches.since(seen))
        {
            Some(touched) => nodes.extend(touched),
            None => {
                kind.forget();
                kind.tiers.measure(&self.facts.nodes);
                nodes = self.facts.nodes.iter().map(|(at, _)| at).collect();
            }
        }
        self.look_at_all(&mut kind, nodes, claims);
        kind.seen = Some(now);
        kind
    }

    /// The best of all nodes that will do; nothing also if that cannot be told by what is kept.
    fn best_of_kind(
        &mut self,
        kind: &mut PodKind,
        pod: &Pod,
        claims: &PodClaims,
        companions: Option<&LabelSelector>,
    ) -> Option<NodeIdx> {
        let relations = self.relations(kind, pod, companions)?;
        let weight = self.alternatives_weight(&kind.profile, claims);
        let mut units = relations.units(kind, weight != 0);
        self.caches.work.spend(units.len() as u64 * work::NODE);
        units.retain(|unit| relations.around.check(self.facts.nodes.get(unit.candidate.at)).is_ok());
        let candidates: Vec<Candidate> = units.iter().map(|unit| unit.candidate).collect();
        let view = self.view(&kind.profile.scores, companions);
        let relative = scores::relative(&pod.shape, &candidates, &view);
        let seats: Vec<(NodeIdx, i64, i64)> = units
            .iter()
            .zip(relative)
            .filter_map(|(Unit { seat, .. }, relative)| {
                seat.map(|(at, score, worth)| (at, score + relative, worth))
            })
            .collect();
        let extra = devices::weighted(seats.iter().map(|(_, _, worth)| *worth).collect(), weight);
        let totals = seats.iter().zip(extra).map(|((at, score, _), extra)| (score + extra, Reverse(*at)));
        totals.max().map(|(_, Reverse(at))| at)
    }

    /// Forgets all scores if images of the pods are more or less common than they were.
    fn heed_images(&self, kind: &mut PodKind) {
        let revision = self.facts.images.revision();
        if kind.images.0 != revision {
            let now = (revision, self.facts.images.commonness(&kind.shape));
            if kind.images.1 != now.1 {
                kind.seen = None;
            }
            kind.images = now;
        }
    }

    /// What is known for pods like this one, taken out of the list; it is put back as the youngest.
    fn kind_of(&mut self, pod: &Pod, claims: &PodClaims, profile: &Arc<Profile>) -> PodKind {
        let same = |kind: &PodKind| {
            Arc::ptr_eq(&kind.profile, profile)
                && kind.priority == pod.priority
                && need_the_same(&kind.shape, &pod.shape)
                && claims.ask_for(&kind.wishes)
        };
        if let Some(at) = self.caches.kinds.iter().rposition(same) {
            return self.caches.kinds.remove(at);
        }
        if self.caches.kinds.len() >= KINDS_MAX {
            self.caches.kinds.remove(0);
        }
        let wishes = claims.open.iter().map(|state| state.wish.clone()).collect();
        PodKind::new(profile.clone(), pod.shape.clone(), wishes, pod.priority)
    }

    /// Looks at nodes again, as far as there is time.
    fn look_at_all(&mut self, kind: &mut PodKind, nodes: BTreeSet<NodeIdx>, claims: &PodClaims) {
        let kept = self.caches.work.keep_for_later();
        let nodes: Vec<NodeIdx> = nodes.into_iter().collect();
        let mut ahead = VecDeque::new();
        for (number, at) in nodes.iter().enumerate() {
            if self.caches.work.is_spent() {
                kind.set(*at, None);
                kind.unseen.insert(*at);
                continue;
            }
            if ahead.is_empty() {
                ahead = self.see_ahead(kind, &nodes[number..], claims);
            }
            let seen = ahead.pop_front().unwrap_or_else(|| (self.see(kind, *at), None));
            let kept = self.caches.work.limit_to_share(nodes.len());
            self.caches.work.spend(work::NODE);
            self.look(kind, *at, claims, seen);
            if self.caches.work.is_cut() {
                // What is not known of it yet may be found out in the next slice.
                kind.set(*at, None);
                kind.unseen.insert(*at);
            }
            self.caches.work.restore(kept);
        }
        self.caches.work.restore(kept);
    }

    /// What can be seen of the first of these nodes, and their devices, in several lanes; nothing if that is not worth it.
    fn see_ahead(
        &mut self,
        kind: &PodKind,
        nodes: &[NodeIdx],
        claims: &PodClaims,
    ) -> VecDeque<(Option<Seen>, Option<Reply>)> {
        let needs_devices = claims.need_devices();
        let nanos = if needs_devices { ahead::QUESTION_MIN } else { work::NODE };
        let nodes = &nodes[..nodes.len().min(self.batch_max(nanos))];
        let lanes = &*self.caches.lanes;
        if lanes.count() == 1 || nodes.len() < 2 * part_min(lanes, nanos) {
            return VecDeque::new();
        }
        let found = self.side_by_side((nodes.len(), nanos), |cycle, number, expressions| {
            let at = nodes[number];
            let seen = cycle.see(kind, at);
            let fits = needs_devices && seen.as_ref().is_some_and(|seen| seen.fits);
            let reply = if fits { cycle.ask_ahead(at, claims, expressions) } else { None };
            (seen, reply)
        });
        found.into()
    }

    /// What can be seen of a node without its devices; nothing if it is gone.
    fn see(&self, kind: &PodKind, at: NodeIdx) -> Option<Seen> {
        let (shape, profile) = (&kind.shape, &kind.profile);
        let state = self.facts.nodes.get(at);
        let node = state.node.as_ref()?;
        let settings = &profile.filters;
        let fits = filters::fixed(shape, node, settings)
            .and_then(|()| filters::usage(shape, state, settings))
            .and_then(|()| {
                self.check_beside_nominees(
                    shape,
                    ("", kind.priority),
                    state,
                    Beside::Nothing,
                    (settings, None),
                )
            })
            .is_ok();
        let score = if fits { scores::local(shape, at, &self.view(&profile.scores, None)) } else { 0 };
        let traits = Traits {
            taints: taints::raw(shape, node, profile.scores.compares_taints),
            wishes: node_affinity::raw(shape, node, &profile.scores.preferred_nodes),
            worth: 0,
            is_wanted: filters::wants(shape, node),
            is_open: filters::keeps_off(shape, node, settings.compares_taints).is_none(),
        };
        Some(Seen { node: node.clone(), fits, score, traits })
    }

    /// Looks at a node again, of which this is seen, and perhaps its devices ahead.
    fn look(
        &mut self,
        kind: &mut PodKind,
        at: NodeIdx,
        claims: &PodClaims,
        (seen, ahead): (Option<Seen>, Option<Reply>),
    ) {
        kind.set(at, None);
        let Some(Seen { node, fits, score, traits }) = seen else { return };
        let allocations = fits.then(|| self.devices_known(&node, claims, ahead));
        let found = match &allocations {
            None => Found::Unfit,
            Some(Err(_)) => Found::NoDevices,
            Some(Ok(allocations)) => {
                let weight = kind.profile.scores.weight(Score::ReadyDevices);
                Found::Seat(score + weight * ready_devices::score(allocations))
            }
        };
        let allocations = allocations.and_then(Result::ok).unwrap_or_default();
        let traits = Traits { worth: worth(claims, &allocations), ..traits };
        let membership = kind.tiers.enter(at, &node, traits, found);
        kind.set(at, Some(KnownNode { membership, allocations }));
    }

    /// The moment that is now.
    pub(crate) fn moment(&self) -> Moment {
        let (touches, namespaces) = (self.facts.touches.now(), self.facts.namespaces.revision());
        Moment { touches, namespaces, users: self.plans.users_changed }
    }
}

#[cfg(test)]
mod tests;
