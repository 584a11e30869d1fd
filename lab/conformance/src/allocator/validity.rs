//! Whether an answer is valid, judged by objects alone.

use invariants::{Evidence, GroupsFrom, Made, check_allocations};
use objects::resource::allocation::AllocationResult;

use super::case::Case;

/// Judges allocations by a checker that shares nothing with the search.
///
/// # Errors
/// What is wrong with the answer.
pub fn is_valid(case: &Case, results: Option<&[AllocationResult]>) -> Result<(), String> {
    let Some(results) = results else { return Ok(()) };
    let evidence = Evidence {
        gates: case.gates,
        slices: &case.slices,
        classes: &case.classes,
        claims: &case.holders,
        groups: GroupsFrom::Slices,
    };
    let claims = case.claims.iter().zip(results);
    let made: Vec<_> = claims.map(|(claim, allocation)| Made { claim, allocation }).collect();
    let violations = check_allocations(&evidence, &case.node, &made);
    if violations.is_empty() {
        return Ok(());
    }
    Err(violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}
