//! One node, as if pods had gone: does the pod fit then, and who can stay after all?
//!
//! Invariant: the devices of claims that are set aside for a trial are back in the ledger when it ends, whatever came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::claims::Allocated;
use cluster::nodes::{NodeIdx, NodeState};
use cluster::pools::{PoolReach, PoolView, WholePool};
use cluster::trial::Mark;
use model::allocation::Allocation;
use model::claim::ClaimId;
use model::device::{DeviceId, PoolId};
use model::node::Node;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::units::{Unit, broken, pods_of};
use super::victims::{Candidate, sort_by_importance};
use crate::cycle::Cycle;
use crate::filters::{self, Around, Mounts};
use crate::node_refusal::NodeRefusal;
use crate::pod::{Claims, DEVICES, ROOM};
use crate::profile::Profile;
use crate::reason::Reason;
use crate::wake::Wakes;

/// How many pods on other nodes may be thought away for the devices that a node can reach: the least important ones.
const ELSEWHERE_MAX: usize = 64;

const IN_VAIN: &str = "cannot allocate all claims";

/// What trials for one pod have in common.
pub(super) struct Ground<'p> {
    pub pod: &'p Pod,
    pub profile: &'p Profile,
    pub claims: &'p Claims,
    pub around: Around,
    pub mounts: Mounts,
    pub now: Timestamp,
    /// Who holds devices that several nodes reach, by pool, as far as it was looked up.
    pub holders: BTreeMap<PoolId, Vec<(NodeIdx, Arc<Pod>)>>,
}

/// Why a pod would not fit even then.
#[derive(Debug)]
pub(super) enum StillRefused {
    /// There is nobody who could go.
    NoVictims,
    /// This is lacking still.
    Lacks(Lack),
}

struct NodeTrial<'g> {
    /// When nobody was thought away.
    start: Mark,
    ground: &'g Ground<'g>,
    at: NodeIdx,
    node: Arc<Node>,
    state: NodeState,
    around: Around,
    /// Those that are thought away, by uid.
    gone: BTreeSet<Arc<str>>,
    /// Claims whose devices are free while they are.
    aside: BTreeMap<ClaimId, (Arc<str>, Arc<Allocated>)>,
    /// The devices that were found last, as long as no claim was set aside or put back since.
    found: Option<Vec<Allocation>>,
}

/// What is lacking on a node.
#[derive(Debug)]
pub(super) struct Lack {
    pub reasons: Vec<Reason>,
    pub wakes_on: Wakes,
    is_of_devices: bool,
}

impl Lack {
    fn room(refusal: &NodeRefusal) -> Lack {
        let reasons = refusal.reasons().into_iter().map(Reason::from).collect();
        Lack { reasons, wakes_on: refusal.wakes_on(), is_of_devices: false }
    }

    /// The node has too little for what devices take of it.
    fn footing(reason: String) -> Lack {
        Lack { reasons: vec![reason.into()], wakes_on: DEVICES.or(ROOM), is_of_devices: false }
    }

    fn devices(reason: Reason) -> Lack {
        Lack { reasons: vec![reason], wakes_on: DEVICES, is_of_devices: true }
    }
}

