//! Functions on lists, and sets as lists.

use std::cmp::Ordering;

use super::TEXT_MAX;
use crate::value::arithmetic::add;
use crate::value::equal::{contains, same};
use crate::value::order::{compare, is_comparable};
use crate::value::{ErrorClass, Fault, List, Map, Outcome, Value};

/// The longest list that `lists.range` makes.
const RANGE_MAX: i64 = 1_000_000;
/// The longest list that is walked over to make another.
const WALK_MAX: usize = 20_000_000;

/// A list that may be walked over.
fn list<'v, 'a>(args: &'v [Value<'a>], at: usize) -> Result<&'v List<'a>, Fault<'a>> {
    match args.get(at) {
        Some(Value::List(list)) => list.walk().map(|()| list),
        _ => Err(Fault::no_such_overload()),
    }
}

fn int<'a>(args: &[Value<'a>], at: usize) -> Result<i64, Fault<'a>> {
    match args.get(at) {
        Some(Value::Int(number)) => Ok(*number),
        _ => Err(Fault::no_such_overload()),
    }
}

/// Equality, with a refusal to compare taken as no.
fn equals<'a>(left: &Value<'a>, right: &Value<'a>) -> Result<bool, Fault<'a>> {
    match same(left, right) {
        Ok(equal) => Ok(equal),
        Err(fault) if fault.ends() => Err(fault),
        Err(_) => Ok(false),
    }
}

/// The functions by overload.
pub(crate) fn function<'a>(overload: &str, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(match overload {
        "list_slice" => slice(list(args, 0)?, int(args, 1)?, int(args, 2)?)?,
        "list_flatten" => Value::list(flatten(list(args, 0)?, 1)?),
        "list_flatten_int" => {
            let (elements, depth) = (list(args, 0)?, int(args, 1)?);
            if depth < 0 {
                return Err(Fault::invalid("level must be non-negative"));
            }
            Value::list(flatten(elements, depth)?)
        }
        "lists_range" => range(int(args, 0)?)?,
        "list_reverse" => {
            let elements = list(args, 0)?;
            let length = elements.len();
            Value::list((0..length).filter_map(|at| elements.get(length - 1 - at)).collect())
        }
        "list_distinct" => distinct(list(args, 0)?)?,
        "list_a_index_of_int" => index_of(list(args, 0)?, &args[1])?,
        "list_a_last_index_of_int" => last_index_of(list(args, 0)?, &args[1])?,
        "list_includes_dyn_dyn" => includes(&args[0], &args[1])?,
        "list_join" => join(list(args, 0)?, "")?,
        "list_join_string" => match &args[1] {
            Value::String(separator) => join(list(args, 0)?, separator)?,
            _ => return Err(Fault::no_such_overload()),
        },
        "list_sets_contains_list" => Value::Bool(set_contains(list(args, 0)?, list(args, 1)?)?),
        "list_sets_equivalent_list" => Value::Bool(
            set_contains(list(args, 0)?, list(args, 1)?)? && set_contains(list(args, 1)?, list(args, 0)?)?,
        ),
        "list_sets_intersects_list" => Value::Bool(intersects(list(args, 0)?, list(args, 1)?)?),
        "list_first" => Value::Optional(list(args, 0)?.get(0).map(Into::into)),
        "list_last" => {
            let elements = list(args, 0)?;
            Value::Optional(elements.len().checked_sub(1).and_then(|last| elements.get(last)).map(Into::into))
        }
        "optional_unwrap" | "optional_unwrapOpt" => unwrap(list(args, 0)?)?,
        "@mapInsert_map_key_value" => insert(args)?,
        "@mapInsert_map_map" => insert_all(args)?,
        name if name.ends_with("_is_sorted_bool") => is_sorted(list(args, 0)?)?,
        name if name.contains("_sum_") => sum(name, list(args, 0)?)?,
        name if name.contains("_max_") => extreme(list(args, 0)?, Ordering::Less, "max")?,
        name if name.contains("_min_") => extreme(list(args, 0)?, Ordering::Greater, "min")?,
        _ => return Err(Fault::no_such_overload()),
    })
}

