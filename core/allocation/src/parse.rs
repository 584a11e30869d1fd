//! From the question to numbers: everything that does not depend on what is chosen is decided here.
//!
//! Claims are judged in order, request by request, and the first thing that cannot be judged ends it, as in the reference.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::ledger::{Holding, Holdings};
use cluster::pools::{PoolView, WholePool, reaches};
use cluster::published::Published;
use fixedbitset::FixedBitSet;
use gates::Gate;
use model::claim::{Amount, Ask, Class, Request, Rule, Wish};
use model::device::{Device, DeviceId, Reach};
use model::quantity::NANOS_MAX;
use model::request_name::RequestName;
use smallvec::SmallVec;

use crate::asked::Asked;
use crate::constraint::{Numbering, ParsedConstraint};
use crate::counters::Counters;
use crate::error::{AllocationError, Place};
use crate::expressions::Expressions;
use crate::problem::{Alternative, Others, ParsedClaim, ParsedRequest, Problem, Spot};
use crate::{DeviceOrder, Question, RESULTS_MAX};

mod candidates;
mod values;

/// The question while it is being turned into numbers.
pub(crate) struct Parser<'q, 'e> {
    question: &'e Question<'q>,
    expressions: &'e mut Expressions,
    problem: Problem,
    /// What holds each device.
    holdings: Vec<Option<&'q Holdings>>,
    /// What each alternative asks for.
    asks: Vec<&'q Ask>,
    numbering: Numbering,
    /// Where the values of an attribute stand, by its name and by the expression that derives it.
    tables: BTreeMap<(Arc<str>, Option<Arc<str>>), u32>,
}

/// A way to satisfy a request: its name, if there are others, and what it asks for.
type NamedAsk<'q> = (Option<&'q Arc<str>>, &'q Ask);

/// Turns a question into numbers.
pub(crate) fn parse<'q>(
    question: &Question<'q>,
    expressions: &mut Expressions,
) -> Result<Problem, AllocationError> {
    let (spots, holdings, counters, others) = spots(question, expressions);
    let (mut contradictory_pools, mut gathering_pools) = (Vec::new(), Vec::new());
    for pool in question.pools {
        match pool {
            PoolView::Whole(_) => {}
            PoolView::Gathering { id, .. } => gathering_pools.push(id.clone()),
            PoolView::Contradictory { id, reason } => {
                contradictory_pools.push((id.clone(), reason.to_string()));
            }
        }
    }
    let problem = Problem {
        spots,
        others,
        alternatives: Vec::new(),
        requests: Vec::new(),
        claims: Vec::new(),
        tables: Vec::new(),
        counters,
        node: question.node.name.clone(),
        gates: question.gates,
        contradictory_pools,
        gathering_pools,
    };
    let mut parser = Parser {
        question,
        expressions,
        problem,
        holdings,
        asks: Vec::new(),
        numbering: Numbering::default(),
        tables: BTreeMap::new(),
    };
    for claim in question.claims {
        parser.claim(*claim)?;
    }
    Ok(parser.problem)
}

/// Devices in search order, what holds each, the counters that they draw on, and the devices that are left out.
type SpotList<'q> = (Vec<Spot>, Vec<Option<&'q Holdings>>, Counters, Others);

/// All devices of whole pools of which some request could get a device.
fn spots<'q>(question: &Question<'q>, expressions: &mut Expressions) -> SpotList<'q> {
    let mut pools: Vec<&'q WholePool> = question
        .pools
        .iter()
        .filter_map(|pool| match pool {
            PoolView::Whole(pool) => Some(pool),
            PoolView::Gathering { .. } | PoolView::Contradictory { .. } => None,
        })
        .collect();
    if question.order == DeviceOrder::PreferReady {
        pools.sort_by(|left, right| left.id.cmp(&right.id));
    }
    let mut counters = Counters::default();
    let mut spots = Vec::new();
    let mut others = Others::default();
    let classes = classes(question);
    for pool in pools {
        if let Some(classes) = &classes
            && pool.here.iter().all(|published| is_of_no_use(classes, published, expressions))
        {
            others.add(pool);
            continue;
        }
        let number = counters.add_pool(pool, question.ledger, question.gates);
        for published in &pool.here {
            for at in 0..published.slice.devices.len() {
                spots.push(spot(question, &mut counters, number, published, at));
            }
        }
    }
    if question.order == DeviceOrder::PreferReady {
        spots.sort_by_key(|(spot, _)| readiness(spot, question));
    }
    let (spots, holdings) = spots.into_iter().unzip();
    (spots, holdings, counters, others)
}

