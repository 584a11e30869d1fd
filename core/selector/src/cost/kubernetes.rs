//! The worst-case cost of the functions that Kubernetes adds.

use super::bounds::Bounds;
use super::calls::{Call, matched};
use super::estimate::{Argument, CallCost};
use super::{LIST, MESSAGE, STRING_FACTOR};
use crate::declare::{CIDR, FORMAT, IP, URL};
use crate::syntax::tree::{ExprKind, Literal};
use crate::types::Type;

/// The largest pattern that a named format is assumed to have.
const FORMAT_PATTERN: f64 = 128.0;
/// The largest name of a format.
const FORMAT_NAME: u64 = 64;

/// The cost without that of the arguments.
pub(super) fn cost(call: &Call<'_>, overload: &str) -> Option<CallCost> {
    let plain = |cost: Bounds| Some(CallCost { cost, result: None });
    let first = || call.args.first();
    match call.function {
        "check" => plain(Bounds::exactly(350_000)),
        "serviceAccount" | "path" | "group" | "resource" | "subresource" | "namespace" | "name"
        | "allowed" | "reason" | "error" | "errored" => plain(Bounds::ONE),
        "fieldSelector" | "labelSelector" if call.args.len() == 1 => {
            plain(selector(first()?.size_or_unknown()))
        }
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => {
            plain(traversed(call.function, call.target?))
        }
        "url" => scanned(first()?, true),
        "lowerAscii" | "upperAscii" | "substring" | "trim" => scanned(call.target?, true),
        "replace" => replaced(call.target?, call.args),
        "split" => split(call.target?, call.args),
        "join" => Some(joined(call.target?, first())),
        "find" | "findAll" => {
            let target = call.target?;
            let result = Bounds::between(0, target.size_or_unknown().max);
            Some(CallCost { cost: matched(target, first()?), result: Some(result) })
        }
        "ip" if overload == "cidr_ip" => plain(Bounds::ONE),
        "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            scanned(first()?, false)
        }
        "ip.isCanonical" => plain(first()?.size_or_unknown().scaled(2.0 * STRING_FACTOR)),
        "containsIP" | "containsCIDR" => plain(contained(overload, first()?)),
        "validate" => {
            let text = first()?.size_or_unknown().scaled(STRING_FACTOR);
            plain(text.scaled(FORMAT_PATTERN * super::REGEX_FACTOR))
        }
        "format.named"
        | "masked"
        | "prefixLength"
        | "family"
        | "isUnspecified"
        | "isLoopback"
        | "isLinkLocalMulticast"
        | "isLinkLocalUnicast"
        | "isGlobalUnicast"
        | "sign"
        | "asInteger"
        | "isInteger"
        | "asApproximateFloat"
        | "isGreaterThan"
        | "isLessThan"
        | "compareTo"
        | "add"
        | "sub"
        | "major"
        | "minor"
        | "patch"
        | "getScheme"
        | "getHostname"
        | "getHost"
        | "getPort"
        | "getEscapedPath"
        | "getQuery" => plain(Bounds::ONE),
        "_==_" => equality(call.args),
        _ => None,
    }
}

/// Parsing a selector of the authorization library.
fn selector(length: Bounds) -> Bounds {
    let requirements = length.scaled(0.5).scaled((LIST + MESSAGE) as f64);
    Bounds::exactly(LIST).plus(length.scaled(STRING_FACTOR)).plus(requirements)
}

/// The type and bounds of a list's elements.
fn element<'a>(list: &'a Argument<'_>) -> Option<(&'a Type, Bounds)> {
    let known = match list.known {
        Type::List(element) | Type::Map(element, _) | Type::Meta(Some(element)) => &**element,
        Type::Opaque(_, params) => params.first()?,
        _ => return None,
    };
    Some((known, list.path.element_size().unwrap_or(Bounds::UNKNOWN)))
}

