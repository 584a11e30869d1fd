//! Lengths of time as configuration writes them: `90s`, `1h30m`, `1.5m`.

use std::time::Duration;

use thiserror::Error;

/// The text is no length of time.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NotADuration {
    /// There is no number where one must be.
    #[error("must be a duration such as 90s or 1h30m")]
    Number,
    /// The unit is missing or not known.
    #[error("each number needs a unit: ns, us, ms, s, m or h")]
    Unit,
    /// It is longer than can be counted.
    #[error("is too long")]
    TooLong,
}

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a length of time: numbers with units, one after the other.
///
/// # Errors
/// When the text is empty, negative, lacks a unit or is too long.
pub fn parse(text: &str) -> Result<Duration, NotADuration> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut nanos: u64 = 0;
    while !rest.is_empty() || text.is_empty() {
        let (part, unit, after) = next(rest)?;
        let part = part.checked_mul(unit).ok_or(NotADuration::TooLong)?;
        let part = u64::try_from(part / FRACTION).map_err(|_| NotADuration::TooLong)?;
        nanos =
            nanos.checked_add(part).filter(|sum| i64::try_from(*sum).is_ok()).ok_or(NotADuration::TooLong)?;
        rest = after;
    }
    Ok(Duration::from_nanos(nanos))
}

/// Writes a length of time so that [`parse`] reads it back the same: `90s` becomes `1m30s`.
#[must_use]
pub fn text(length: Duration) -> String {
    let nanos = length.subsec_nanos();
    if length.is_zero() {
        return "0s".to_owned();
    }
    if length.as_secs() == 0 {
        let (unit, size) = match nanos {
            0..1_000 => ("ns", 1),
            1_000..1_000_000 => ("µs", 1_000),
            1_000_000.. => ("ms", 1_000_000),
        };
        return format!("{}{unit}", decimal(nanos.into(), size));
    }
    let (minutes, seconds) = (length.as_secs() / 60, length.as_secs() % 60);
    let seconds = decimal(seconds * 1_000_000_000 + u64::from(nanos), 1_000_000_000);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// A number of units, of which each has `size` parts, without zeros at the end.
fn decimal(parts: u64, size: u64) -> String {
    let digits = size.ilog10() as usize;
    let text = format!("{}.{:0digits$}", parts / size, parts % size);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Numbers are read to nine decimals; what comes after is less than a nanosecond of any unit but hours.
const FRACTION: u128 = 1_000_000_000;

/// The first number in billionths, its unit in nanoseconds, and the text after them.
fn next(text: &str) -> Result<(u128, u128, &str), NotADuration> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = text.split_at(digits(text));
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(NotADuration::Number);
    }
    let number: u128 = match whole {
        "" => 0,
        whole => whole.parse::<u64>().map_err(|_| NotADuration::TooLong)?.into(),
    };
    let decimals: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    let decimals: u128 = decimals.parse().map_err(|_| NotADuration::Number)?;
    let end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    let (_, nanos) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(NotADuration::Unit)?;
    Ok((number * FRACTION + decimals, u128::from(*nanos), rest))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{NotADuration, parse, text};

    #[test]
    fn numbers_with_units_add_up() {
        assert_eq!(parse("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(parse("0"), Ok(Duration::ZERO));
        assert_eq!(parse(".5s"), Ok(Duration::from_millis(500)));
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        for written in [
            "0s",
            "1ns",
            "1.1µs",
            "2.5ms",
            "100ms",
            "15s",
            "1.5s",
            "1m30s",
            "10m0s",
            "1h0m0s",
            "100h0m0.000000001s",
        ] {
            assert_eq!(parse(written).map(text).as_deref(), Ok(written));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        assert_eq!(parse(""), Err(NotADuration::Number));
        assert_eq!(parse("-1s"), Err(NotADuration::Number));
        assert_eq!(parse("."), Err(NotADuration::Number));
        assert_eq!(parse("10"), Err(NotADuration::Unit));
        assert_eq!(parse("10 s"), Err(NotADuration::Unit));
        assert_eq!(parse("3000000h"), Err(NotADuration::TooLong));
        assert_eq!(parse("99999999999999999999s"), Err(NotADuration::TooLong));
    }
}
