//! What a change may have touched, and has to be looked at again.

use std::collections::BTreeSet;

use cluster::change::Change;
use cluster::facts::Facts;
use model::claim::ClaimId;
use model::device::PoolId;
use model::identity::{NodeName, PodUid};

/// What has to be looked at again.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    /// Everything.
    pub everything: bool,
    /// These pools.
    pub pools: BTreeSet<PoolId>,
    /// These nodes.
    pub nodes: BTreeSet<NodeName>,
    /// The levels of the topology.
    pub levels: bool,
    /// These pods, which wait or have waited.
    pub waiting: BTreeSet<PodUid>,
    /// All pods that wait.
    pub all_waiting: bool,
}

impl Dirty {
    pub(super) fn is_clean(&self) -> bool {
        let Dirty { everything, pools, nodes, levels, waiting, all_waiting } = self;
        !everything && pools.is_empty() && nodes.is_empty() && !levels && waiting.is_empty() && !all_waiting
    }

    /// Notes what a change touches. The facts are those before it.
    pub(super) fn note(&mut self, change: &Change, facts: &Facts) {
        match change {
            Change::NodeApplied(node) => {
                let known = facts.nodes.find(&node.name).and_then(|at| facts.nodes.get(at).node.as_ref());
                if known.is_none_or(|known| known.labels != node.labels) {
                    self.levels = true;
                    self.pools.extend(facts.slices.shared().map(|published| published.slice.pool.clone()));
                }
                self.nodes.insert(node.name.clone());
            }
            Change::NodeGone(name) => {
                self.levels = true;
                self.nodes.insert(name.clone());
            }
            Change::PodApplied(pod) => {
                self.note_pod(&pod.uid, facts);
                self.nodes.extend(pod.node.clone());
            }
            Change::PodGone(uid) => self.note_pod(uid, facts),
            Change::SliceApplied(published) => {
                self.note_slice(&published.slice.name, facts);
                self.pools.insert(published.slice.pool.clone());
            }
            Change::SliceGone(name) => self.note_slice(name, facts),
            Change::TaintRuleApplied(_)
            | Change::TaintRuleGone(_)
            | Change::ClassApplied(_)
            | Change::ClassGone(_) => self.everything = true,
            Change::ClaimApplied(state) | Change::ClaimListed(state) | Change::ClaimAnswered(state) => {
                self.note_claim(&state.wish.id, facts);
                let held = state.allocation.iter().flat_map(|allocated| &allocated.held);
                self.pools.extend(held.map(|held| held.device.pool_id()));
            }
            Change::ClaimGone(id) | Change::ClaimMissing(id, _) => self.note_claim(id, facts),
            Change::Group(_) => (self.levels, self.all_waiting) = (true, true),
            Change::NamespaceApplied(..)
            | Change::NamespaceGone(_)
            | Change::Storage(_)
            | Change::Companions(_)
            | Change::Negotiation(_)
            | Change::BudgetApplied(_)
            | Change::BudgetGone(..) => {}
        }
    }

    fn note_pod(&mut self, uid: &PodUid, facts: &Facts) {
        self.waiting.insert(uid.clone());
        if let Some((at, _)) = facts.nodes.pod(uid)
            && let Some(node) = &facts.nodes.get(at).node
        {
            self.nodes.insert(node.name.clone());
        }
    }

    fn note_slice(&mut self, name: &str, facts: &Facts) {
        self.pools.extend(facts.slices.get(name).map(|known| known.slice.pool.clone()));
    }

    fn note_claim(&mut self, id: &ClaimId, facts: &Facts) {
        self.pools.extend(facts.claims.held(id).into_iter().map(|held| held.device.pool_id()));
    }
}
