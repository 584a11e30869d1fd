//! The functions of the language, by overload.
//!
//! A function gets arguments whose run-time types fit its declaration, unless the reference does not check them either.

mod classes;
pub(crate) mod format;
pub(crate) mod lists;
pub(crate) mod network;
pub(crate) mod pattern;
pub(crate) mod printf;
pub(crate) mod quantities;
pub(crate) mod semver;
pub(crate) mod strings;
pub(crate) mod times;
pub(crate) mod url;

use crate::value::arithmetic;
use crate::value::convert::convert;
use crate::value::equal::contains;
use crate::value::order::relation;
use crate::value::{ErrorClass, Fault, Outcome, Value};
use pattern::Search;

/// The longest text that a function makes.
pub(crate) const TEXT_MAX: usize = 64 << 20;

/// The result of an overload, whose arguments have been checked.
pub(crate) fn call<'a>(family: Family, overload: &'static str, args: &[Value<'a>]) -> Outcome<'a> {
    match family {
        Family::Convert(to) => convert(&args[0], to),
        Family::Strings => strings::function(overload, args),
        Family::Affix => strings::affix(overload, args),
        Family::Format => printf::format(args),
        Family::Lists => lists::function(overload, args),
        Family::Times => times::function(overload, args),
        Family::Find => pattern::search_dynamic(Search::Find, args),
        Family::FindAll => pattern::search_dynamic(Search::FindAll, args),
        Family::Url => url::function(overload, args),
        Family::Address => network::address_function(overload, args),
        Family::Network => network::network_function(overload, args),
        Family::NetworkText => network::parsing_function(overload, args),
        Family::NamedFormat => format::function(overload, args),
        Family::Quantity => quantities::function(overload, args),
        Family::Semver => quantities::version_function(overload, args),
        Family::Optional => optional(overload, args),
        Family::None => Err(Fault::no_such_overload()),
    }
}

/// Where an overload is implemented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    Convert(&'static str),
    Strings,
    Affix,
    Format,
    Lists,
    Times,
    Find,
    FindAll,
    Url,
    Address,
    Network,
    NetworkText,
    NamedFormat,
    Quantity,
    Semver,
    Optional,
    None,
}

/// Finds where an overload is implemented.
pub(crate) fn family(overload: &'static str) -> Family {
    match overload {
        "contains_string" | "starts_with_string" | "ends_with_string" => Family::Affix,
        "string_format" => Family::Format,
        "string_find_string" => Family::Find,
        "string_find_all_string" | "string_find_all_string_int" => Family::FindAll,
        "string_to_url" | "is_url_string" => Family::Url,
        "string_to_ip" | "ip_is_canonical" | "is_ip" | "string_to_cidr" | "is_cidr" => Family::NetworkText,
        "string_to_quantity" | "is_quantity_string" => Family::Quantity,
        "string_to_semver" | "string_bool_to_semver" | "is_semver_string" | "is_semver_string_bool" => {
            Family::Semver
        }
        "optional_of"
        | "optional_ofNonZeroValue"
        | "optional_none"
        | "optional_value"
        | "optional_hasValue" => Family::Optional,
        "optional_unwrap" | "optional_unwrapOpt" | "lists_range" => Family::Lists,
        "strings_quote" => Family::Strings,
        name if name.starts_with("format") => Family::NamedFormat,
        name if name.starts_with("url_") => Family::Url,
        name if name.starts_with("ip_") => Family::Address,
        name if name.starts_with("cidr_") => Family::Network,
        name if name.starts_with("quantity_") => Family::Quantity,
        name if name.starts_with("semver_") => Family::Semver,
        name if name.starts_with("list_") || name.starts_with('@') => Family::Lists,
        name => match conversion(name) {
            Some(to) => Family::Convert(to),
            None if name.starts_with("timestamp_") || name.starts_with("duration_") => Family::Times,
            None if name.starts_with("string_") => Family::Strings,
            None => Family::None,
        },
    }
}

/// What a conversion converts to.
fn conversion(overload: &str) -> Option<&'static str> {
    let (_, to) = overload.split_once("_to_")?;
    Some(match to {
        "bool" => "bool",
        "bytes" => "bytes",
        "double" => "double",
        "duration" => "duration",
        "int64" => "int",
        "string" => "string",
        "timestamp" => "timestamp",
        "uint64" => "uint",
        _ => return None,
    })
}

fn optional<'a>(overload: &str, args: &[Value<'a>]) -> Outcome<'a> {
    match (overload, args) {
        ("optional_none", _) => Ok(Value::Optional(None)),
        ("optional_of", [value]) => Ok(Value::some(value.clone())),
        ("optional_ofNonZeroValue", [value]) if value.is_zero() => Ok(Value::Optional(None)),
        ("optional_ofNonZeroValue", [value]) => Ok(Value::some(value.clone())),
        ("optional_hasValue", [Value::Optional(inner)]) => Ok(Value::Bool(inner.is_some())),
        ("optional_value", [Value::Optional(Some(inner))]) => Ok((**inner).clone()),
        ("optional_value", [Value::Optional(None)]) => {
            Err(Fault::fixed(ErrorClass::EmptyOptional, "optional.none() dereference"))
        }
        _ => Err(Fault::no_such_overload()),
    }
}

/// Functions with one implementation for all overloads, which look at the values themselves.
pub(crate) fn shared<'a>(function: &'static str, args: &[Value<'a>]) -> Outcome<'a> {
    match (function, args) {
        ("_+_", [left, right]) => arithmetic::add(left, right),
        ("_-_", [left, right]) => arithmetic::subtract(left, right),
        ("_*_", [left, right]) => arithmetic::multiply(left, right),
        ("_/_", [left, right]) => arithmetic::divide(left, right),
        ("_%_", [left, right]) => arithmetic::modulo(left, right),
        ("-_", [value]) => arithmetic::negate(value),
        ("!_", [Value::Bool(value)]) => Ok(Value::Bool(!value)),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [left, right]) => relation(function, left, right),
        ("@in", [element, Value::List(list)]) => contains(list, element).map(Value::Bool),
        ("@in", [key, Value::Map(map)]) => Ok(Value::Bool(map.find(key)?.is_some())),
        ("size", [value @ (Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_))]) => {
            i64::try_from(value.size()).map(Value::Int).map_err(|_| Fault::INTERNAL)
        }
        ("type", [value]) => convert(value, "type"),
        ("dyn", [value]) => Ok(value.clone()),
        ("matches", [Value::String(_), Value::String(_)]) => pattern::search_dynamic(Search::Matches, args),
        ("sort", [Value::List(list)]) => lists::sort(list, list),
        ("@sortByAssociatedKeys", [Value::List(list), Value::List(keys)]) => lists::sort(list, keys),
        _ => Err(Fault::no_such_overload()),
    }
}

/// Whether a function has one implementation for all overloads.
pub(crate) fn is_shared(function: &str) -> bool {
    matches!(
        function,
        "_+_"
            | "_-_"
            | "_*_"
            | "_/_"
            | "_%_"
            | "-_"
            | "!_"
            | "_<_"
            | "_<=_"
            | "_>_"
            | "_>=_"
            | "@in"
            | "size"
            | "type"
            | "dyn"
            | "matches"
            | "sort"
            | "@sortByAssociatedKeys"
    )
}
