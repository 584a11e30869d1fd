//! The largest partitions of devices that share counters, and the pods that would have to move for one of them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use allocation::{Stock, Supply};
use cluster::change::Change;
use cluster::claims::{Allocated, ClaimState, Held};
use cluster::facts::Facts;
use cluster::ledger::Holding;
use cluster::pools::PoolView;
use explain::Extent;
use model::claim::{Claim, ClaimId, ClaimSpec};
use model::device::{CounterSet, Device, DeviceId};
use model::identity::PodUid;
use model::pod::PodId;

use crate::defragment::{Found, Trials};
use crate::rehearsal::Rehearsal;

/// One of the largest partitions.
#[derive(Clone, Debug)]
pub(crate) struct WantedPartition {
    id: DeviceId,
    device: Device,
    /// The part that it draws of a counter.
    part: f64,
    /// Whether no claim holds it and the counters cover it.
    free: bool,
}

/// All partitions of which none of the same driver draws a larger part of its counters. Nothing if no device draws on counters.
pub(crate) fn largest_partitions(facts: &Facts) -> Option<Vec<WantedPartition>> {
    let mut largest: BTreeMap<Arc<str>, (f64, Vec<WantedPartition>)> = BTreeMap::new();
    for (view, slices) in facts.slices.pools(facts.gates) {
        let PoolView::Whole(pool) = &view else { continue };
        let mut stock = Stock::of(pool, facts.claims.ledger(), facts.gates);
        let sets = pool.counters.iter().flat_map(|slice| &slice.slice.counter_sets);
        let sets: BTreeMap<&Arc<str>, &CounterSet> = sets.map(|set| (&set.name, set)).collect();
        for (slice, device) in
            slices.iter().flat_map(|slice| slice.slice.devices.iter().map(move |one| (slice, one)))
        {
            let Some(part) = part_of(device, &sets) else { continue };
            let (driver, pool) = (slice.slice.pool.driver.clone(), slice.slice.pool.pool.clone());
            let id = DeviceId { driver: driver.clone(), pool, device: device.name.clone() };
            let is_held = facts.claims.ledger().holdings(&id).is_some();
            let free = !is_held && stock.supply(device) == Supply::Enough;
            let wanted = WantedPartition { id, device: device.clone(), part, free };
            let (most, all) = largest.entry(driver).or_insert_with(|| (part, Vec::new()));
            match part.partial_cmp(most).unwrap_or(Ordering::Equal) {
                Ordering::Less => {}
                Ordering::Equal => all.push(wanted),
                Ordering::Greater => (*most, *all) = (part, vec![wanted]),
            }
        }
    }
    let all: Vec<WantedPartition> = largest.into_values().flat_map(|(_, all)| all).collect();
    (!all.is_empty()).then_some(all)
}

/// The largest part of a counter that a device draws, if it draws on any.
fn part_of(device: &Device, sets: &BTreeMap<&Arc<str>, &CounterSet>) -> Option<f64> {
    let parts = device.draws.iter().flat_map(|draw| {
        let set = sets.get(&draw.counter_set);
        draw.counters.iter().filter_map(move |(name, drawn)| {
            let all = set?.counters.get(name)?.nanos()?;
            let drawn = drawn.nanos()?;
            (all > 0).then(|| drawn as f64 / all as f64)
        })
    });
    parts.max_by(f64::total_cmp)
}

