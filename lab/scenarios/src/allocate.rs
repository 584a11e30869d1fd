//! One decision: from objects to the allocator, back into the claims, and past the checker.

use std::collections::BTreeMap;
use std::fmt;

use allocation::{AllocationAnswer, DeviceOrder, Expressions, Question, Reply, allocate};
use anyhow::{Context as _, bail, ensure};
use cluster::pools::Slices;
use gates::Gates;
use invariants::{Evidence, GroupsFrom, Made, check_allocations, check_state, search, with_taint_rules};
use objects::core::node::Node;
use objects::resource::allocation::AllocationResult;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::resource::slice::ResourceSlice;

use crate::world::World;

/// How many steps a search may take; no scenario should need a fraction of it.
const STEPS_MAX: u64 = 100_000;

/// What was decided.
#[derive(Debug)]
pub(crate) enum Decision {
    /// Devices were found, and are in the claims now.
    Given(Vec<Given>),
    /// Nothing was changed, for this reason.
    Refused(String),
    /// The checker objects to it, in these lines.
    Disputed(Vec<String>),
}

/// A device for a request.
#[derive(Debug)]
pub(crate) struct Given {
    /// `claim/request` or `claim/request/alternative`, with the claim as the step names it.
    pub request: String,
    pub device: String,
    pool: String,
    driver: String,
}

impl Given {
    /// Whether this is the device of a name: of its own, or with its pool, or with the driver too.
    pub fn is_called(&self, name: &str) -> bool {
        let Given { device, pool, driver, .. } = self;
        name == device || name == format!("{pool}/{device}") || name == format!("{driver}/{pool}/{device}")
    }
}

impl fmt::Display for Given {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.request, self.device)
    }
}

/// The objects that a decision is made from.
struct Seen {
    node: Node,
    slices: Vec<ResourceSlice>,
    classes: Vec<DeviceClass>,
    /// All claims, with those that are to be allocated among them.
    claims: Vec<ResourceClaim>,
    wanting: Vec<ResourceClaim>,
}

impl Seen {
    fn evidence<'o>(&'o self, gates: Gates, claims: &'o [ResourceClaim]) -> Evidence<'o> {
        Evidence { gates, slices: &self.slices, classes: &self.classes, claims, groups: GroupsFrom::Results }
    }
}

/// Asks the allocator for devices for claims of one pod, and writes what it finds into them.
///
/// # Errors
/// The scenario asks for what cannot be asked.
pub(crate) fn decide(
    world: &mut World,
    expressions: &mut Expressions,
    names: &[String],
    node: &str,
    gates: Gates,
    order: DeviceOrder,
) -> anyhow::Result<Decision> {
    let wanting: Vec<_> = names.iter().map(|name| world.claim(name)).collect::<Result<_, _>>()?;
    for (name, claim) in names.iter().zip(&wanting) {
        ensure!(claim.status.allocation.is_none(), "claim {name} is allocated already");
    }
    let node = world.node(node)?;
    let slices = with_taint_rules(&world.all::<ResourceSlice>()?, &world.taint_rules(gates)?);
    let seen = Seen { node, slices, classes: world.all()?, claims: world.all()?, wanting };
    let allocations = match ask(world, expressions, &seen, gates, order)? {
        Asked::Refused { sentence, tried_all } => {
            let objections = if tried_all { objections_to_refusal(&seen, gates) } else { Vec::new() };
            if !objections.is_empty() {
                let lines = [format!("refused: {sentence}")].into_iter().chain(objections);
                return Ok(Decision::Disputed(lines.collect()));
            }
            return Ok(Decision::Refused(sentence));
        }
        Asked::Allocated(allocations) => allocations,
    };
    let results = written(&seen, names, &allocations)?;
    let made = seen.wanting.iter().zip(&results).map(|(claim, allocation)| Made { claim, allocation });
    let made: Vec<_> = made.collect();
    let mut violations = check_allocations(&seen.evidence(gates, &seen.claims), &seen.node, &made);
    for (name, result) in names.iter().zip(&results) {
        world.store_allocation(name, serde_json::to_value(result)?)?;
    }
    violations.extend(check_state(&seen.evidence(gates, &world.all()?), None));
    let given = given(names, &results);
    if violations.is_empty() {
        return Ok(Decision::Given(given));
    }
    let objections = violations.iter().map(|violation| format!("the checker objects: {violation}"));
    Ok(Decision::Disputed(given.iter().map(|given| format!("given: {given}")).chain(objections).collect()))
}

