//! The nodes that would do for a pod, but for claims that drivers' controllers are to give devices.
//!
//! What drivers say of nodes is the pod's own. All else is known for pods that need the same of a node, or is found out anew.
//!
//! Invariant: what is known says the same as looking at all nodes anew.

use std::sync::Arc;

use cluster::nodes::NodeIdx;
use model::pod::{LabelSelector, Pod};
use rustc_hash::FxHashSet;

use crate::caches::kinds::PodKind;
use crate::cycle::Cycle;
use crate::filters::node_of;
use crate::profile::Profile;
use crate::scores::{self, Candidate};
use crate::values::choice::{Choice, choice};
use crate::values::openings::Openings;
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::PodRefusal;
use crate::values::work;

impl Cycle<'_> {
    /// All nodes that would do for a pod of which some claims are to be negotiated about.
    pub(crate) fn choose_negotiated(
        &mut self,
        pod: &Pod,
        claims: &PodClaims,
        profile: &Arc<Profile>,
    ) -> Result<Choice, Box<PodRefusal>> {
        let is_alike =
            !self.plans.has_shunned(&pod.uid) && self.is_alike_but_for_drivers(pod, claims, profile);
        let known = if is_alike { self.openings_of_kind(pod, claims, profile) } else { None };
        let (mut best, nodes) = match known {
            Some(known) => known,
            // Why no node will do has to be found out.
            None => self.openings_anew(pod, claims, profile)?,
        };
        let nodes = nodes.iter().map(|at| node_of(self.facts.nodes.get(*at)).name.clone()).collect();
        best.negotiation = Some(Box::new(Openings { pending: claims.pending.clone(), nodes }));
        Ok(best)
    }

    /// The nodes that will do by what is known for pods like this one, the best first; nothing if none will, or that cannot be told.
    pub(crate) fn openings_of_kind(
        &mut self,
        pod: &Pod,
        claims: &PodClaims,
        profile: &Arc<Profile>,
    ) -> Option<(Choice, Vec<NodeIdx>)> {
        let alone = PodClaims { pending: Vec::new(), ..claims.clone() };
        let mut kind = self.seen_kind(pod, &alone, profile);
        let companions = self.companions_of(&pod.shape, profile);
        let seats = self.seats_of_kind(&mut kind, pod, companions.as_ref());
        let scored = seats.map(|seats| self.left_by_drivers(claims, seats));
        let ranked = scored.map(|scored| self.apart_from_others(pod, scored, &profile.filters));
        let ranked = ranked.filter(|ranked| !ranked.is_empty());
        let chosen = ranked.and_then(|ranked| {
            let allocations = kind.get(ranked[0])?.allocations.clone();
            Some((choice(pod, node_of(self.facts.nodes.get(ranked[0])), claims, allocations), ranked))
        });
        self.caches.kinds.push(kind);
        chosen
    }

    /// All nodes that will do whatever drivers say of them, with their scores; nothing if that cannot be told by what is kept.
    fn seats_of_kind(
        &mut self,
        kind: &mut PodKind,
        pod: &Pod,
        companions: Option<&LabelSelector>,
    ) -> Option<Vec<(i64, NodeIdx)>> {
        let relations = self.relations(kind, pod, companions)?;
        let mut units = relations.units(kind, false);
        self.caches.work.spend(units.len() as u64 * work::NODE);
        units.retain(|unit| relations.around.check(self.facts.nodes.get(unit.candidate.at)).is_ok());
        let candidates: Vec<Candidate> = units.iter().map(|unit| unit.candidate).collect();
        let view = self.view(&kind.profile.scores, companions);
        let relative = scores::relative(&pod.shape, &candidates, &view);
        let of_unit =
            |(unit, relative)| relations.seats_of(kind, unit).map(move |(score, at)| (score + relative, at));
        let seats: Vec<(i64, NodeIdx)> = units.iter().zip(relative).flat_map(of_unit).collect();
        self.caches.work.spend(seats.len() as u64 * work::GLANCE);
        Some(seats)
    }

    /// Those of these nodes that no driver and no class of a driver is against.
    fn left_by_drivers(&self, claims: &PodClaims, mut seats: Vec<(i64, NodeIdx)>) -> Vec<(i64, NodeIdx)> {
        let refused = claims.pending.iter().flat_map(|pending| pending.unsuitable.iter());
        let refused: FxHashSet<NodeIdx> = refused.filter_map(|name| self.facts.nodes.find(name)).collect();
        let limited: Vec<_> = claims.pending.iter().filter(|pending| !pending.suitable.is_empty()).collect();
        seats.retain(|(_, at)| {
            !refused.contains(at)
                && limited.iter().all(|pending| pending.refuses(node_of(self.facts.nodes.get(*at))).is_none())
        });
        seats
    }
}