/// The fewest moves, and no more than this, after which one of these partitions is free.
pub(crate) fn free_partition(
    trials: &mut Trials,
    wanted: Vec<WantedPartition>,
    stays: &BTreeSet<PodId>,
    moves_max: usize,
) -> Found {
    let movable = trials.movable(stays);
    let facts = &trials.base.facts;
    let mut candidates = Vec::new();
    for one in wanted {
        if facts.claims.ledger().holdings(&one.id).is_some() || !one.device.taints.is_empty() {
            continue;
        }
        if one.free {
            let partition = Some(one.id.to_string());
            return Found { moves: Some(Vec::new()), pods: Vec::new(), partition, extent: Extent::Whole };
        }
        // What a claim holds that no pod uses cannot be moved.
        if let Some(pods) = holders(facts, &one).filter(|pods| pods.iter().all(|uid| movable.contains(uid))) {
            candidates.push((pods.len(), one.id.clone(), pods, one));
        }
    }
    candidates.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    let mut is_bounded = false;
    for (count, id, pods, one) in candidates {
        if count > moves_max {
            break;
        }
        let found = trials.moves(&pods, |rehearsal| take(rehearsal, &one));
        // With less than a whole counter, some of the pods could stay.
        is_bounded |= trials.left == 0 || one.part < 1.0 && count > 1;
        if let Some((moves, ())) = found.filter(|(moves, ())| moves.len() == pods.len()) {
            let extent = if is_bounded { Extent::Bounded } else { Extent::Whole };
            return Found { moves: Some(moves), pods: Vec::new(), partition: Some(id.to_string()), extent };
        }
    }
    let extent = if is_bounded { Extent::Bounded } else { Extent::Whole };
    Found { moves: None, pods: Vec::new(), partition: None, extent }
}

/// Whether the counters of its pool cover a partition that no claim holds.
fn is_free(facts: &Facts, wanted: &WantedPartition) -> bool {
    let pool = wanted.id.pool_id();
    let views = facts.slices.pools(facts.gates);
    let mut whole = views.filter_map(|(view, _)| match view {
        PoolView::Whole(whole) if whole.id == pool => Some(whole),
        _ => None,
    });
    let Some(pool) = whole.next() else { return false };
    let mut stock = Stock::of(&pool, facts.claims.ledger(), facts.gates);
    stock.supply(&wanted.device) == Supply::Enough && facts.claims.ledger().holdings(&wanted.id).is_none()
}

/// The pods that use devices which draw on the counters of a partition. Nothing if no pod uses one of these.
fn holders(facts: &Facts, wanted: &WantedPartition) -> Option<BTreeSet<PodUid>> {
    let sets: BTreeSet<&Arc<str>> = wanted.device.draws.iter().map(|draw| &draw.counter_set).collect();
    let pool = wanted.id.pool_id();
    let of_pool = facts.slices.of_pool(&pool).flat_map(|slice| &slice.slice.devices);
    let mut pods = BTreeSet::new();
    for device in of_pool.filter(|one| one.draws.iter().any(|draw| sets.contains(&draw.counter_set))) {
        let id = DeviceId { device: device.name.clone(), ..wanted.id.clone() };
        let Some(holdings) = facts.claims.ledger().holdings(&id) else { continue };
        for holding in holdings.iter() {
            let claim = facts.claims.get(holding.holder.claim()?)?;
            let mut users = BTreeSet::new();
            for user in &claim.reserved_for {
                match facts.nodes.pod(user) {
                    Some((_, pod)) => drop(users.insert(pod.uid.clone())),
                    None => users.extend(facts.groups.seated_by_uid(user).cloned()),
                }
            }
            if users.is_empty() {
                return None;
            }
            pods.extend(users);
        }
    }
    Some(pods)
}

/// Takes a partition, so that no pod that is placed anew gets what it draws.
fn take(rehearsal: &mut Rehearsal, wanted: &WantedPartition) -> Option<()> {
    if !is_free(rehearsal.facts(), wanted) {
        return None;
    }
    let id = ClaimId { namespace: "".into(), name: "largest-partition".into() };
    let declared = wanted.device.draws.iter().filter(|draw| !draw.groups.is_empty());
    let groups = declared.map(|draw| (draw.counter_set.clone(), draw.groups.clone())).collect();
    let holding = Holding { holder: id.clone().into(), groups, consumed: BTreeMap::new() };
    let held = Held { device: wanted.id.clone(), share: None, holding, tolerations: Vec::new() };
    rehearsal.tell(Change::ClaimApplied(Box::new(ClaimState {
        uid: "largest-partition".into(),
        version: "1".into(),
        wish: Arc::new(Claim { id, spec: ClaimSpec::default() }),
        allocation: Some(Arc::new(Allocated { nodes: None, held: vec![held] })),
        reserved_for: Vec::new(),
        owner: None,
        extended: false,
        deleting: false,
        protected: false,
        preparation: None,
        control: Default::default(),
    })));
    Some(())
}
