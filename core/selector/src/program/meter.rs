//! The cost of an evaluation while it runs.

use crate::cost::{LIST, REGEX_FACTOR, STRING_FACTOR};
use crate::declare::Overload;
use crate::value::{Fault, List, Map, Value};

/// Counts what an evaluation has cost and stops it at the limit.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) cost: u64,
    pub(crate) limit: u64,
}

impl Meter {
    pub(crate) fn charge<'a>(&mut self, cost: u64) -> Result<(), Fault<'a>> {
        self.cost = self.cost.wrapping_add(cost);
        if self.cost > self.limit { Err(Fault::COST_LIMIT) } else { Ok(()) }
    }
}

/// How the cost of a call is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallRule {
    Fixed(u64),
    /// Walking over the first argument with all its parts.
    Traverse,
    /// The size of the first argument, in tenths.
    Scan,
    /// The size of an argument with optionals opened, in tenths.
    ScanOpened(usize),
    /// Twice the size of the first argument, in tenths.
    ScanTwice,
    /// Twice the size of the result, in tenths.
    ScanResultTwice,
    /// Text and pattern multiplied.
    Pattern,
    /// Both texts multiplied.
    Contains,
    /// The sizes of both, in tenths.
    Concatenate,
    /// The smaller size, in tenths.
    Compare,
    /// The size of the list.
    InList,
    ContainsAddress {
        parses: bool,
    },
    ContainsNetwork {
        parses: bool,
    },
    Validate,
    Selector,
    ListResult,
    Flatten,
    /// The square of the size of a list, which must be one.
    SelfCompare(usize),
    Sets(u64),
}

/// The rule for a call; `overload` is empty when the types did not decide it.
pub(crate) fn rule(function: &str, overload: &str) -> CallRule {
    extension(overload).or_else(|| kubernetes(function, overload)).unwrap_or_else(|| standard(overload))
}

fn extension(overload: &str) -> Option<CallRule> {
    Some(match overload {
        "list_slice" | "lists_range" | "list_reverse" => CallRule::ListResult,
        "list_flatten" | "list_flatten_int" => CallRule::Flatten,
        "list_distinct" => CallRule::SelfCompare(0),
        "list_sets_contains_list" | "list_sets_intersects_list" => CallRule::Sets(1),
        "list_sets_equivalent_list" => CallRule::Sets(2),
        name if name.ends_with("_sort") => CallRule::SelfCompare(0),
        name if name.ends_with("_sortByAssociatedKeys") => CallRule::SelfCompare(1),
        _ => return None,
    })
}

fn kubernetes(function: &str, overload: &str) -> Option<CallRule> {
    Some(match function {
        "check" => CallRule::Fixed(350_000),
        "fieldSelector" | "labelSelector" => CallRule::Selector,
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => CallRule::Traverse,
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP" | "isCIDR"
        | "quantity" | "isQuantity" | "semver" | "isSemver" => CallRule::Scan,
        "ip" if overload == "cidr_ip" => CallRule::Fixed(1),
        "ip" => CallRule::Scan,
        "replace" | "split" | "ip.isCanonical" => CallRule::ScanTwice,
        "join" => CallRule::ScanResultTwice,
        "find" | "findAll" => CallRule::Pattern,
        "containsIP" => CallRule::ContainsAddress { parses: overload == "cidr_contains_ip_string" },
        "containsCIDR" => CallRule::ContainsNetwork { parses: overload == "cidr_contains_cidr_string" },
        "validate" => CallRule::Validate,
        _ => return None,
    })
}

fn standard(overload: &str) -> CallRule {
    match overload {
        "starts_with_string" | "ends_with_string" => CallRule::ScanOpened(1),
        "string_to_bytes" | "bytes_to_string" | "strings_quote" | "string_format" => CallRule::ScanOpened(0),
        "in_list" => CallRule::InList,
        "add_string" | "add_bytes" => CallRule::Concatenate,
        "matches" | "matches_string" => CallRule::Pattern,
        "contains_string" => CallRule::Contains,
        name if crate::cost::is_sized_comparison(name) => CallRule::Compare,
        _ => CallRule::Fixed(1),
    }
}

/// The size with optionals opened, as comparisons see it.
fn opened_size(mut value: &Value<'_>) -> u64 {
    while let Value::Optional(Some(inner)) = value {
        value = inner;
    }
    value.size()
}

fn tenths(size: u64) -> u64 {
    (size as f64 * STRING_FACTOR).ceil() as u64
}

