//! A node as if some of its pods were gone, with the devices that they hold free.
//!
//! Invariant: devices of claims that are set aside for a trial are back in the ledger when it ends, whatever came of it, and what pods
//! everywhere mean for the pod is counted as before.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::claims::Allocated;
use cluster::nodes::{NodeIdx, NodeState};
use cluster::trial::Mark;
use model::allocation::Allocation;
use model::claim::ClaimId;
use model::identity::{ClaimUid, PodUid};
use model::node::Node;
use model::pod::Pod;

use crate::cycle::Cycle;
use crate::filters;
use crate::pod::Beside;
use crate::preempt::lack::{Lack, Preemptor};
use crate::values::node_refusal::NodeRefusal;
use crate::values::reason::DeviceReason;
use crate::values::work;

pub(crate) struct NodeTrial<'g, 'p> {
    /// When no pod was taken away.
    start: Mark,
    pub(crate) preemptor: &'g mut Preemptor<'p>,
    at: NodeIdx,
    pub(crate) node: Arc<Node>,
    state: NodeState,
    /// The pods that are taken away, by uid, and where they are.
    gone: BTreeMap<PodUid, (NodeIdx, Arc<Pod>)>,
    /// Claims whose devices are free while these pods are away.
    pub(crate) aside: BTreeMap<ClaimId, (ClaimUid, Arc<Allocated>)>,
    /// The devices that were found last, as long as no claim was set aside or put back since.
    pub(crate) found: Option<Vec<Allocation>>,
}

impl Cycle<'_> {
    pub(crate) fn trial<'g, 'p>(
        &mut self,
        preemptor: &'g mut Preemptor<'p>,
        at: NodeIdx,
    ) -> NodeTrial<'g, 'p> {
        let state = self.facts.nodes.get(at).clone();
        self.caches.work.spend(work::STATE + state.pods.len() as u64 * work::POD);
        NodeTrial {
            start: self.facts.mark(),
            preemptor,
            at,
            node: state.node.clone().expect("only nodes that exist are tried"),
            state,
            gone: BTreeMap::new(),
            aside: BTreeMap::new(),
            found: None,
        }
    }

    /// Goes on as if a pod were gone.
    pub(crate) fn take_away(&mut self, trial: &mut NodeTrial<'_, '_>, victim: &Arc<Pod>) {
        let Some((at, _)) = self.facts.nodes.pod(&victim.uid) else { return };
        if trial.gone.insert(victim.uid.clone(), (at, victim.clone())).is_some() {
            return;
        }
        self.caches.work.spend(work::POD);
        if at == trial.at {
            trial.state.take(&victim.uid);
        }
        if let Some(node) = &self.facts.nodes.get(at).node {
            trial.preemptor.around.remove(victim, node);
        }
        for id in self.claims_used_by(victim) {
            self.set_aside(trial, id);
        }
    }

    /// Sets a claim aside if all pods that use it are gone, and the pod itself does not use it.
    fn set_aside(&mut self, trial: &mut NodeTrial<'_, '_>, id: ClaimId) {
        let Some(state) = self.facts.claims.get(&id) else { return };
        let own = &trial.preemptor.claims;
        let is_own = own.settled.iter().chain(&own.open).any(|state| state.wish.id == id);
        let is_free = !state.reserved_for.is_empty()
            && state.reserved_for.iter().all(|uid| trial.gone.contains_key(&**uid));
        let Some(allocated) = state.allocation.clone().filter(|_| is_free && !is_own) else { return };
        if trial.aside.contains_key(&id) {
            return;
        }
        let uid = state.uid.clone();
        self.facts.give_back(&allocated.held);
        trial.found = None;
        trial.aside.insert(id, (uid, allocated));
    }

    /// Goes on as if a pod had not gone.
    pub(crate) fn put_back(&mut self, trial: &mut NodeTrial<'_, '_>, victim: &Arc<Pod>) {
        let Some((at, _)) = trial.gone.remove(&victim.uid) else { return };
        self.caches.work.spend(work::POD);
        if at == trial.at {
            trial.state.put(victim.clone());
        }
        if let Some(node) = &self.facts.nodes.get(at).node {
            trial.preemptor.around.add(victim, node);
        }
        for id in self.claims_used_by(victim) {
            if let Some((_, allocated)) = trial.aside.remove(&id) {
                self.facts.take(&allocated.held);
                trial.found = None;
            }
        }
    }

    /// All pods are back.
    pub(crate) fn end_trial(&mut self, trial: &mut NodeTrial<'_, '_>) {
        self.facts.rewind(trial.start);
        for (at, victim) in trial.gone.values() {
            if let Some(node) = &self.facts.nodes.get(*at).node {
                trial.preemptor.around.add(victim, node);
            }
        }
    }

    /// Whether the pod fits as things are thought to be. Devices that were looked for in vain before are looked for again
    /// only if some became free since.
    pub(crate) fn check(&mut self, trial: &mut NodeTrial<'_, '_>, was_in_vain: bool) -> Result<(), Lack> {
        let (own, name) = (trial.preemptor.claims, &trial.node.name.clone());
        self.caches.work.spend(work::NODE);
        self.check_room(trial).map_err(|refusal| Lack::room(&refusal, name))?;
        let is_the_same = trial.aside.is_empty() && own.settled.is_empty() && own.footing.is_none();
        if was_in_vain && is_the_same && trial.found.is_none() {
            return Err(Lack::devices(DeviceReason::Insufficient, name, own));
        }
        let found = match trial.found.take() {
            Some(found) => found,
            None => {
                let found = self.search_devices(&trial.node, own);
                found.map_err(|none| Lack::devices(none.reason, name, own))?
            }
        };
        let fits = self.check_footing(&trial.state, own, &found);
        fits.map_err(|reason| Lack::footing(reason, name, own))?;
        trial.found = Some(found);
        Ok(())
    }

    pub(crate) fn check_room(&self, trial: &mut NodeTrial<'_, '_>) -> Result<(), NodeRefusal> {
        let NodeTrial { preemptor, state, .. } = trial;
        let (pod, around) = (preemptor.pod, &mut preemptor.around);
        let settings = &preemptor.profile.filters;
        filters::usage(&pod.shape, state, settings)?;
        preemptor.mounts.check(state, &self.facts.volumes)?;
        around.check(state)?;
        let who = (&*pod.uid, pod.priority);
        let rules = (settings, Some(&preemptor.mounts));
        self.check_beside_nominees(&pod.shape, who, state, Beside::Counted(around), rules)
    }
}