impl Cycle<'_> {
    /// Whether a pod would fit on a node if less important pods went, and which have to.
    pub(super) fn try_node(
        &mut self,
        ground: &mut Ground<'_>,
        at: NodeIdx,
    ) -> Result<Candidate, StillRefused> {
        let (importance, now) = (ground.pod.priority, ground.now);
        let lower = self.facts.nodes.get(at).pods.values().filter(|one| one.priority < importance);
        let here: Vec<Arc<Pod>> = lower.cloned().collect();
        let units = self.units_below(here.iter().cloned(), importance, now);
        let tried = (!units.is_empty()).then(|| self.try_without(ground, at, units));
        // Devices that are reached from elsewhere too may be had from pods there, perhaps with less harm.
        let is_about_devices = match &tried {
            None => true,
            Some(Ok(candidate)) => !candidate.freeing.is_empty(),
            Some(Err(lack)) => lack.is_of_devices,
        };
        let mut elsewhere = Vec::new();
        if is_about_devices && ground.claims.need_devices() {
            elsewhere = self.holders_elsewhere(ground, at);
        }
        if elsewhere.is_empty() {
            return match tried {
                None => Err(StillRefused::NoVictims),
                Some(tried) => tried.map_err(StillRefused::Lacks),
            };
        }
        let units = self.units_below(here.into_iter().chain(elsewhere), importance, now);
        if units.is_empty() {
            return Err(StillRefused::NoVictims);
        }
        let with_others = self.try_without(ground, at, units);
        match (tried, with_others) {
            (Some(Ok(one)), Ok(other)) => Ok(one.or_less_harm(other, ground.now)),
            (Some(Ok(one)), Err(_)) | (_, Ok(one)) => Ok(one),
            (_, Err(lack)) => Err(StillRefused::Lacks(lack)),
        }
    }

    /// Whether a pod would fit on a node if some of these went, and which have to.
    fn try_without(
        &mut self,
        ground: &Ground<'_>,
        at: NodeIdx,
        victims: Vec<Unit>,
    ) -> Result<Candidate, Lack> {
        let mut trial = self.trial(ground, at);
        let was_in_vain = self.check_room(&trial).is_ok();
        pods_of(&victims).for_each(|victim| self.think_away(&mut trial, victim));
        let fits = self.check(&mut trial, was_in_vain).map(|()| self.reprieve(&mut trial, victims));
        self.end_trial(&trial);
        fits
    }

    /// The devices that a pod would get on a node once pods that are going are gone, the claims that would give them back,
    /// and whose those are.
    pub(super) fn look_ahead(
        &mut self,
        ground: &Ground<'_>,
        at: NodeIdx,
        going: &[Arc<Pod>],
    ) -> Option<Candidate> {
        let mut trial = self.trial(ground, at);
        going.iter().for_each(|victim| self.think_away(&mut trial, victim));
        let fits = self.check(&mut trial, false).is_ok();
        let candidate = fits.then(|| candidate(&mut trial, going.to_vec(), (0, 0)));
        self.end_trial(&trial);
        candidate
    }

    fn trial<'g>(&self, ground: &'g Ground<'g>, at: NodeIdx) -> NodeTrial<'g> {
        let state = self.facts.nodes.get(at).clone();
        NodeTrial {
            start: self.facts.mark(),
            ground,
            at,
            node: state.node.clone().expect("only nodes that exist are tried"),
            state,
            around: ground.around.clone(),
            gone: BTreeSet::new(),
            aside: BTreeMap::new(),
            found: None,
        }
    }

    /// Lets as many stay as can, the most important first; before all others those that a disruption budget would keep.
    fn reprieve(&mut self, trial: &mut NodeTrial<'_>, victims: Vec<Unit>) -> Candidate {
        let (kept, others): (Vec<_>, Vec<_>) =
            self.with_violations(victims).into_iter().partition(|(_, violations)| *violations > 0);
        let mut violations = 0;
        let mut going: Vec<Unit> = Vec::new();
        for (victim, of_budgets) in kept.into_iter().chain(others) {
            let found = trial.found.clone();
            victim.pods.iter().for_each(|pod| self.think_back(trial, pod));
            if self.check(trial, false).is_ok() {
                continue;
            }
            victim.pods.iter().for_each(|pod| self.think_away(trial, pod));
            // The devices are as free again as they were when these were found.
            trial.found = found;
            violations += of_budgets;
            going.push(victim);
        }
        let broken = broken(&going);
        let mut going: Vec<Arc<Pod>> = pods_of(&going).cloned().collect();
        sort_by_importance(&mut going, trial.ground.now);
        candidate(trial, going, (violations, broken))
    }

    /// Units, and how many of the pods of each a disruption budget would keep.
    pub(crate) fn with_violations(&self, units: Vec<Unit>) -> Vec<(Unit, usize)> {
        let violating = self.facts.budgets.violations(pods_of(&units).map(|pod| &**pod));
        let mut violating = violating.into_iter();
        let count = |unit: Unit| {
            let count = violating.by_ref().take(unit.pods.len()).filter(|it| *it).count();
            (unit, count)
        };
        units.into_iter().map(count).collect()
    }

    /// Goes on as if a pod were gone.
    fn think_away(&mut self, trial: &mut NodeTrial<'_>, victim: &Pod) {
        let Some((at, _)) = self.facts.nodes.pod(&victim.uid) else { return };
        if at == trial.at {
            trial.state.take(&victim.uid);
        }
        if let Some(node) = &self.facts.nodes.get(at).node {
            trial.around.remove(victim, node);
        }
        trial.gone.insert(victim.uid.clone());
        for id in self.claims_used_by(victim) {
            self.set_aside(trial, id);
        }
    }

    /// The claims that a pod names, and the one that was made for what it asks for by name.
    pub(super) fn claims_used_by(&self, pod: &Pod) -> Vec<ClaimId> {
        pod.claim_ids().chain(self.facts.made_for(&pod.uid).cloned()).collect()
    }

    /// Sets a claim aside if all who use it are gone, and the pod itself does not use it.
    fn set_aside(&mut self, trial: &mut NodeTrial<'_>, id: ClaimId) {
        let Some(state) = self.facts.claims.get(&id) else { return };
        let own = &trial.ground.claims;
        let is_own = own.settled.iter().chain(&own.open).any(|state| state.wish.id == id);
        let is_free =
            !state.reserved_for.is_empty() && state.reserved_for.iter().all(|uid| trial.gone.contains(uid));
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
    fn think_back(&mut self, trial: &mut NodeTrial<'_>, victim: &Arc<Pod>) {
        let Some((at, _)) = self.facts.nodes.pod(&victim.uid) else { return };
        if at == trial.at {
            trial.state.put(victim.clone());
        }
        if let Some(node) = &self.facts.nodes.get(at).node {
            trial.around.add(victim, node);
        }
        trial.gone.remove(&victim.uid);
        for id in self.claims_used_by(victim) {
            if let Some((_, allocated)) = trial.aside.remove(&id) {
                self.facts.take(&allocated.held);
                trial.found = None;
            }
        }
    }

    fn end_trial(&mut self, trial: &NodeTrial<'_>) {
        self.facts.rewind(trial.start);
    }

    /// Whether the pod fits as things are thought to be. Devices that were looked for in vain before are looked for again
    /// only if some became free since.
    fn check(&mut self, trial: &mut NodeTrial<'_>, was_in_vain: bool) -> Result<(), Lack> {
        self.check_room(trial).map_err(|refusal| Lack::room(&refusal))?;
        let own = trial.ground.claims;
        let is_the_same = trial.aside.is_empty() && own.settled.is_empty() && own.footing.is_none();
        if was_in_vain && is_the_same && trial.found.is_none() {
            return Err(Lack::devices(IN_VAIN.into()));
        }
        let found = match trial.found.take() {
            Some(found) => found,
            None => self.search_devices(&trial.node, own).map_err(|none| Lack::devices(none.reason))?,
        };
        self.check_footing(&trial.state, own, &found).map_err(Lack::footing)?;
        trial.found = Some(found);
        Ok(())
    }

    fn check_room(&self, trial: &NodeTrial<'_>) -> Result<(), NodeRefusal> {
        let NodeTrial { ground, state, around, .. } = trial;
        let pod = ground.pod;
        let settings = &ground.profile.filters;
        filters::usage(&pod.shape, state, settings)
            .and_then(|()| ground.mounts.check(&trial.node))
            .and_then(|()| around.check(state))
            .and_then(|()| {
                let who = (&*pod.uid, pod.priority);
                self.check_beside_nominees(&pod.shape, who, state, Some(around), settings)
            })
    }

    /// Pods on other nodes that hold devices which the node can reach: the least important of those that could all go.
    fn holders_elsewhere(&self, ground: &mut Ground<'_>, at: NodeIdx) -> Vec<Arc<Pod>> {
        let node = filters::node_of(self.facts.nodes.get(at));
        let Ok(pools) = self.facts.slices.pools_for(node, self.settings.gates) else { return Vec::new() };
        let mut holders: BTreeMap<Arc<str>, Arc<Pod>> = BTreeMap::new();
        for pool in pools {
            let PoolView::Whole(pool) = pool else { continue };
            if self.facts.slices.node_of(&pool.id) != PoolReach::Several {
                continue;
            }
            let of_pool = ground.holders.entry(pool.id.clone());
            let of_pool = of_pool.or_insert_with(|| self.holders_of(&pool, ground.pod.priority));
            let others = of_pool.iter().filter(|(place, _)| *place != at);
            holders.extend(others.map(|(_, pod)| (pod.uid.clone(), pod.clone())));
        }
        let mut holders: Vec<Arc<Pod>> = holders.into_values().collect();
        sort_by_importance(&mut holders, ground.now);
        holders.split_off(holders.len().saturating_sub(ELSEWHERE_MAX))
    }

    /// Who holds devices of a pool and where, of those that matter less than this.
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
        let user = |uid: &Arc<str>| {
            let (at, pod) = self.facts.nodes.pod(uid)?;
            (pod.priority < priority).then(|| (at, pod.clone()))
        };
        state.reserved_for.iter().map(user).collect::<Option<Vec<_>>>().unwrap_or_default()
    }
}

fn candidate(
    trial: &mut NodeTrial<'_>,
    victims: Vec<Arc<Pod>>,
    (violations, broken): (usize, usize),
) -> Candidate {
    Candidate {
        node: trial.node.name.clone(),
        victims,
        violations,
        broken,
        allocations: trial.found.take().unwrap_or_default(),
        freeing: trial.aside.iter().map(|(id, (uid, _))| (id.clone(), uid.clone())).collect(),
    }
}