/// The classes that requests name; nothing if one of them is not there.
fn classes<'q>(question: &Question<'q>) -> Option<Vec<&'q Class>> {
    let mut found: Vec<&Class> = Vec::new();
    for ask in question.claims.iter().flat_map(|claim| &claim.spec().requests).flat_map(asks) {
        if !found.iter().any(|class| class.name == ask.class) {
            found.push(question.classes.get(&ask.class)?);
        }
    }
    Some(found)
}

fn asks(request: &Request) -> impl Iterator<Item = &Ask> {
    let (exactly, alternatives) = match &request.wish {
        Wish::Exactly(ask) => (Some(ask), &[][..]),
        Wish::FirstAvailable(asks) => (None, &asks[..]),
    };
    exactly.into_iter().chain(alternatives.iter().map(|(_, ask)| ask))
}

/// Whether none of these classes picks a device of a slice, for certain and without an error.
fn is_of_no_use(classes: &[&Class], published: &Published, expressions: &mut Expressions) -> bool {
    published.unreadable.is_empty()
        && classes.iter().all(|class| {
            let picks_none = |selector: &Option<Arc<str>>| {
                let matches = selector.as_ref().map(|selector| expressions.matches(selector, published));
                matches.is_some_and(|matches| {
                    matches.is_ok_and(|matches| {
                        matches.failures.is_empty() && matches.matching.count_ones(..) == 0
                    })
                })
            };
            // Later selectors are not looked at for devices that the first leaves out.
            class.selectors.first().is_some_and(picks_none)
        })
}

/// How far a device is from being usable: not at all, attached to the node, or yet to be attached.
fn readiness(spot: &Spot, question: &Question<'_>) -> u8 {
    if !spot.device().needs_preparation() {
        return 0;
    }
    let reach = match &spot.published.slice.reach {
        Reach::PerDevice => &spot.device().reach,
        reach => reach,
    };
    match reach {
        Reach::Node(node) if *node == question.node.name => 1,
        _ => 2,
    }
}

fn spot<'q>(
    question: &Question<'q>,
    counters: &mut Counters,
    pool: u32,
    published: &'q Arc<Published>,
    at: usize,
) -> (Spot, Option<&'q Holdings>) {
    let device = &published.slice.devices[at];
    let of = &published.slice.pool;
    let id = DeviceId { driver: of.driver.clone(), pool: of.pool.clone(), device: device.name.clone() };
    let holdings = question.ledger.holdings(&id);
    let shareable = device.shareable && question.gates.enabled(Gate::DRAConsumableCapacity);
    let left = |(name, capacity): (&Arc<str>, &model::device::Capacity)| {
        let consumed = holdings.map_or(0, |holdings| holdings.consumed(name));
        capacity.value.nanos().unwrap_or(NANOS_MAX) - consumed
    };
    let draws = counters.draws(pool, device);
    let charged = shareable && holdings.is_some_and(Holdings::is_shared);
    let spot = Spot {
        published: published.clone(),
        row: at,
        pool,
        shareable,
        charged,
        settled: charged && holdings.is_some_and(|held| held.iter().all(|one| declares(device, one))),
        counted: draws.counted,
        draws: draws.parsed,
        capacity_left: if shareable { device.capacity.iter().map(left).collect() } else { Vec::new() },
        id,
    };
    (spot, holdings)
}

/// Whether a device declares the groups with which it was allocated. If these were not noted, they are those that it declares.
fn declares(device: &Device, holding: &Holding) -> bool {
    if holding.groups.is_empty() {
        return true;
    }
    let grouped = device.draws.iter().filter(|draw| !draw.groups.is_empty());
    let noted = holding.groups.iter().filter(|(_, groups)| !groups.is_empty());
    grouped.clone().count() == noted.count()
        && grouped.into_iter().all(|draw| {
            let noted = holding.groups.get(&draw.counter_set);
            noted.is_some_and(|noted| {
                draw.groups.iter().all(|group| noted.contains(group))
                    && noted.iter().all(|group| draw.groups.contains(group))
            })
        })
}

