//! Functions on texts. Positions count characters.

use super::TEXT_MAX;
use crate::value::{ErrorClass, Fault, Outcome, Value};

fn text<'v>(args: &'v [Value<'_>], at: usize) -> &'v str {
    match args.get(at) {
        Some(Value::String(text)) => text,
        _ => "",
    }
}

fn int(args: &[Value<'_>], at: usize) -> i64 {
    match args.get(at) {
        Some(Value::Int(number)) => *number,
        _ => 0,
    }
}

fn out_of_range<'a>(index: i64) -> Fault<'a> {
    Fault::written(ErrorClass::Index, format!("index out of range: {index}"))
}

/// The functions of the string extension, by overload; the arguments have the declared types.
pub(crate) fn function<'a>(overload: &str, args: &[Value<'a>]) -> Outcome<'a> {
    let whole = text(args, 0);
    Ok(match overload {
        "string_char_at_int" => char_at(whole, int(args, 1))?,
        "string_index_of_string" => Value::Int(index_of(whole, text(args, 1), 0)?),
        "string_index_of_string_int" => Value::Int(index_of(whole, text(args, 1), int(args, 2))?),
        "string_last_index_of_string" => Value::Int(last_index_of(whole, text(args, 1), None)?),
        "string_last_index_of_string_int" => {
            Value::Int(last_index_of(whole, text(args, 1), Some(int(args, 2)))?)
        }
        "string_lower_ascii" => Value::text(whole.to_ascii_lowercase()),
        "string_upper_ascii" => Value::text(whole.to_ascii_uppercase()),
        "string_replace_string_string" => replace(whole, text(args, 1), text(args, 2), -1)?,
        "string_replace_string_string_int" => replace(whole, text(args, 1), text(args, 2), int(args, 3))?,
        "string_split_string" => split(whole, text(args, 1), -1),
        "string_split_string_int" => split(whole, text(args, 1), int(args, 2)),
        "string_substring_int" => {
            let length = whole.chars().count() as i64;
            substring(whole, int(args, 1), length.max(int(args, 1)))?
        }
        "string_substring_int_int" => substring(whole, int(args, 1), int(args, 2))?,
        "string_trim" => Value::text(whole.trim()),
        "strings_quote" => Value::text(quote(whole)),
        _ => return Err(Fault::no_such_overload()),
    })
}

/// `contains`, `startsWith` and `endsWith`, which look at their arguments themselves.
pub(crate) fn affix<'a>(overload: &str, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(whole), Value::String(part)] = args else { return Err(Fault::no_such_overload()) };
    Ok(Value::Bool(match overload {
        "contains_string" => whole.contains(&**part),
        "starts_with_string" => whole.starts_with(&**part),
        _ => whole.ends_with(&**part),
    }))
}

fn char_at<'a>(whole: &str, index: i64) -> Outcome<'a> {
    let length = whole.chars().count() as i64;
    if index < 0 || index > length {
        return Err(out_of_range(index));
    }
    Ok(Value::text(whole.chars().nth(index as usize).map(String::from).unwrap_or_default()))
}

fn index_of<'a>(whole: &str, part: &str, from: i64) -> Result<i64, Fault<'a>> {
    if from < 0 {
        return Err(out_of_range(from));
    }
    let length = whole.chars().count() as i64;
    if part.is_empty() {
        return Ok(from.min(length));
    }
    if from >= length {
        return Ok(-1);
    }
    let start = byte_at(whole, from as usize);
    Ok(match whole[start..].find(part) {
        Some(at) => from + whole[start..start + at].chars().count() as i64,
        None => -1,
    })
}

fn last_index_of<'a>(whole: &str, part: &str, from: Option<i64>) -> Result<i64, Fault<'a>> {
    let length = whole.chars().count() as i64;
    let from = match from {
        Some(from) if from < 0 => return Err(out_of_range(from)),
        Some(from) => from,
        None if part.is_empty() => return Ok(length),
        None if whole.len() < part.len() => return Ok(-1),
        None => length - 1,
    };
    if part.is_empty() {
        return Ok(from.min(length));
    }
    if from >= length {
        return Ok(-1);
    }
    let count = part.chars().count() as i64;
    let last = from.min(length - count);
    if last < 0 {
        return Ok(-1);
    }
    // The match may start at `last` at the latest.
    let end = byte_at(whole, (last + count) as usize);
    Ok(whole[..end].rfind(part).map_or(-1, |at| whole[..at].chars().count() as i64))
}

/// The byte at which a character starts; the length if there are fewer.
fn byte_at(whole: &str, index: usize) -> usize {
    whole.char_indices().nth(index).map_or(whole.len(), |(at, _)| at)
}

fn replace<'a>(whole: &str, old: &str, new: &str, limit: i64) -> Outcome<'a> {
    let found = whole.matches(old).count();
    let count = if limit < 0 { found } else { found.min(limit as usize) };
    let grown = count.saturating_mul(new.len()).saturating_add(whole.len());
    if grown > TEXT_MAX {
        return Err(Fault::COST_LIMIT);
    }
    Ok(Value::text(whole.replacen(old, new, count)))
}

fn split<'a>(whole: &str, separator: &str, limit: i64) -> Value<'a> {
    let most = if limit < 0 { usize::MAX } else { limit as usize };
    let parts: Vec<Value<'a>> = if most == 0 {
        Vec::new()
    } else if separator.is_empty() {
        let count = whole.chars().count().min(most);
        let mut parts: Vec<Value<'a>> = whole
            .chars()
            .take(count.saturating_sub(1))
            .map(|letter| Value::text(letter.to_string()))
            .collect();
        if count > 0 {
            parts.push(Value::text(&whole[byte_at(whole, count - 1)..]));
        }
        parts
    } else {
        whole.splitn(most, separator).map(Value::text).collect()
    };
    Value::list(parts)
}

fn substring<'a>(whole: &str, start: i64, end: i64) -> Outcome<'a> {
    if start > end {
        let message = format!("invalid substring range. start: {start}, end: {end}");
        return Err(Fault::written(ErrorClass::Index, message));
    }
    let length = whole.chars().count() as i64;
    for index in [start, end] {
        if index < 0 || index > length {
            return Err(out_of_range(index));
        }
    }
    Ok(Value::text(&whole[byte_at(whole, start as usize)..byte_at(whole, end as usize)]))
}

fn quote(whole: &str) -> String {
    let mut out = String::with_capacity(whole.len() + 2);
    out.push('"');
    for letter in whole.chars() {
        match letter {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