enum Asked {
    Allocated(Vec<model::allocation::Allocation>),
    Refused { sentence: String, tried_all: bool },
}

fn ask(
    world: &World,
    expressions: &mut Expressions,
    seen: &Seen,
    gates: Gates,
    order: DeviceOrder,
) -> anyhow::Result<Asked> {
    let refused = |sentence: String| Ok(Asked::Refused { sentence, tried_all: false });
    let node = convert::node(&seen.node);
    let classes: BTreeMap<_, _> =
        seen.classes.iter().map(convert::class).map(|class| (class.name.clone(), class)).collect();
    let claims: Vec<_> = seen.wanting.iter().map(convert::claim).collect::<Result<_, _>>()?;
    let ledger = world.ledger()?;
    let pools = match Slices::new(world.published(gates)?).pools_for(&node, gates) {
        Ok(pools) => pools,
        Err(error) => return refused(error.to_string()),
    };
    let question = Question {
        node: &node,
        pools: &pools,
        claims: &claims.iter().map(allocation::Asked::from).collect::<Vec<_>>(),
        classes: &classes,
        ledger: &ledger,
        gates,
        order,
        budget: STEPS_MAX,
    };
    match allocate(&question, expressions) {
        Err(error) => refused(error.to_string()),
        Ok(Reply { answer: AllocationAnswer::Allocated(allocations), .. }) => {
            Ok(Asked::Allocated(allocations))
        }
        Ok(Reply { answer: AllocationAnswer::Impossible(refusal), .. }) => {
            Ok(Asked::Refused { sentence: refusal.to_string(), tried_all: true })
        }
        Ok(Reply { answer: AllocationAnswer::BudgetSpent, .. }) => {
            bail!("the search ended after {STEPS_MAX} steps")
        }
    }
}

/// The allocations as they are stored. Ids of shares are made from names, so that a run repeats.
fn written(
    seen: &Seen,
    names: &[String],
    allocations: &[model::allocation::Allocation],
) -> anyhow::Result<Vec<AllocationResult>> {
    let class = |name: &str| seen.classes.iter().find(|class| class.metadata.name == name);
    let of_claims = allocations.iter().zip(&seen.wanting).zip(names);
    let results = of_claims.map(|((allocation, claim), name)| {
        let mut share = 0;
        let mut share_id = || {
            share += 1;
            share_id(&claim.metadata.uid, share)
        };
        convert::allocation(allocation, claim, &class, &mut share_id).with_context(|| format!("claim {name}"))
    });
    results.collect()
}

/// The claim's uid with the number of the share in its second group.
fn share_id(uid: &str, share: u32) -> String {
    let mut groups: Vec<_> = uid.split('-').map(str::to_owned).collect();
    if let Some(group) = groups.get_mut(1) {
        *group = format!("{share:04}");
    }
    groups.join("-")
}

fn given(names: &[String], results: &[AllocationResult]) -> Vec<Given> {
    let of_claims = names.iter().zip(results);
    of_claims
        .flat_map(|(name, allocation)| {
            allocation.devices.results.iter().map(move |result| Given {
                request: format!("{name}/{}", result.request),
                device: result.device.clone(),
                pool: result.pool.clone(),
                driver: result.driver.clone(),
            })
        })
        .collect()
}

/// Has the checker try everything.
fn objections_to_refusal(seen: &Seen, gates: Gates) -> Vec<String> {
    let wanting: Vec<_> = seen.wanting.iter().collect();
    match search(&seen.evidence(gates, &seen.claims), &seen.node, &wanting, STEPS_MAX) {
        invariants::Possibility::Impossible => Vec::new(),
        invariants::Possibility::Unfinished => {
            vec!["the checker cannot say whether that is true; hint: make the scenario smaller".to_owned()]
        }
        invariants::Possibility::Possible(found) => {
            let results = found.iter().flat_map(|allocation| &allocation.devices.results);
            results
                .map(|result| format!("the checker would take {}: {}", result.request, result.device))
                .collect()
        }
    }
}