fn slice<'a>(elements: &List<'a>, start: i64, end: i64) -> Outcome<'a> {
    let bad =
        |reason: &str| Fault::written(ErrorClass::Index, format!("cannot slice({start}, {end}), {reason}"));
    if start < 0 || end < 0 {
        return Err(bad("negative indexes not supported"));
    }
    if start > end {
        return Err(bad("start index must be less than or equal to end index"));
    }
    if (elements.len() as i64) < end {
        return Err(bad("the list is shorter"));
    }
    Ok(Value::list((start..end).filter_map(|at| elements.get(at as usize)).collect()))
}

fn flatten<'a>(elements: &List<'a>, depth: i64) -> Result<Vec<Value<'a>>, Fault<'a>> {
    let mut flat = Vec::new();
    for element in elements.iter() {
        match element {
            Value::List(inner) if depth > 0 => {
                inner.walk()?;
                flat.extend(flatten(&inner, depth - 1)?);
            }
            other => flat.push(other),
        }
        if flat.len() > WALK_MAX {
            return Err(Fault::COST_LIMIT);
        }
    }
    Ok(flat)
}

fn range<'a>(count: i64) -> Outcome<'a> {
    if !(0..=RANGE_MAX).contains(&count) {
        return Err(Fault::invalid(format!("lists.range: {count} is not between 0 and {RANGE_MAX}")));
    }
    Ok(Value::list((0..count).map(Value::Int).collect()))
}

fn distinct<'a>(elements: &List<'a>) -> Outcome<'a> {
    // The work is quadratic and so is the cost; a list that would pass the limit is not started on.
    if elements.len() > 1_000 {
        return Err(Fault::COST_LIMIT);
    }
    let mut seen: Vec<Value<'a>> = Vec::new();
    for element in elements.iter() {
        let mut known = false;
        for other in &seen {
            known = known || equals(&element, other)?;
        }
        if !known {
            seen.push(element);
        }
    }
    Ok(Value::list(seen))
}

fn index_of<'a>(elements: &List<'a>, wanted: &Value<'a>) -> Outcome<'a> {
    for (at, element) in elements.iter().enumerate() {
        if equals(&element, wanted)? {
            return Ok(Value::Int(at as i64));
        }
    }
    Ok(Value::Int(-1))
}

fn last_index_of<'a>(elements: &List<'a>, wanted: &Value<'a>) -> Outcome<'a> {
    for at in (0..elements.len()).rev() {
        if let Some(element) = elements.get(at)
            && equals(&element, wanted)?
        {
            return Ok(Value::Int(at as i64));
        }
    }
    Ok(Value::Int(-1))
}

fn includes<'a>(subject: &Value<'a>, wanted: &Value<'a>) -> Outcome<'a> {
    let Value::List(elements) = subject else { return equals(subject, wanted).map(Value::Bool) };
    elements.walk()?;
    for element in elements.iter() {
        if equals(&element, wanted)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn join<'a>(elements: &List<'a>, separator: &str) -> Outcome<'a> {
    let mut out = String::new();
    for (at, element) in elements.iter().enumerate() {
        if at > 0 {
            out.push_str(separator);
        }
        let Value::String(text) = element else {
            return Err(Fault::invalid(format!("join: invalid input of type {}", element.type_name())));
        };
        out.push_str(&text);
        if out.len() > TEXT_MAX {
            return Err(Fault::COST_LIMIT);
        }
    }
    Ok(Value::text(out))
}

