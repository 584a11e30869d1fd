//! Pods on other nodes that hold devices which a node can reach.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::nodes::NodeIdx;
use cluster::pools::{PoolReach, PoolView, WholePool};
use model::claim::ClaimId;
use model::device::DeviceId;
use model::identity::{ConsumerUid, PodUid};
use model::pod::Pod;

use crate::cycle::Cycle;
use crate::filters;
use crate::preempt::candidate::sort_by_importance;
use crate::preempt::lack::Preemptor;

/// How many pods on other nodes may be thought away for the devices that a node can reach: the least important ones.
const ELSEWHERE_MAX: usize = 64;

impl Cycle<'_> {
    /// Pods on other nodes that hold devices which the node can reach: the least important of those that could all go.
    pub(crate) fn holders_elsewhere(&self, preemptor: &mut Preemptor<'_>, at: NodeIdx) -> Vec<Arc<Pod>> {
        let node = filters::node_of(self.facts.nodes.get(at));
        let Ok(pools) = self.facts.slices.pools_for(node, self.settings.gates) else { return Vec::new() };
        let mut holders: BTreeMap<PodUid, Arc<Pod>> = BTreeMap::new();
        for pool in pools {
            let PoolView::Whole(pool) = pool else { continue };
            if self.facts.slices.node_of(&pool.id) != PoolReach::Several {
                continue;
            }
            let of_pool = preemptor.holders.entry(pool.id.clone());
            let of_pool = of_pool.or_insert_with(|| self.holders_of(&pool, preemptor.pod.priority));
            let others = of_pool.iter().filter(|(place, _)| *place != at);
            holders.extend(others.map(|(_, pod)| (pod.uid.clone(), pod.clone())));
        }
        let mut holders: Vec<Arc<Pod>> = holders.into_values().collect();
        sort_by_importance(&mut holders, preemptor.now);
        holders.split_off(holders.len().saturating_sub(ELSEWHERE_MAX))
    }

    /// The pods that hold devices of a pool, and their nodes, of the pods that matter less than this.
    fn holders_of(&self, pool: &WholePool, priority: i32) -> Vec<(NodeIdx, Arc<Pod>)> {
        let slices = pool.here.iter().chain(&pool.elsewhere);
        let devices = slices.flat_map(|slice| &slice.slice.devices).map(|device| DeviceId {
            driver: pool.id.driver.clone(),
            pool: pool.id.pool.clone(),
            device: device.name.clone(),
        });
        let mut holders = Vec::new();
        for device in devices {
            let holdings =
                self.facts.claims.ledger().holdings(&device).into_iter().flat_map(|all| all.iter());
            let claims = holdings.filter_map(|one| one.holder.claim());
            holders.extend(claims.flat_map(|claim| self.users(claim, priority)));
        }
        holders
    }

    /// The pods that use a claim and where they are, if all of them matter less than this.
    fn users(&self, claim: &ClaimId, priority: i32) -> Vec<(NodeIdx, Arc<Pod>)> {
        let Some(state) = self.facts.claims.get(claim) else { return Vec::new() };
        let user = |uid: &ConsumerUid| {
            let (at, pod) = self.facts.nodes.pod(uid)?;
            (pod.priority < priority).then(|| (at, pod.clone()))
        };
        state.reserved_for.iter().map(user).collect::<Option<Vec<_>>>().unwrap_or_default()
    }
}
