//! Conversions between types.

use std::sync::Arc;

use super::time::{SECOND, Timestamp, parse_duration};
use super::{ErrorClass, Fault, Outcome, Text, Value};

const INT_OVERFLOW: Fault<'static> = Fault::fixed(ErrorClass::Overflow, "integer overflow");
const UINT_OVERFLOW: Fault<'static> = Fault::fixed(ErrorClass::Overflow, "unsigned integer overflow");
const TIME_OVERFLOW: Fault<'static> = Fault::fixed(ErrorClass::Overflow, "timestamp overflow");

/// The value as a type that is named like its conversion function.
pub(crate) fn convert<'a>(value: &Value<'a>, to: &str) -> Outcome<'a> {
    let converted = match to {
        "type" => return Ok(Value::Type(value.type_name())),
        "dyn" => return Ok(value.clone()),
        "bool" => to_bool(value),
        "bytes" => to_bytes(value),
        "double" => to_double(value),
        "duration" => to_duration(value),
        "int" => return to_int(value),
        "string" => return to_string(value),
        "timestamp" => return to_timestamp(value),
        "uint" => return to_uint(value),
        _ => None,
    };
    converted.ok_or_else(|| failed(value, to))
}

fn failed<'a>(value: &Value<'a>, to: &str) -> Fault<'a> {
    let from = value.type_name();
    Fault::written(ErrorClass::Conversion, format!("type conversion error from '{from}' to '{to}'"))
}

fn to_bool<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    match value {
        Value::Bool(value) => Some(Value::Bool(*value)),
        Value::String(text) => match &**text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(Value::Bool(false)),
            _ => None,
        },
        _ => None,
    }
}

fn to_bytes<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    match value {
        Value::Bytes(bytes) => Some(Value::Bytes(bytes.clone())),
        Value::String(text) => Some(Value::Bytes(Arc::from(text.as_bytes()))),
        _ => None,
    }
}

fn to_double<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    Some(Value::Double(match value {
        Value::Double(value) => *value,
        Value::Int(value) => *value as f64,
        Value::Uint(value) => *value as f64,
        Value::String(text) => parse_double(text)?,
        _ => return None,
    }))
}

fn to_duration<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    match value {
        Value::Duration(nanos) => Some(Value::Duration(*nanos)),
        Value::String(text) => parse_duration(text).map(Value::Duration),
        _ => None,
    }
}

fn to_int<'a>(value: &Value<'a>) -> Outcome<'a> {
    Ok(Value::Int(match value {
        Value::Int(value) => *value,
        Value::Uint(value) => i64::try_from(*value).map_err(|_| INT_OVERFLOW)?,
        Value::Double(value) if *value > i64::MIN as f64 && *value < i64::MAX as f64 => *value as i64,
        Value::Double(_) => return Err(INT_OVERFLOW),
        Value::Duration(nanos) => *nanos,
        Value::Timestamp(time) => time.seconds,
        Value::String(text) => text.parse().map_err(|_| failed(value, "int"))?,
        _ => return Err(failed(value, "int")),
    }))
}

fn to_uint<'a>(value: &Value<'a>) -> Outcome<'a> {
    Ok(Value::Uint(match value {
        Value::Uint(value) => *value,
        Value::Int(value) => u64::try_from(*value).map_err(|_| UINT_OVERFLOW)?,
        Value::Double(value) if *value >= 0.0 && *value < u64::MAX as f64 => *value as u64,
        Value::Double(_) => return Err(UINT_OVERFLOW),
        Value::String(text) if !text.starts_with('+') => text.parse().map_err(|_| failed(value, "uint"))?,
        _ => return Err(failed(value, "uint")),
    }))
}

fn to_timestamp<'a>(value: &Value<'a>) -> Outcome<'a> {
    Ok(Value::Timestamp(match value {
        Value::Timestamp(time) => *time,
        Value::Int(seconds) => Timestamp::from_seconds(*seconds).ok_or(TIME_OVERFLOW)?,
        Value::String(text) => {
            let time = Timestamp::parse(text).ok_or_else(|| failed(value, "timestamp"))?;
            if !time.is_in_range() {
                return Err(TIME_OVERFLOW);
            }
            time
        }
        _ => return Err(failed(value, "timestamp")),
    }))
}

