//! Whether an answer is valid, judged by objects alone.

use objects::resource::allocation::AllocationResult;

use super::case::Case;

/// Judges allocations, or the answer that there are none. Nothing is looked at yet, so every answer is taken.
///
/// # Errors
/// What is wrong with the answer.
pub(super) fn is_valid(_case: &Case, _results: Option<&[AllocationResult]>) -> Result<(), String> {
    Ok(())
}