fn set_contains<'a>(set: &List<'a>, part: &List<'a>) -> Result<bool, Fault<'a>> {
    guard_product(set, part)?;
    for element in part.iter() {
        if !contains(set, &element)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects<'a>(left: &List<'a>, right: &List<'a>) -> Result<bool, Fault<'a>> {
    guard_product(left, right)?;
    for element in left.iter() {
        if contains(right, &element)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The cost of a set operation is the product of the sizes; one beyond any limit is not started.
fn guard_product<'a>(left: &List<'a>, right: &List<'a>) -> Result<(), Fault<'a>> {
    if left.len().saturating_mul(right.len()) > WALK_MAX { Err(Fault::COST_LIMIT) } else { Ok(()) }
}

fn unwrap<'a>(elements: &List<'a>) -> Outcome<'a> {
    let mut values = Vec::new();
    for element in elements.iter() {
        match element {
            Value::Optional(Some(inner)) => values.push((*inner).clone()),
            Value::Optional(None) => {}
            _ => return Err(Fault::invalid("a value of the list is not optional")),
        }
    }
    Ok(Value::list(values))
}

fn map_of<'v, 'a>(args: &'v [Value<'a>], at: usize) -> Result<&'v Map<'a>, Fault<'a>> {
    match args.get(at) {
        Some(Value::Map(map)) => Ok(map),
        _ => Err(Fault::no_such_overload()),
    }
}

fn insert<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    map_of(args, 0)?.insert(args[1].clone(), args[2].clone()).map(Value::Map)
}

fn insert_all<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let mut map = map_of(args, 0)?.clone();
    for (key, value) in map_of(args, 1)?.iter() {
        map = map.insert(key, value)?;
    }
    Ok(Value::Map(map))
}

fn is_sorted<'a>(elements: &List<'a>) -> Outcome<'a> {
    let mut before: Option<Value<'a>> = None;
    for element in elements.iter() {
        if !is_comparable(&element) {
            return Err(Fault::no_such_overload());
        }
        if let Some(before) = &before
            && matches!(compare(before, &element), Ok(Ordering::Greater))
        {
            return Ok(Value::Bool(false));
        }
        before = Some(element);
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(overload: &str, elements: &List<'a>) -> Outcome<'a> {
    let mut total = match overload {
        "list_int_sum_int" => Value::Int(0),
        "list_uint_sum_uint" => Value::Uint(0),
        "list_double_sum_double" => Value::Double(0.0),
        _ => Value::Duration(0),
    };
    for element in elements.iter() {
        total = add(&total, &element)?;
    }
    Ok(total)
}

/// The smallest or largest element: the one that no later element replaces.
fn extreme<'a>(elements: &List<'a>, replaced_if: Ordering, name: &str) -> Outcome<'a> {
    let mut best: Option<Value<'a>> = None;
    for element in elements.iter() {
        if !is_comparable(&element) {
            return Err(Fault::no_such_overload());
        }
        best = Some(match best {
            Some(best) if matches!(compare(&best, &element), Ok(order) if order == replaced_if) => element,
            Some(best) => best,
            None => element,
        });
    }
    best.ok_or_else(|| Fault::invalid(format!("{name} called on empty list")))
}

/// Sorts a list by the keys at the same places.
pub(crate) fn sort<'a>(elements: &List<'a>, keys: &List<'a>) -> Outcome<'a> {
    elements.walk()?;
    keys.walk()?;
    if elements.len() != keys.len() {
        return Err(Fault::invalid("the list and its keys differ in length"));
    }
    if elements.len() > 1_000_000 {
        return Err(Fault::COST_LIMIT);
    }
    let keys: Vec<Value<'a>> = keys.iter().collect();
    let Some(first) = keys.first() else { return Ok(Value::List(elements.clone())) };
    if !is_comparable(first) {
        return Err(Fault::invalid("list elements must be comparable"));
    }
    if keys.iter().any(|key| key.type_name() != first.type_name()) {
        return Err(Fault::invalid("list elements must have the same type"));
    }
    let mut order: Vec<usize> = (0..keys.len()).collect();
    // A key that is no number has no order; it stays where it is.
    order.sort_by(|left, right| compare(&keys[*left], &keys[*right]).unwrap_or(Ordering::Equal));
    Ok(Value::list(order.into_iter().filter_map(|at| elements.get(at)).collect()))
}
