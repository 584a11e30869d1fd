//! Whether what a verdict rests on is as it was.
//!
//! A pod waits as before, its claims are the same, so are its group and all groups of its tree with their pods on nodes, and its node has
//! the same labels. Of devices it is enough that pools from which some are given are as they were: published as before, with the same
//! holders.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::facts::Facts;
use cluster::groups::{Groups, Root};
use model::claim::ClaimId;
use model::device::{DeviceId, PoolId};
use model::group::GroupId;
use model::pod::Pod;

use crate::considering::situation::Snapshot;
use crate::plans::Plans;
use crate::underway::Underway;
use crate::values::choice::{Choice, Wanted};

/// What is known now, beside what was known.
pub(super) struct Unchanged<'u> {
    before: &'u Snapshot,
    facts: &'u Facts,
    plans: &'u Plans,
    underway: &'u dyn Underway,
    pools: BTreeMap<PoolId, bool>,
    parties: BTreeMap<Root, bool>,
}

impl<'u> Unchanged<'u> {
    pub fn new(
        before: &'u Snapshot,
        facts: &'u Facts,
        (plans, underway): (&'u Plans, &'u dyn Underway),
    ) -> Unchanged<'u> {
        Unchanged { before, facts, plans, underway, pools: BTreeMap::new(), parties: BTreeMap::new() }
    }

    /// Whether a pod and what it needs are as they were, and it still waits.
    pub fn is_pod(&mut self, pod: &Arc<Pod>) -> bool {
        let (before, now) = (&self.before.facts, self.facts);
        let is_so = |known: &Arc<Pod>| Arc::ptr_eq(known, pod) || known == pod;
        // What is asked now is no other than what was asked: meanwhile another client may have bound the pod, or changed it.
        [before, now].iter().all(|facts| facts.waiting.get(&pod.uid).is_some_and(is_so))
            && !self.underway.is_on_its_way(&pod.uid)
            && before.classes == now.classes
            && before.context(pod) == now.context(pod)
            && before.made_for(&pod.uid) == now.made_for(&pod.uid)
            && self.before.plans.shunned.get(&pod.uid) == self.plans.shunned.get(&pod.uid)
            && pod.claim_ids().chain(now.made_for(&pod.uid).cloned()).all(|id| self.is_claim(&id))
            && now.groups.gang_of(pod).is_none_or(|id| self.is_group(&id))
    }

    fn is_claim(&self, id: &ClaimId) -> bool {
        let (before, now) = (&self.before.facts.claims, &self.facts.claims);
        let is_state = match (before.get(id), now.get(id)) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now) || before == now,
            (before, now) => before.is_none() && now.is_none(),
        };
        is_state
            && before.is_decided(id) == now.is_decided(id)
            && self.before.underway.is_given_up(id) == self.underway.is_given_up(id)
    }

    /// Whether a group is as it was, and so is the tree that it is in: how many pods each group of it needs, and which are on nodes.
    fn is_group(&mut self, id: &GroupId) -> bool {
        let (before, now) = (&self.before.facts.groups, &self.facts.groups);
        let root = now.root_or_self(id);
        if before.root_or_self(id) != root {
            return false;
        }
        if let Some(known) = self.parties.get(&root) {
            return *known;
        }
        let above = |groups: &Groups, leaf: &GroupId| {
            let group = groups.get(leaf).cloned();
            let composites = group.as_ref().map(|group| groups.composites_above(group)).unwrap_or_default();
            (group, composites)
        };
        let leaves = now.leaves_of(&root);
        let is_same = before.leaves_of(&root) == leaves
            && leaves.iter().all(|leaf| {
                above(before, leaf) == above(now, leaf)
                    && before.terms(leaf) == now.terms(leaf)
                    && before.seated(leaf).eq(now.seated(leaf))
            });
        self.parties.insert(root, is_same);
        is_same
    }

    /// Whether a node that was chosen is there with the labels that it had, and the devices that were chosen can be had as before.
    pub fn is_choice(&mut self, choice: &Choice) -> bool {
        let labels = |facts: &'u Facts| {
            let at = facts.nodes.find(&choice.node)?;
            facts.nodes.get(at).node.as_ref().map(|node| &node.labels)
        };
        let is_labelled = match (labels(&self.before.facts), labels(self.facts)) {
            (Some(before), Some(now)) => before == now,
            _ => false,
        };
        is_labelled
            && choice.claims.iter().all(|wanted| match wanted {
                Wanted::Allocation { allocation, .. } | Wanted::Claim { allocation } => {
                    allocation.grants.iter().all(|grant| self.is_pool(grant.device.pool_id()))
                }
                Wanted::Reserved | Wanted::Reservation { .. } => true,
            })
    }

    fn is_pool(&mut self, pool: PoolId) -> bool {
        if let Some(known) = self.pools.get(&pool) {
            return *known;
        }
        let is_same = is_same_pool(&self.before.facts, self.facts, &pool);
        self.pools.insert(pool, is_same);
        is_same
    }
}

fn is_same_pool(before: &Facts, now: &Facts, pool: &PoolId) -> bool {
    let mut pairs = now.slices.of_pool(pool).zip(before.slices.of_pool(pool));
    let mut devices = now.slices.of_pool(pool).flat_map(|published| &published.slice.devices);
    now.slices.of_pool(pool).count() == before.slices.of_pool(pool).count()
        && pairs.all(|(now, before)| Arc::ptr_eq(now, before) || now.slice == before.slice)
        && devices.all(|device| {
            let PoolId { driver, pool } = pool.clone();
            let id = DeviceId { driver, pool, device: device.name.clone() };
            now.claims.ledger().holdings(&id) == before.claims.ledger().holdings(&id)
        })
}