impl<'q> Parser<'q, '_> {
    fn claim(&mut self, claim: Asked<'q>) -> Result<(), AllocationError> {
        let first_request = self.problem.requests.len();
        let first_alternative = self.problem.alternatives.len();
        let mut at_least: i64 = 0;
        for request in &claim.spec().requests {
            at_least = at_least.saturating_add(self.request(claim, request)?);
        }
        if at_least > RESULTS_MAX as i64 {
            return Err(AllocationError::TooMany { claim: claim.asker(), wanted: at_least });
        }
        let mut constraints = Vec::new();
        for (index, constraint) in claim.spec().constraints.iter().enumerate() {
            constraints.push(match constraint.rule {
                Rule::Match(_) => ParsedConstraint::Match,
                Rule::Distinct(_) => ParsedConstraint::Distinct,
                // Which devices are in the set is told before any is chosen, so there is nothing left to compare.
                Rule::Within(_) | Rule::Without(_) => ParsedConstraint::Match,
                Rule::Unknown => {
                    return Err(AllocationError::ConstraintEmpty { claim: claim.asker(), index });
                }
            });
        }
        for alternative in first_alternative..self.problem.alternatives.len() {
            self.constrain(claim, alternative);
        }
        let requests = claim.spec().requests.len();
        self.problem.claims.push(ParsedClaim {
            asker: claim.asker(),
            configs: claim.spec().configs.clone(),
            first_request,
            requests,
            constraints,
        });
        Ok(())
    }

    /// Makes the alternatives of a request, and says how many devices it needs at least.
    fn request(&mut self, claim: Asked<'q>, request: &'q Request) -> Result<i64, AllocationError> {
        let gates = self.question.gates;
        let off = |gate: Gate, name: &Arc<str>, what: &'static str| AllocationError::GateOff {
            claim: claim.asker(),
            request: name.clone(),
            what,
            gate,
        };
        let asks: SmallVec<[NamedAsk<'q>; 1]> = match &request.wish {
            Wish::Exactly(ask) => SmallVec::from_iter([(None, ask)]),
            Wish::FirstAvailable(asks) => asks.iter().map(|(name, ask)| (Some(name), ask)).collect(),
        };
        let first_available = matches!(request.wish, Wish::FirstAvailable(_));
        if first_available && !gates.enabled(Gate::DRAPrioritizedList) {
            return Err(off(Gate::DRAPrioritizedList, &request.name, "alternatives"));
        }
        if !gates.enabled(Gate::DRAConsumableCapacity)
            && let Some((name, _)) = asks.iter().find(|(_, ask)| ask.capacity.is_some())
        {
            return Err(off(Gate::DRAConsumableCapacity, name.unwrap_or(&request.name), "capacity requests"));
        }
        let first_alternative = self.problem.alternatives.len() as u32;
        let mut least = i64::MAX;
        for (subrequest, ask) in &asks {
            let name = RequestName { request: request.name.clone(), subrequest: subrequest.cloned() };
            least = least.min(self.alternative(claim, name, subrequest.unwrap_or(&request.name), ask)?);
        }
        self.problem.requests.push(ParsedRequest {
            claim: self.problem.claims.len() as u32,
            first_alternative,
            alternatives: asks.len() as u32,
            first_available,
        });
        Ok(least)
    }

    /// Makes one alternative of a request, and says how many devices it needs.
    fn alternative(
        &mut self,
        claim: Asked<'q>,
        name: RequestName,
        short: &Arc<str>,
        ask: &'q Ask,
    ) -> Result<i64, AllocationError> {
        let class = self.usable(claim, short, ask)?;
        let spots = self.problem.spots.len();
        let mut alternative = Alternative {
            class: class.name.clone(),
            class_configs: class.configs,
            tolerations: ask.tolerations.clone(),
            request: self.problem.requests.len() as u32,
            name,
            admin: ask.is_admin(),
            need: 0,
            all: None,
            candidates: FixedBitSet::with_capacity(spots),
            faulty: FixedBitSet::with_capacity(spots),
            faults: Vec::new(),
            consumption: Vec::new(),
            constraints: SmallVec::new(),
            stages: Vec::new(),
            holders: Vec::new(),
            more_holders: 0,
        };
        let wanted = match &ask.amount {
            Amount::Exactly(count) => *count,
            Amount::All => {
                self.all_known(claim, short)?;
                0
            }
            Amount::Unknown(mode) => {
                let (claim, request) = (claim.asker(), short.clone());
                return Err(AllocationError::Mode { claim, request, mode: mode.clone() });
            }
        };
        let all = ask.amount == Amount::All;
        let selectable = self.select(claim, short, (ask, class), &mut alternative);
        let fitting = self.fit_capacity(claim, short, ask, &mut alternative, selectable);
        if all {
            if let Some((_, fault)) = alternative.faults.first() {
                return Err(fault.clone());
            }
            alternative.all = Some(fitting.ones().map(|spot| spot as u32).collect());
        }
        alternative.candidates = fitting;
        self.reject_unusable(claim, ask, &mut alternative);
        let wanted = alternative.all.as_ref().map_or(wanted, |all| all.len() as i64);
        // A negative count asks for nothing, and more than a claim can hold never fits.
        alternative.need = usize::try_from(wanted.max(0)).unwrap_or(usize::MAX);
        self.problem.alternatives.push(alternative);
        self.asks.push(ask);
        Ok(wanted)
    }

    /// The class of an ask that uses nothing unknown and nothing that is off.
    fn usable(&self, claim: Asked<'_>, request: &Arc<str>, ask: &Ask) -> Result<&'q Class, AllocationError> {
        let off = |gate: Gate, what: &'static str| AllocationError::GateOff {
            claim: claim.asker(),
            request: request.clone(),
            what,
            gate,
        };
        let gates = self.question.gates;
        if !ask.derived.is_empty() && !gates.enabled(Gate::DRADerivedAttributes) {
            return Err(off(Gate::DRADerivedAttributes, "derived attributes"));
        }
        let (claim, request) = (claim.asker(), request.clone());
        if let Some(index) = ask.selectors.iter().position(Option::is_none) {
            return Err(AllocationError::SelectorEmpty { claim, request, index });
        }
        if ask.admin_access.is_some() && !gates.enabled(Gate::DRAAdminAccess) {
            return Err(off(Gate::DRAAdminAccess, "admin access"));
        }
        if ask.class.is_empty() {
            return Err(AllocationError::ClassUnnamed { claim, request });
        }
        let class = self.question.classes.get(&ask.class);
        class.ok_or_else(|| AllocationError::ClassUnknown { claim, request, class: ask.class.clone() })
    }

    /// Refuses to count all devices while a pool cannot be counted.
    fn all_known(&self, claim: Asked<'_>, request: &Arc<str>) -> Result<(), AllocationError> {
        for pool in self.question.pools {
            let (claim, request) = (claim.asker(), request.clone());
            match pool {
                PoolView::Whole(_) => {}
                PoolView::Gathering { id, seen, expected } => {
                    let (pool, seen, expected) = (id.clone(), *seen, *expected);
                    return Err(AllocationError::AllOfGathering { claim, request, pool, seen, expected });
                }
                PoolView::Contradictory { id, reason } => {
                    let (pool, reason) = (id.clone(), reason.to_string());
                    return Err(AllocationError::AllOfContradictory { claim, request, pool, reason });
                }
            }
        }
        Ok(())
    }
}

/// Whether the node can use a device, as far as the device decides.
fn usable_from(spot: &Spot, question: &Question<'_>) -> Result<bool, AllocationError> {
    if spot.published.slice.reach != Reach::PerDevice {
        return Ok(true);
    }
    reaches(&spot.device().reach, question.node)
        .map_err(|source| AllocationError::NodeSelector { device: Box::new(spot.id.clone()), source })
}

/// Where a selector stands.
fn place(class: Option<&Class>, claim: Asked<'_>, request: &Arc<str>) -> Place {
    match class {
        Some(class) => Place::Class(class.name.clone()),
        None => Place::Claim(claim.asker(), request.clone()),
    }
}