/// The value as text.
pub(crate) fn to_string<'a>(value: &Value<'a>) -> Outcome<'a> {
    Ok(match value {
        Value::String(text) => Value::String(text.clone()),
        Value::Bool(value) => Value::String(Text::Borrowed(if *value { "true" } else { "false" })),
        Value::Int(value) => Value::text(value.to_string()),
        Value::Uint(value) => Value::text(value.to_string()),
        Value::Double(value) => Value::text(shortest(*value)),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::text(text),
            Err(_) => {
                let message = "invalid UTF-8 in bytes, cannot convert to string";
                return Err(Fault::fixed(ErrorClass::Conversion, message));
            }
        },
        Value::Duration(nanos) => Value::text(format!("{}s", seconds_text(*nanos))),
        Value::Timestamp(time) => Value::text(time.to_string()),
        Value::Type(name) => Value::String(Text::Borrowed(name)),
        Value::Ip(address) => Value::text(address.to_string()),
        Value::Cidr(network) => Value::text(network.to_string()),
        Value::Null => Value::String(Text::Borrowed("null")),
        _ => return Err(failed(value, "string")),
    })
}

/// Nanoseconds as seconds in the shortest decimal form.
fn seconds_text(nanos: i64) -> String {
    let seconds = (nanos / SECOND) as f64 + (nanos % SECOND) as f64 / 1e9;
    format!("{seconds}")
}

/// A double as the shortest text that gives it back, in exponent form when the exponent is below -4 or above 5.
pub(crate) fn shortest(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    format!("{value}")
}

/// A double as Go reads it: decimal or hexadecimal, with `_` between digits, `inf` and `nan`.
fn parse_double(text: &str) -> Option<f64> {
    let (negative, body) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = body.to_ascii_lowercase();
    let magnitude = match lower.as_str() {
        "inf" | "infinity" => f64::INFINITY,
        "nan" => return (text.len() == 3).then_some(f64::NAN),
        _ => {
            let plain = without_underscores(&lower)?;
            let number = match plain.strip_prefix("0x") {
                Some(hex) => parse_hex(hex)?,
                None => parse_decimal(&plain)?,
            };
            if number.is_infinite() {
                return None;
            }
            number
        }
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// Underscores may stand between digits, and after a base prefix.
fn without_underscores(text: &str) -> Option<String> {
    if !text.contains('_') {
        return Some(text.to_owned());
    }
    let bytes = text.as_bytes();
    let hex = text.starts_with("0x");
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (hex && byte.is_ascii_hexdigit());
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_') {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let after_prefix = hex && at == 2;
        if !(after_prefix || before.is_some_and(is_digit)) || !bytes.get(at + 1).is_some_and(is_digit) {
            return None;
        }
    }
    Some(text.replace('_', ""))
}

fn parse_decimal(text: &str) -> Option<f64> {
    let shape = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'+' | b'-'));
    let has_digit =
        text.split('e').next().is_some_and(|mantissa| mantissa.bytes().any(|byte| byte.is_ascii_digit()));
    if shape && has_digit { text.parse().ok() } else { None }
}

/// `1.8p-3`: a hexadecimal mantissa and a binary exponent, which is required.
fn parse_hex(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut exponent: i32 =
        exponent.parse().unwrap_or(if exponent.starts_with('-') { -100_000 } else { 100_000 });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value: u128 = 0;
    for (place, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u128::from(digit.to_digit(16)?);
        let after_point = place >= whole.len();
        if value >> 120 == 0 {
            value = value * 16 + digit;
            exponent -= if after_point { 4 } else { 0 };
        } else {
            // Digits beyond the precision only matter for rounding.
            value |= u128::from(digit != 0);
            exponent += if after_point { 0 } else { 4 };
        }
    }
    let mut number = value as f64;
    while exponent != 0 && number != 0.0 && number.is_finite() {
        let step = exponent.clamp(-1000, 1000);
        number *= 2f64.powi(step);
        exponent -= step;
    }
    Some(number)
}
