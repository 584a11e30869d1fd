//! Claims on one node: which devices they get, in the form of the reference's allocator.
//!
//! Results are compared field by field. A share's id may be any, and the groups that we note in results, which the
//! reference does not, are not compared. Errors are compared by kind.

mod case;
mod comparison;
mod held;
mod kind;
mod oldest;
mod validity;

pub use validity::is_valid;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use allocation::{AllocationAnswer, DeviceOrder, Expressions, Question, allocate};
use cluster::ledger::Ledger;
use cluster::pools::Slices;
use cluster::published::Published;
use objects::resource::allocation::AllocationResult;
use selector::SliceRevision;
use serde_json::{Value, json};

use crate::{Form, Suite};
pub use case::Case;

/// The suite of `allocator` vectors.
pub const SUITE: Suite = Suite {
    expected: crate::expect,
    answer,
    differences: comparison::differences,
    agreement: None,
    form: Form::Timed,
};

/// What came of a case, ready to be written.
#[derive(Clone, Debug)]
pub enum Answered {
    /// Devices for every claim.
    Allocated(Vec<AllocationResult>),
    /// There is no way, and why.
    None(String),
    /// It cannot be judged.
    Error {
        /// The kind of error, in a word.
        kind: &'static str,
        /// What is wrong.
        text: String,
    },
    /// The search met its bound.
    BudgetSpent,
}

fn answer(case: &Value) -> anyhow::Result<Value> {
    answer_in_order(&Case::read(case)?, 0)
}

/// Our answers with the pools in each order in which upstream's oldest allocator may take them, ours first. Other cases
/// have one order only.
///
/// # Errors
/// The case cannot be read.
pub fn answers_in_every_order(case: &Value) -> anyhow::Result<Vec<Value>> {
    let case = Case::read(case)?;
    let orders = if case.oldest { case.slices.len().max(1) } else { 1 };
    (0..orders).map(|rotation| answer_in_order(&case, rotation)).collect()
}

/// Our answer; for upstream's oldest allocator, with so many of the first pools moved to the end.
fn answer_in_order(case: &Case, rotation: usize) -> anyhow::Result<Value> {
    let started = Instant::now();
    let (answered, steps) = answered(case, DeviceOrder::Upstream, rotation);
    let micros = started.elapsed().as_micros() as u64;
    let mut answer = json!({ "micros": micros, "steps": steps });
    let results = match &answered {
        Answered::Allocated(results) => {
            answer["outcome"] = json!("allocated");
            answer["results"] = serde_json::to_value(results)?;
            Some(&results[..])
        }
        Answered::None(_) => {
            answer["outcome"] = json!("none");
            None
        }
        Answered::Error { kind, text } => {
            answer["outcome"] = json!("error");
            answer["error"] = json!(text);
            answer["kind"] = json!(kind);
            return Ok(answer);
        }
        Answered::BudgetSpent => {
            answer["outcome"] = json!("timeout");
            return Ok(answer);
        }
    };
    if let Err(violation) = is_valid(case, results) {
        answer["invalid"] = json!(violation);
    }
    Ok(answer)
}

/// How many steps a case may take.
const BUDGET: u64 = 100_000;

/// From objects to objects, which is what is timed; how many steps the search took goes with it. For upstream's oldest
/// allocator, `rotation` of the first pools are moved to the end.
pub fn answered(case: &Case, order: DeviceOrder, rotation: usize) -> (Answered, u64) {
    solved(case, order, rotation).unwrap_or_else(|error| (error, 0))
}

fn solved(case: &Case, order: DeviceOrder, rotation: usize) -> Result<(Answered, u64), Answered> {
    let refused = |kind: &'static str, text: String| Answered::Error { kind, text };
    let unreadable = |error: convert::ConvertError| refused("unreadable", error.to_string());
    let node = convert::node(&case.node);
    let mut published = Vec::new();
    for (number, slice) in case.slices.iter().enumerate() {
        let mut slice = convert::slice(slice).map_err(unreadable)?;
        if case.oldest {
            slice = oldest::listed(slice, number);
        } else {
            // Some recorded cases have slices of one name, which no API would; they are kept apart in their order.
            slice.name = format!("{}#{number:06}", slice.name).into();
        }
        let revision = SliceRevision { slice: number as u64, revision: 0 };
        published.push(Arc::new(Published::new(slice, revision)));
    }
    let classes: BTreeMap<_, _> =
        case.classes.iter().map(convert::class).map(|class| (class.name.clone(), class)).collect();
    let mut claims: Vec<_> =
        case.claims.iter().map(convert::claim).collect::<Result<_, _>>().map_err(unreadable)?;
    let listed = oldest::first_seen(&published, &node);
    let mut ledger = Ledger::default();
    for holder in &case.holders {
        convert::take_into(&mut ledger, holder);
    }
    let pools = Slices::new(published).pools_for(&node, case.gates);
    let mut pools = pools.map_err(|error| refused("node-selector", error.to_string()))?;
    if case.oldest {
        oldest::sort(&mut pools, &listed);
        let moved = rotation % pools.len().max(1);
        pools.rotate_left(moved);
        claims = claims.into_iter().map(oldest::without_capacity).collect();
    }
    let question = Question {
        node: &node,
        pools: &pools,
        claims: &claims.iter().map(allocation::Asked::from).collect::<Vec<_>>(),
        classes: &classes,
        ledger: &ledger,
        gates: case.gates,
        order,
        budget: BUDGET,
    };
    let reply = allocate(&question, &mut Expressions::default())
        .map_err(|error| refused(error.kind(), error.to_string()))?;
    let answered = match reply.answer {
        AllocationAnswer::Allocated(allocations) => written(case, &allocations),
        AllocationAnswer::Impossible(refusal) if refusal.contradictory_pools.is_empty() => {
            Answered::None(refusal.to_string())
        }
        AllocationAnswer::Impossible(refusal) => refused("pool-invalid", refusal.to_string()),
        AllocationAnswer::BudgetSpent => Answered::BudgetSpent,
    };
    Ok((answered, reply.steps))
}

fn written(case: &Case, allocations: &[model::allocation::Allocation]) -> Answered {
    let class = |name: &str| case.classes.iter().find(|class| class.metadata.name == name);
    let mut shares = 0_u64;
    let mut share_id = || {
        shares += 1;
        format!("00000000-0000-4000-8000-{shares:012}")
    };
    let results: Result<Vec<_>, _> = allocations
        .iter()
        .zip(&case.claims)
        .map(|(allocation, claim)| convert::allocation(allocation, claim, &class, &mut share_id))
        .collect();
    match results {
        Ok(results) => Answered::Allocated(results),
        Err(error) => Answered::Error { kind: "unwritable", text: error.to_string() },
    }
}