/// The cost of a call from what it was given and what it gave. Null stands for an argument that failed, nothing for a
/// result that did; both count as one.
pub(crate) fn call_cost<'a>(
    rule: CallRule,
    args: &[Value<'a>],
    result: Option<&Value<'a>>,
) -> Result<u64, Fault<'a>> {
    let at = |index: usize| args.get(index).map_or(1, Value::size);
    let result_size = || result.map_or(1, Value::size);
    let open = |index: usize| args.get(index).map_or(1, opened_size);
    Ok(match rule {
        CallRule::Fixed(cost) => cost,
        CallRule::Traverse => args.first().map_or(1, walk),
        CallRule::Scan => tenths(at(0)),
        CallRule::ScanOpened(index) => tenths(open(index)),
        CallRule::ScanTwice => (at(0) as f64 * 2.0 * STRING_FACTOR).ceil() as u64,
        CallRule::ScanResultTwice => (result_size() as f64 * 2.0 * STRING_FACTOR).ceil() as u64,
        CallRule::Pattern => pattern_cost(open(0), open(1)),
        CallRule::Contains => tenths(open(0)).wrapping_mul(tenths(open(1))),
        CallRule::Concatenate => tenths(open(0).wrapping_add(open(1))),
        CallRule::Compare => tenths(open(0).min(open(1))),
        CallRule::InList => open(1),
        CallRule::ContainsAddress { parses } => {
            tenths(at(0) + at(0)) + if parses { tenths(at(1)) } else { 0 }
        }
        CallRule::ContainsNetwork { parses } => {
            tenths(at(0) + at(0)) + tenths(at(0)) + 1 + if parses { tenths(at(1)) } else { 0 }
        }
        CallRule::Validate => match &args[0] {
            Value::Format(format) => pattern_cost(at(1), format.pattern_length),
            _ => 1,
        },
        CallRule::Selector => tenths(at(1)) + LIST,
        CallRule::ListResult => result_size().saturating_add(1 + LIST),
        CallRule::Flatten => {
            let depth = match args.get(1) {
                None => 1.0,
                Some(Value::Int(depth)) => *depth as f64,
                Some(_) => return Err(Fault::INTERNAL),
            };
            let depth = if depth < 0.0 { 1.0 } else { depth };
            ((at(0) as f64 * depth) as u64).saturating_add(1 + LIST)
        }
        CallRule::SelfCompare(index) => match args.get(index) {
            Some(Value::List(list)) => self_compare(list),
            _ => return Err(Fault::INTERNAL),
        },
        CallRule::Sets(factor) => {
            let product = at(0).wrapping_mul(at(1)) as f64 * factor as f64;
            (product as u64).saturating_add(1)
        }
    })
}

/// Applying a pattern to a text.
fn pattern_cost(text: u64, pattern: u64) -> u64 {
    let text = ((1.0 + text as f64) * STRING_FACTOR).ceil() as u64;
    text.wrapping_mul((pattern as f64 * REGEX_FACTOR).ceil() as u64)
}

fn self_compare(list: &List<'_>) -> u64 {
    let size = list.len() as u64;
    let text = matches!(list.get(0), Some(Value::String(_) | Value::Bytes(_)));
    let factor = if text { 2.0 + STRING_FACTOR } else { 2.0 };
    ((size.saturating_mul(size) as f64 * factor) as u64).saturating_add(1 + LIST)
}

fn walk(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => (text.len() as f64 * STRING_FACTOR) as u64,
        Value::Bytes(bytes) => (bytes.len() as f64 * STRING_FACTOR) as u64,
        Value::List(list) => walk_list(list),
        Value::Map(map) => walk_map(map),
        _ => 1,
    }
}

fn walk_list(list: &List<'_>) -> u64 {
    match list {
        List::Ints(values) => values.len() as u64,
        List::Bools(values) => values.len() as u64,
        List::Versions(values) => values.len() as u64,
        list if list.walk().is_err() => u64::MAX,
        list => list.iter().map(|element| walk(&element)).fold(0, u64::saturating_add),
    }
}

fn walk_map(map: &Map<'_>) -> u64 {
    map.iter().map(|(key, value)| walk(&key).saturating_add(walk(&value))).fold(0, u64::saturating_add)
}

/// The overload that the types decided on, or nothing.
pub(crate) fn decided(overloads: &[&'static str]) -> &'static str {
    match overloads {
        [one] => one,
        _ => "",
    }
}

/// An overload of a function by its name.
pub(crate) fn overload_named(overloads: &'static [Overload], name: &str) -> Option<&'static Overload> {
    overloads.iter().find(|overload| overload.id == name)
}
