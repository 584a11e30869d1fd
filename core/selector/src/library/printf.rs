//! `"…".format([…])`.
//!
//! One walk over the format string serves both evaluation and the check at compile time: [`clauses`] yields the pieces,
//! the caller decides what a piece does.

use super::TEXT_MAX;
use crate::value::convert::to_string;
use crate::value::{Fault, List, Map, Outcome, Value};

/// A piece of a format string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Piece<'f> {
    Text(&'f str),
    /// A placeholder: its letter and the number of decimals.
    Clause(char, Option<usize>),
}

/// The longest fraction that is written.
const PRECISION_MAX: usize = 100_000;

/// Splits a format string; calls `piece` for each part until it fails.
pub(crate) fn clauses<'f>(
    format: &'f str,
    mut piece: impl FnMut(Piece<'f>) -> Result<(), String>,
) -> Result<(), String> {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        piece(Piece::Text(&rest[..at]))?;
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            piece(Piece::Text("%"))?;
            rest = after;
            continue;
        }
        if rest.is_empty() {
            return Err("unexpected end of string".to_owned());
        }
        let mut precision = None;
        if let Some(after) = rest.strip_prefix('.') {
            let length = after.bytes().take_while(u8::is_ascii_digit).count();
            if length == after.len() {
                return Err("could not find end of precision specifier".to_owned());
            }
            let digits: usize =
                after[..length].parse().map_err(|_| "the precision is not a number".to_owned())?;
            precision = Some(digits);
            rest = &after[length..];
        }
        let letter = rest.chars().next().unwrap_or(' ');
        if !"sdfebxXo".contains(letter) {
            return Err(format!("unrecognized formatting clause {letter:?}"));
        }
        piece(Piece::Clause(letter, precision))?;
        rest = &rest[letter.len_utf8()..];
    }
    piece(Piece::Text(rest))
}

/// Writes the arguments into the format string.
pub(crate) fn format<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(pattern), Value::List(values)] = args else { return Err(Fault::no_such_overload()) };
    let mut out = String::new();
    let mut next = 0;
    clauses(pattern, |piece| {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Clause(letter, precision) => {
                let value = values.get(next).ok_or_else(|| format!("index {next} out of range"))?;
                next += 1;
                out.push_str(&clause(letter, precision, &value)?);
            }
        }
        if out.len() > TEXT_MAX { Err("the text is too long".to_owned()) } else { Ok(()) }
    })
    .map_err(Fault::invalid)?;
    Ok(Value::text(out))
}

fn clause(letter: char, precision: Option<usize>, value: &Value<'_>) -> Result<String, String> {
    let wrong = |wanted: &str| format!("error during formatting: {wanted}, was given {}", value.type_name());
    match (letter, value) {
        ('s', value) => string(value),
        ('d', Value::Int(number)) => Ok(number.to_string()),
        ('d', Value::Uint(number)) => Ok(number.to_string()),
        ('d', _) => Err(wrong("decimal clause can only be used on integers")),
        ('f' | 'e', value) => {
            let number = match value {
                Value::Double(number) => *number,
                Value::String(text) => match &**text {
                    "NaN" => f64::NAN,
                    "Infinity" => f64::INFINITY,
                    "-Infinity" => f64::NEG_INFINITY,
                    _ => return Err(wrong("this clause can only be used on doubles")),
                },
                _ => return Err(wrong("this clause can only be used on doubles")),
            };
            // Zero has no sign, whichever zero it is.
            let number = if number == 0.0 { 0.0 } else { number };
            if letter == 'e' {
                return Ok(scientific(number, precision.unwrap_or(6)));
            }
            fixed(number, precision.unwrap_or(6))
        }
        ('b', Value::Bool(value)) => Ok(if *value { "1" } else { "0" }.to_owned()),
        ('x' | 'X', Value::String(text)) => Ok(hex_bytes(text.as_bytes(), letter)),
        ('x' | 'X', Value::Bytes(bytes)) => Ok(hex_bytes(bytes, letter)),
        ('b' | 'x' | 'X' | 'o', Value::Int(number)) => {
            let sign = if *number < 0 { "-" } else { "" };
            Ok(format!("{sign}{}", in_base(number.unsigned_abs(), letter)))
        }
        ('b' | 'x' | 'X' | 'o', Value::Uint(number)) => Ok(in_base(*number, letter)),
        _ => Err(wrong("this clause can only be used on integers")),
    }
}

fn in_base(number: u64, letter: char) -> String {
    match letter {
        'b' => format!("{number:b}"),
        'x' => format!("{number:x}"),
        'X' => format!("{number:X}"),
        _ => format!("{number:o}"),
    }
}

