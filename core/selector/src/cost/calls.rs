//! The worst-case cost of calls: first the extensions, then Kubernetes' own functions, then the standard ones.

use super::bounds::Bounds;
use super::estimate::{Argument, CallCost, Estimator};
use super::{LIST, REGEX_FACTOR, STRING_FACTOR, kubernetes};
use crate::syntax::tree::Expr;

/// A call whose arguments' costs and sizes are known.
pub(super) struct Call<'a> {
    pub(super) expr: &'a Expr,
    pub(super) function: &'a str,
    pub(super) target: Option<&'a Argument<'a>>,
    pub(super) args: &'a [Argument<'a>],
    pub(super) costs: &'a [Bounds],
}

impl Call<'_> {
    /// What evaluating the arguments costs.
    fn args_cost(&self) -> Bounds {
        self.costs.iter().fold(Bounds::default(), |sum, cost| sum.plus(*cost))
    }
}

/// The cost of a call if it uses this overload.
pub(super) fn cost(estimator: &mut Estimator<'_>, call: &Call<'_>, overload: &str) -> CallCost {
    if let Some(own) = extension(call, overload).or_else(|| kubernetes::cost(call, overload)) {
        return CallCost { cost: own.cost.plus(call.args_cost()), result: own.result };
    }
    standard(estimator, call, overload)
}

/// The list and set extensions.
fn extension(call: &Call<'_>, overload: &str) -> Option<CallCost> {
    let size = |argument: &Argument<'_>| argument.size_or_unknown();
    if overload.ends_with("_sort") {
        return Some(sorted(size(call.target?), overload));
    }
    if overload.ends_with("_sortByAssociatedKeys") {
        return Some(sorted(size(call.args.first()?), overload));
    }
    match (overload, call.args) {
        ("list_slice", [start, end]) => {
            let whole = size(call.target?);
            let start = start.literal_int().unwrap_or(0);
            let end = end.literal_int().unwrap_or(whole.max);
            Some(listed(1.0, Bounds::exactly(end.wrapping_sub(start))))
        }
        ("lists_range", [count]) => {
            Some(listed(1.0, Bounds::exactly(count.literal_int().unwrap_or(u64::MAX))))
        }
        ("list_reverse", []) => Some(listed(1.0, size(call.target?))),
        ("list_flatten", []) => Some(listed(1.0, size(call.target?))),
        ("list_flatten_int", [depth]) => {
            let depth = depth.literal_int().unwrap_or(u64::MAX);
            Some(listed(depth as f64, size(call.target?)))
        }
        ("list_distinct", []) => {
            let whole = size(call.target?);
            Some(listed(2.0, whole.times(whole)))
        }
        ("list_sets_contains_list" | "list_sets_intersects_list", [left, right]) => {
            Some(CallCost { cost: size(left).times(size(right)).scaled(1.0).plus(Bounds::ONE), result: None })
        }
        ("list_sets_equivalent_list", [left, right]) => {
            Some(CallCost { cost: size(left).times(size(right)).scaled(2.0).plus(Bounds::ONE), result: None })
        }
        _ => None,
    }
}

fn sorted(size: Bounds, overload: &str) -> CallCost {
    let text = overload.starts_with("list_string_") || overload.starts_with("list_bytes_");
    listed(if text { 2.0 + STRING_FACTOR } else { 2.0 }, size.times(size))
}

/// A call that walks over a list and builds a new one.
fn listed(factor: f64, size: Bounds) -> CallCost {
    let cost = size.scaled(factor).plus(Bounds::ONE).plus(Bounds::exactly(LIST));
    CallCost { cost, result: Some(size) }
}

/// The standard functions.
fn standard(estimator: &mut Estimator<'_>, call: &Call<'_>, overload: &str) -> CallCost {
    let plain = |own: Bounds| CallCost { cost: own.plus(call.args_cost()), result: None };
    let sized =
        |own: Bounds, result: Bounds| CallCost { cost: own.plus(call.args_cost()), result: Some(result) };
    match (overload, call.target, call.args) {
        ("string_format", Some(target), _) => plain(target.size_or_unknown().scaled(STRING_FACTOR)),
        ("string_to_bytes", _, [arg]) => {
            let size = arg.size_or_unknown();
            sized(size.scaled(STRING_FACTOR), Bounds::between(size.min, size.max.wrapping_mul(4)))
        }
        ("bytes_to_string", _, [arg]) => {
            let size = arg.size_or_unknown();
            sized(size.scaled(STRING_FACTOR), Bounds::between(size.min / 4, size.max))
        }
        ("strings_quote", _, [arg]) => {
            let size = arg.size_or_unknown();
            let quoted = Bounds::between(size.min.wrapping_add(2), size.max.wrapping_mul(2).wrapping_add(2));
            sized(size.scaled(STRING_FACTOR), quoted)
        }
        ("starts_with_string" | "ends_with_string", _, [arg]) => {
            plain(arg.size_or_unknown().scaled(STRING_FACTOR))
        }
        ("in_list", _, [_, list]) => plain(list.size_or_unknown().scaled(1.0)),
        ("matches_string", Some(text), [pattern]) | ("matches", None, [text, pattern]) => {
            plain(matched(text, pattern))
        }
        ("contains_string", Some(target), [arg]) => {
            let text = target.size_or_unknown().scaled(STRING_FACTOR);
            plain(text.times(arg.size_or_unknown().scaled(STRING_FACTOR)))
        }
        ("logical_or" | "logical_and", _, _) => {
            let (left, right) = (call.costs[0], call.costs[1]);
            CallCost { cost: Bounds::between(left.min, left.plus(right).max), result: None }
        }
        ("conditional", _, [_, yes, no]) => {
            let size = yes.size_or_unknown().union(no.size_or_unknown());
            estimator.join_entries(call.expr, yes.expr, no.expr);
            let cost = call.costs[0].plus(call.costs[1].union(call.costs[2]));
            CallCost { cost, result: Some(size) }
        }
        ("add_string" | "add_bytes" | "add_list", _, [left, right]) => {
            let size = left.size_or_unknown().plus(right.size_or_unknown());
            estimator.join_entries(call.expr, left.expr, right.expr);
            sized(if overload == "add_list" { Bounds::ONE } else { size.scaled(STRING_FACTOR) }, size)
        }
        (compared, _, [left, right]) if is_sized_comparison(compared) => {
            let smallest = left.size_or_unknown().max.min(right.size_or_unknown().max);
            plain(Bounds::between(u64::from(smallest > 0), smallest).scaled(STRING_FACTOR))
        }
        _ => plain(Bounds::ONE),
    }
}

/// Applying a pattern to a text.
pub(super) fn matched(text: &Argument<'_>, pattern: &Argument<'_>) -> Bounds {
    let text = text.size_or_unknown().plus(Bounds::ONE).scaled(STRING_FACTOR);
    text.times(pattern.size_or_unknown().scaled(REGEX_FACTOR))
}

/// Comparisons whose cost grows with the operands.
pub(crate) fn is_sized_comparison(overload: &str) -> bool {
    matches!(
        overload,
        "equals"
            | "not_equals"
            | "less_string"
            | "less_equals_string"
            | "greater_string"
            | "greater_equals_string"
            | "less_bytes"
            | "less_equals_bytes"
            | "greater_bytes"
            | "greater_equals_bytes"
    )
}
