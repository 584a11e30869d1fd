//! Whatever is asked, the allocator answers within its budget; what it gives passes the independent checker, and what it
//! calls impossible is.

use std::collections::BTreeMap;
use std::sync::Arc;

use allocation::{AllocationAnswer, DeviceOrder, Expressions, Question, Reply, allocate};
use cluster::ledger::Ledger;
use cluster::pools::Slices;
use cluster::published::Published;
use invariants::{Evidence, GroupsFrom, Made, check_allocations, search};
use objects::resource::allocation::AllocationResult;
use selector::SliceRevision;
use serde::Serialize;
use serde::de::DeserializeOwned;
use testkit::{Choices, Family, Instance, hard};

use crate::admission::mutate;

/// Steps enough for every instance as it is made.
const STEPS_MAX: u64 = 2_000;
/// Assignments enough to try everything.
const ASSIGNMENTS_MAX: u64 = 100_000;

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There are devices.
    Allocated,
    /// There are none.
    Impossible,
    /// The budget was too small to know.
    Spent,
    /// The question cannot be judged.
    Unjudged,
}

/// An instance that could come from a real cluster. The first two bytes say in which order devices are tried, and how
/// small the first budget is.
pub fn check(bytes: &[u8]) -> Verdict {
    let (head, rest) = bytes.split_at(bytes.len().min(2));
    let mut choices = Choices::new(head);
    let order = order(&mut choices);
    let budget = choices.below(16) as u64;
    let instance = Instance::new(rest);
    let whole = answered(&instance, order, STEPS_MAX);
    let hurried = answered(&instance, order, budget);
    match &hurried {
        Ok(Reply { answer: AllocationAnswer::BudgetSpent, .. }) => {}
        hurried => assert_eq!(hurried, &whole, "a smaller budget gives another answer"),
    }
    match whole {
        Err(_) => return Verdict::Unjudged,
        Ok(Reply { answer: AllocationAnswer::BudgetSpent, .. }) => {
            unreachable!("five devices are decided in a few steps")
        }
        Ok(Reply { answer: AllocationAnswer::Allocated(allocations), .. }) => {
            check_allocated(&instance, &allocations)
        }
        Ok(Reply { answer: AllocationAnswer::Impossible(refusal), .. }) => {
            assert!(!refusal.to_string().is_empty(), "a refusal says why");
            let claims: Vec<_> = instance.claims.iter().collect();
            let found = search(&evidence(&instance), &instance.node, &claims, ASSIGNMENTS_MAX);
            assert_eq!(found, invariants::Possibility::Impossible, "{refusal}");
        }
    }
    verdict(&hurried)
}

/// A hard instance of a family. What is given passes the checker; what is called impossible is, as far as so many assignments
/// tell.
pub fn check_hard(family: Family, requests: usize, seed: u64, budget: u64, assignments: u64) -> Verdict {
    let instance = hard(family, requests, seed);
    let answered = answered(&instance, DeviceOrder::Upstream, budget);
    match &answered {
        Err(_) | Ok(Reply { answer: AllocationAnswer::BudgetSpent, .. }) => {}
        Ok(Reply { answer: AllocationAnswer::Allocated(allocations), .. }) => {
            check_allocated(&instance, allocations);
        }
        Ok(Reply { answer: AllocationAnswer::Impossible(refusal), .. }) => {
            let claims: Vec<_> = instance.claims.iter().collect();
            let found = search(&evidence(&instance), &instance.node, &claims, assignments);
            let possible = matches!(found, invariants::Possibility::Possible(_));
            assert!(!possible, "{family:?} with {requests} requests and seed {seed}: {refusal}");
        }
    }
    verdict(&answered)
}

/// An instance with values changed in ways that admission would not let in.
pub fn check_mutated(bytes: &[u8]) -> Verdict {
    let (head, rest) = bytes.split_at(bytes.len().min(64));
    let mut choices = Choices::new(head);
    let order = order(&mut choices);
    let mut instance = Instance::new(rest);
    for _ in 0..=choices.below(3) {
        match choices.below(4) {
            0 => change(&mut instance.slices, &mut choices),
            1 => change(&mut instance.claims, &mut choices),
            2 => change(&mut instance.holders, &mut choices),
            _ => change(&mut instance.classes, &mut choices),
        }
    }
    verdict(&answered(&instance, order, STEPS_MAX))
}

