//! What would be right: the hints of compile errors.

use crate::declare::{Environment, Function, Overload};
use crate::types::Type;

/// The known name that looks most like this one.
pub(super) fn for_name<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    closest(name, known).map(|near| format!("did you mean {near:?}?"))
}

/// What to call instead of a function that does not exist.
pub(super) fn for_function(environment: Environment, name: &str) -> Option<String> {
    let instead = match name.rsplit('.').next().unwrap_or(name) {
        "len" | "length" | "count" => "size",
        "upper" | "toUpper" | "toUpperCase" => "upperAscii",
        "lower" | "toLower" | "toLowerCase" => "lowerAscii",
        "any" | "some" => "exists",
        "every" => "all",
        "has" => return Some("has() takes one field selection, for example has(a.b)".to_owned()),
        _ => return for_name(name, environment.function_names().filter(|known| !known.contains(['@', '_']))),
    };
    Some(format!("use {instead}()"))
}

/// What to write instead of a selection from a value without fields.
pub(super) fn for_selection(environment: Environment, subject: &Type, field: &str) -> Option<String> {
    let function = environment.function(field)?;
    let takes = function
        .overloads
        .iter()
        .any(|overload| overload.member && (overload.args.len() == 1 || matches!(subject, Type::Struct(_))));
    takes.then(|| format!("{field} is a function: write .{field}(…)"))
}

/// Which arguments the function takes.
pub(super) fn for_overload(function: &'static Function, member: bool, args: &[Type]) -> Option<String> {
    if matches!(function.name, "_==_" | "_!=_" | "_?_:_") {
        return Some(
            "both sides must have one type; convert one, for example with string() or int()".to_owned(),
        );
    }
    if function.overloads.iter().all(|overload| overload.member != member) {
        let form = if member { "as a function: f(x)" } else { "on a value: x.f()" };
        return Some(format!("call it {form}"));
    }
    let same_style = || function.overloads.iter().filter(|overload| overload.member == member);
    let mut fitting: Vec<&Overload> =
        same_style().filter(|overload| overload.args.len() == args.len()).collect();
    if fitting.is_empty() {
        fitting = same_style().collect();
    }
    let shown: Vec<String> =
        fitting.iter().take(4).map(|overload| signature(function.name, overload)).collect();
    let more = if fitting.len() > 4 { ", …" } else { "" };
    (!shown.is_empty()).then(|| format!("it takes {}{more}", shown.join(", ")))
}

fn signature(name: &str, overload: &Overload) -> String {
    let args: Vec<String> = overload.args.iter().map(ToString::to_string).collect();
    match (operator(name), args.as_slice()) {
        (Some(operator), [left, right]) => format!("{left} {operator} {right}"),
        (Some(operator), [operand]) => format!("{operator}{operand}"),
        (_, [receiver, rest @ ..]) if overload.member => format!("{receiver}.{name}({})", rest.join(", ")),
        (_, args) => format!("{name}({})", args.join(", ")),
    }
}

fn operator(name: &str) -> Option<&str> {
    if name == "@in" {
        return Some("in");
    }
    let trimmed = name.trim_matches('_');
    (trimmed.len() < name.len() && trimmed.chars().all(|letter| !letter.is_alphanumeric())).then_some(trimmed)
}

/// The function as a person would name it.
pub(super) fn spoken(name: &str) -> String {
    match (name, operator(name)) {
        ("_[_]" | "_[?_]", _) => "an index".to_owned(),
        ("_?_:_", _) => "the conditional ?:".to_owned(),
        (_, Some(operator)) => operator.to_owned(),
        _ => format!("{name}()"),
    }
}

/// The types of the arguments, for a message.
pub(super) fn types(member: bool, args: &[Type]) -> String {
    let shown: Vec<String> = args.iter().map(ToString::to_string).collect();
    match shown.as_slice() {
        [] => "no arguments".to_owned(),
        [receiver, rest @ ..] if member => format!("{receiver} with ({})", rest.join(", ")),
        _ => shown.join(" and "),
    }
}

fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > 40 {
        return None;
    }
    let limit = 1 + name.chars().count() / 4;
    known
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(changes, _)| *changes <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many letters must change, ignoring case.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().map(|letter| letter.to_ascii_lowercase()).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, from) in left.chars().map(|letter| letter.to_ascii_lowercase()).enumerate() {
        let mut diagonal = line;
        row[0] = line + 1;
        for (column, &to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
