//! Expressions over devices: they must compile, and cost no more than the scheduler is willing to spend.

use gates::Gate;
use schema::Path;
use selector::{Environment, ExpressionKind, Selector};

use crate::cause::Causes;
use crate::kind::Context;

const EXPRESSION_BYTES_MAX: usize = 10 * 1024;
/// What one expression may cost at most, and all derived attributes of a claim together.
pub(crate) const COST_MAX: u64 = 1_000_000;

/// Checks one expression and returns what it may cost, if that is known.
pub(crate) fn validate(
    expression: &str,
    kind: ExpressionKind,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) -> Option<u64> {
    if expression.len() > EXPRESSION_BYTES_MAX {
        causes.too_long(path, EXPRESSION_BYTES_MAX);
        return None;
    }
    let environment = Environment {
        list_attributes: context.has(Gate::DRAListTypeAttributes),
        multiple_allocations: context.has(Gate::DRAConsumableCapacity),
    };
    match Selector::compile(expression, kind, environment) {
        Err(error) => {
            causes.invalid(path, error.to_string());
            None
        }
        Ok(compiled) => {
            let cost = compiled.estimated_max_cost();
            if cost > COST_MAX {
                causes.forbidden(
                    path,
                    format!("may cost {cost} steps for a device and must stay below {COST_MAX}"),
                );
            }
            Some(cost)
        }
    }
}