/// Walking over a list, or over a string.
fn traversed(function: &str, target: &Argument<'_>) -> Bounds {
    let size = target.size_or_unknown();
    match element(target) {
        Some((Type::String | Type::Bytes, inner)) => {
            size.times(Bounds::ONE.plus(inner.scaled(STRING_FACTOR)))
        }
        Some(_) => size.times(Bounds::ONE),
        None if function == "includes" => size.times(Bounds::ONE),
        None => size.scaled(STRING_FACTOR),
    }
}

fn scanned(text: &Argument<'_>, keeps_size: bool) -> Option<CallCost> {
    let size = text.size_or_unknown();
    Some(CallCost { cost: size.scaled(STRING_FACTOR), result: keeps_size.then_some(size) })
}

fn replaced(text: &Argument<'_>, args: &[Argument<'_>]) -> Option<CallCost> {
    let [old, new, ..] = args else { return None };
    let (text, old, new) = (text.size_or_unknown(), old.size_or_unknown(), new.size_or_unknown());
    let mut count = Bounds::default();
    let mut kept = Bounds::default();
    if old.min == 0 {
        // An empty text to replace surrounds every character.
        count.max = text.max.saturating_add(1);
        kept.max = text.max;
    } else if new.max <= old.min {
        kept.max = text.max;
    } else {
        count.max = (text.max as f64 / old.min as f64).ceil() as u64;
    }
    if old.max == 0 {
        count.min = text.min.saturating_add(1);
        kept.min = text.min;
    } else if old.max <= new.min {
        kept.min = text.min;
    } else {
        count.min = (text.min as f64 / old.max as f64).ceil() as u64;
    }
    let result = count.times(new).plus(kept);
    Some(CallCost { cost: text.scaled(2.0 * STRING_FACTOR), result: Some(result) })
}

fn split(text: &Argument<'_>, args: &[Argument<'_>]) -> Option<CallCost> {
    let size = text.size_or_unknown();
    let max = match args.get(1).map(|limit| &limit.expr.kind) {
        Some(ExprKind::Literal(Literal::Int(limit))) => *limit as u64,
        _ => size.max,
    };
    Some(CallCost { cost: size.scaled(2.0 * STRING_FACTOR), result: Some(Bounds::between(0, max)) })
}

fn joined(list: &Argument<'_>, separator: Option<&Argument<'_>>) -> CallCost {
    let count = list.size_or_unknown();
    let mut size = element(list).map_or(Bounds::default(), |(_, inner)| count.times(inner));
    if let Some(separator) = separator {
        let gaps = Bounds::between(count.min.saturating_sub(1), count.max.saturating_sub(1));
        size = size.plus(separator.size_or_unknown().times(gaps));
    }
    CallCost { cost: size.scaled(STRING_FACTOR), result: Some(size) }
}

/// Whether a network contains an address or another network.
fn contained(overload: &str, other: &Argument<'_>) -> Bounds {
    let address = Bounds::between(4, 16);
    let mut cost = address.plus(address).scaled(STRING_FACTOR);
    if overload.starts_with("cidr_contains_cidr") {
        cost = cost.plus(address.scaled(STRING_FACTOR)).plus(Bounds::ONE);
    }
    if overload.ends_with("_string") {
        cost = cost.plus(other.size_or_unknown().scaled(STRING_FACTOR));
    }
    cost
}

/// Equality of two values of the same Kubernetes type.
fn equality(args: &[Argument<'_>]) -> Option<CallCost> {
    let [left, right] = args else { return None };
    if left.known.runtime_name() != right.known.runtime_name() {
        return None;
    }
    let cost = match left.known {
        Type::Opaque(IP | CIDR, _) => Bounds::ONE,
        Type::Struct(FORMAT) => Bounds::between(1, FORMAT_NAME).scaled(STRING_FACTOR),
        Type::Struct(URL) => {
            let size = right.size.unwrap_or(Bounds::ONE);
            Bounds::between(1, size.max).scaled(STRING_FACTOR)
        }
        Type::Struct(crate::types::DEVICE) => return None,
        Type::Struct(_) => Bounds::ONE,
        _ => return None,
    };
    Some(CallCost { cost, result: None })
}