fn order(choices: &mut Choices<'_>) -> DeviceOrder {
    if choices.one_in(2) { DeviceOrder::PreferReady } else { DeviceOrder::Upstream }
}

/// Changes a value of one of the objects; what cannot be read afterwards is left as it was.
fn change<T: Serialize + DeserializeOwned>(objects: &mut [T], choices: &mut Choices<'_>) {
    let at = choices.below(objects.len());
    let Some(object) = objects.get_mut(at) else { return };
    let mut value = serde_json::to_value(&*object).expect("an object can be written");
    mutate(&mut value, choices);
    if let Ok(changed) = serde_json::from_value(value) {
        *object = changed;
    }
}

fn verdict(answered: &Result<Reply, String>) -> Verdict {
    match answered.as_ref().map(|reply| &reply.answer) {
        Err(_) => Verdict::Unjudged,
        Ok(AllocationAnswer::Allocated(_)) => Verdict::Allocated,
        Ok(AllocationAnswer::Impossible(_)) => Verdict::Impossible,
        Ok(AllocationAnswer::BudgetSpent) => Verdict::Spent,
    }
}

/// From objects to an answer that keeps to the budget.
///
/// # Errors
/// The question cannot be judged.
///
/// # Panics
/// The answer takes more steps than it may.
pub fn answered(instance: &Instance, order: DeviceOrder, budget: u64) -> Result<Reply, String> {
    let Instance { gates, node, slices, classes, claims, holders } = instance;
    let node = convert::node(node);
    let slices = slices.iter().enumerate().map(|(number, slice)| {
        let revision = SliceRevision { slice: number as u64, revision: 0 };
        convert::slice(slice).map(|slice| Arc::new(Published::new(slice, revision)))
    });
    let slices = slices.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    let classes: BTreeMap<_, _> =
        classes.iter().map(convert::class).map(|class| (class.name.clone(), class)).collect();
    let claims = claims.iter().map(convert::claim).collect::<Result<Vec<_>, _>>();
    let claims = claims.map_err(|error| error.to_string())?;
    let mut ledger = Ledger::default();
    holders.iter().for_each(|holder| convert::take_into(&mut ledger, holder));
    let pools = Slices::new(slices).pools_for(&node, *gates).map_err(|error| error.to_string())?;
    let question = Question {
        node: &node,
        pools: &pools,
        claims: &claims.iter().map(allocation::Asked::from).collect::<Vec<_>>(),
        classes: &classes,
        ledger: &ledger,
        gates: *gates,
        order,
        budget,
    };
    let reply = allocate(&question, &mut Expressions::default()).map_err(|error| error.to_string())?;
    let spent = reply.answer == AllocationAnswer::BudgetSpent;
    assert!(reply.steps <= budget || spent && reply.steps == budget + 1, "{} steps of {budget}", reply.steps);
    Ok(reply)
}

fn evidence(instance: &Instance) -> Evidence<'_> {
    Evidence {
        gates: instance.gates,
        slices: &instance.slices,
        classes: &instance.classes,
        claims: &instance.holders,
        groups: GroupsFrom::Results,
    }
}

/// What was found can be written down, and stands up to the checker.
///
/// # Panics
/// It does not.
pub fn check_allocated(instance: &Instance, allocations: &[model::allocation::Allocation]) {
    let class = |name: &str| instance.classes.iter().find(|class| class.metadata.name == name);
    let mut shares = 0;
    let mut share_id = || {
        shares += 1;
        format!("00000000-0000-4000-8000-{shares:012}")
    };
    let written = allocations.iter().zip(&instance.claims).map(|(allocation, claim)| {
        convert::allocation(allocation, claim, &class, &mut share_id).expect("what was found can be written")
    });
    let results: Vec<AllocationResult> = written.collect();
    let made = instance.claims.iter().zip(&results).map(|(claim, allocation)| Made { claim, allocation });
    let violations = check_allocations(&evidence(instance), &instance.node, &made.collect::<Vec<_>>());
    assert!(violations.is_empty(), "{violations:?}");
}
