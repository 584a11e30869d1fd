//! Whether what a verdict rests on is as it was.
//!
//! A pod waits as before, its claims and groups are the same, and its node has the same labels. Of devices it is enough that pools from
//! which some are given are as they were: published as before, with the same holders.

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
    groups: BTreeMap<GroupId, bool>,
}

impl<'u> Unchanged<'u> {
    pub fn new(
        before: &'u Snapshot,
        facts: &'u Facts,
        (plans, underway): (&'u Plans, &'u dyn Underway),
    ) -> Unchanged<'u> {
        Unchanged { before, facts, plans, underway, pools: BTreeMap::new(), groups: BTreeMap::new() }
    }

    /// Whether what a pod needs is as it was, and it still waits.
    pub fn is_pod(&mut self, pod: &Arc<Pod>) -> bool {
        let waits = self.facts.waiting.get(&pod.uid).is_some_and(|now| Arc::ptr_eq(now, pod) || now == pod);
        let (before, now) = (&self.before.facts, self.facts);
        waits
            && !self.underway.is_on_its_way(&pod.uid)
            && before.classes == now.classes
            && before.context(pod) == now.context(pod)
            && before.made_for(&pod.uid) == now.made_for(&pod.uid)
            && self.before.plans.shunned.get(&pod.uid) == self.plans.shunned.get(&pod.uid)
            && pod.claim_ids().chain(now.made_for(&pod.uid).cloned()).all(|id| self.is_claim(&id))
            && now.groups.gang_of(pod).is_none_or(|id| self.is_group(id))
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

    fn is_group(&mut self, id: GroupId) -> bool {
        if let Some(known) = self.groups.get(&id) {
            return *known;
        }
        let (before, now) = (&self.before.facts.groups, &self.facts.groups);
        let above = |groups: &Groups| {
            let group = groups.get(&id).cloned();
            let composites = group.as_ref().map(|group| groups.composites_above(group)).unwrap_or_default();
            (group, composites)
        };
        let root: Root = now.root_or_self(&id);
        let is_same = above(before) == above(now)
            && before.terms(&id) == now.terms(&id)
            && before.seated(&id).eq(now.seated(&id))
            && before.root_or_self(&id) == root
            && before.leaves_of(&root) == now.leaves_of(&root);
        self.groups.insert(id, is_same);
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