fn hex_bytes(bytes: &[u8], letter: char) -> String {
    bytes
        .iter()
        .map(|byte| if letter == 'x' { format!("{byte:02x}") } else { format!("{byte:02X}") })
        .collect()
}

/// With thousands grouped, as people write numbers.
fn fixed(number: f64, precision: usize) -> Result<String, String> {
    if !number.is_finite() {
        return Ok(not_finite(number));
    }
    if precision > PRECISION_MAX {
        return Err("the precision is too large".to_owned());
    }
    let plain = format!("{number:.precision$}");
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |digits| ("-", digits));
    let (whole, fraction) =
        digits.split_once('.').map_or((digits, ""), |(whole, fraction)| (whole, fraction));
    let mut out = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if precision > 0 {
        out.push('.');
        out.push_str(fraction);
    }
    Ok(out)
}

fn not_finite(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number > 0.0 {
        "∞".to_owned()
    } else {
        "-∞".to_owned()
    }
}

/// Six decimals and a power of ten in raised digits; the precision is only a width.
fn scientific(number: f64, width: usize) -> String {
    let text = if number.is_finite() {
        let plain = format!("{number:.6e}");
        let (mantissa, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
        let (sign, digits) = exponent.strip_prefix('-').map_or(("", exponent), |digits| ("⁻", digits));
        let raised: String = format!("{digits:0>2}").chars().map(superscript).collect();
        format!("{mantissa}×10{sign}{raised}")
    } else {
        not_finite(number)
    };
    format!("{text:>width$}", width = width.min(PRECISION_MAX))
}

fn superscript(digit: char) -> char {
    match digit {
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        _ => '⁹',
    }
}

fn string(value: &Value<'_>) -> Result<String, String> {
    match value {
        Value::List(list) => list_text(list),
        Value::Map(map) => map_text(map),
        Value::Null => Ok("null".to_owned()),
        Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::Bool(_)
        | Value::String(_)
        | Value::Timestamp(_)
        | Value::Bytes(_)
        | Value::Duration(_)
        | Value::Type(_) => match to_string(value) {
            Ok(Value::String(text)) => Ok(text.to_string()),
            _ => Err("could not convert argument to string".to_owned()),
        },
        other => {
            Err(format!("error during formatting: string clause cannot be used on {}", other.type_name()))
        }
    }
}

/// A value inside a list or map: quoted where that keeps its type visible.
fn nested(value: &Value<'_>) -> Result<String, String> {
    match value {
        Value::Double(number) if number.is_finite() => Ok(format!("{number:.6}")),
        Value::Double(number) => Ok(format!("{:?}", crate::value::convert::shortest(*number))),
        Value::String(text) => Ok(go_quote(text)),
        Value::Bytes(_) => string(value).map(|text| format!("b{}", go_quote(&text))),
        Value::Timestamp(_) => string(value).map(|text| format!("timestamp(\"{text}\")")),
        Value::Duration(_) => string(value).map(|text| format!("duration(\"{text}\")")),
        _ => string(value),
    }
}

fn list_text(list: &List<'_>) -> Result<String, String> {
    list.walk().map_err(|_| "the list is too long".to_owned())?;
    let mut out = String::from("[");
    for (at, element) in list.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        out.push_str(&nested(&element)?);
        if out.len() > TEXT_MAX {
            return Err("the text is too long".to_owned());
        }
    }
    out.push(']');
    Ok(out)
}

fn map_text(map: &Map<'_>) -> Result<String, String> {
    let mut pairs = Vec::new();
    for (key, value) in map.iter() {
        if !matches!(key, Value::String(_) | Value::Bool(_) | Value::Int(_) | Value::Uint(_)) {
            return Err(format!("no formatting function for map key of type {}", key.type_name()));
        }
        pairs.push((nested(&key)?, nested(&value)?));
    }
    pairs.sort();
    let pairs: Vec<String> = pairs.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
    Ok(format!("{{{}}}", pairs.join(", ")))
}

/// A text in double quotes, with what does not print escaped.
fn go_quote(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            control if control < ' ' || control == '\u{7f}' => {
                out.push_str(&format!("\\x{:02x}", control as u32));
            }
            hidden if hidden.is_control() || is_unprintable(hidden) => {
                let code = hidden as u32;
                out.push_str(&if code < 0x1_0000 {
                    format!("\\u{code:04x}")
                } else {
                    format!("\\U{code:08x}")
                });
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Spaces other than the plain one, and characters that only steer the text.
fn is_unprintable(letter: char) -> bool {
    letter.is_whitespace() && letter != ' '
        || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
