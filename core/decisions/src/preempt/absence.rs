//! The cluster as if pods were gone, while more than one node is looked at.
//!
//! Invariant: when the absence ends, pods are back on their nodes and devices back in the ledger. Meanwhile answers about nodes that
//! are kept are neither used nor made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::claims::Allocated;
use cluster::nodes::NodeIdx;
use cluster::trial::Mark;
use model::claim::ClaimId;
use model::identity::{ClaimUid, PodUid};
use model::pod::Pod;

use crate::cycle::Cycle;
use crate::preempt::units::Unit;

/// Pods that are thought away.
#[derive(Debug)]
pub(crate) struct Absence {
    /// When all pods were there.
    start: Mark,
    /// Claims of the pods that look for a node, which stay as they are.
    own: BTreeSet<ClaimId>,
    /// The pods that are away, by uid; nothing for a pod that was on no node.
    gone: BTreeMap<PodUid, Option<Arc<Pod>>>,
    /// Claims whose devices are free while these pods are away.
    aside: BTreeMap<ClaimId, (ClaimUid, Arc<Allocated>)>,
}

impl Absence {
    /// No pod is away yet. These claims give nothing back, whichever pod goes.
    pub fn new(own: BTreeSet<ClaimId>, start: Mark) -> Absence {
        Absence { start, own, gone: BTreeMap::new(), aside: BTreeMap::new() }
    }

    /// The pods that are away, by uid.
    pub fn gone(&self) -> BTreeSet<PodUid> {
        self.gone.keys().cloned().collect()
    }

    /// The claims that give devices back, with their uids.
    pub fn freeing(&self) -> Vec<(ClaimId, ClaimUid)> {
        self.aside.iter().map(|(id, (uid, _))| (id.clone(), uid.clone())).collect()
    }
}

impl Cycle<'_> {
    /// Goes on as if the pods of a unit were gone.
    pub(crate) fn depart(&mut self, absence: &mut Absence, unit: &Unit) {
        unit.pods.iter().for_each(|pod| self.depart_one(absence, pod));
    }

    pub(crate) fn depart_one(&mut self, absence: &mut Absence, pod: &Arc<Pod>) {
        let seen = self.facts.unseat(&pod.uid);
        absence.gone.insert(pod.uid.clone(), seen);
        for id in self.claims_used_by(pod) {
            self.set_claim_aside(absence, id);
        }
    }

    /// Goes on as if pods that are on no node any more had released these claims.
    pub(crate) fn depart_for_good(
        &mut self,
        absence: &mut Absence,
        gone: impl IntoIterator<Item = PodUid>,
        claims: impl IntoIterator<Item = ClaimId>,
    ) {
        absence.gone.extend(gone.into_iter().map(|uid| (uid, None)));
        claims.into_iter().for_each(|id| self.set_claim_aside(absence, id));
    }

    /// Sets a claim aside if all pods that use it are gone.
    fn set_claim_aside(&mut self, absence: &mut Absence, id: ClaimId) {
        let Some(state) = self.facts.claims.get(&id) else { return };
        let users = &state.reserved_for;
        let is_free = !users.is_empty() && users.iter().all(|uid| absence.gone.contains_key(&**uid));
        let is_kept = absence.own.contains(&id) || absence.aside.contains_key(&id);
        let Some(allocated) = state.allocation.clone().filter(|_| is_free && !is_kept) else { return };
        let uid = state.uid.clone();
        self.facts.give_back(&allocated.held);
        absence.aside.insert(id, (uid, allocated));
    }

    /// Goes on as if the pods of a unit had not gone.
    pub(crate) fn come_back(&mut self, absence: &mut Absence, unit: &Unit) {
        for pod in &unit.pods {
            let Some(seen) = absence.gone.remove(&pod.uid) else { continue };
            if let Some(seen) = seen {
                self.facts.reseat(seen);
            }
            for id in self.claims_used_by(pod) {
                if let Some((_, allocated)) = absence.aside.remove(&id) {
                    self.facts.take(&allocated.held);
                }
            }
        }
    }

    /// Where a pod is, or was before it was thought away.
    pub(crate) fn places_before(&self, absence: &Absence, uid: &str) -> Option<NodeIdx> {
        match absence.gone.get(uid) {
            Some(seen) => self.facts.nodes.find(seen.as_ref()?.node.as_ref()?),
            None => self.facts.nodes.pod(uid).map(|(at, _)| at),
        }
    }

    /// All pods are back.
    pub(crate) fn end_absence(&mut self, absence: &Absence) {
        self.facts.rewind(absence.start);
    }

    /// The claims that a pod names, and the one that was made for what it asks for by name.
    pub(crate) fn claims_used_by(&self, pod: &Pod) -> Vec<ClaimId> {
        pod.claim_ids().chain(self.facts.made_for(&pod.uid).cloned()).collect()
    }
}
