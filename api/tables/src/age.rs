//! Lengths of time as people read them: at most two units, and the finer one only where it still matters.

use model::timestamp::Timestamp;
use serde_json::Value;

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Kubernetes counts in nanoseconds of 64 bits, so that nothing is older than about 292 years.
const MICROS_MAX: i64 = i64::MAX / 1000;

/// The start of the year 1, which stands for a time that was never set.
const NEVER: Timestamp = Timestamp::from_micros(-62_135_596_800 * SECOND);

/// A length of time in microseconds as Kubernetes writes it: `5s`, `3m20s`, `2h`, `4d3h`.
///
/// One second below zero still counts as now, because the clocks of two machines differ a little.
pub fn human(micros: i64) -> String {
    let micros = micros.clamp(-MICROS_MAX, MICROS_MAX);
    match micros {
        _ if micros <= -2 * SECOND => "<invalid>".to_owned(),
        _ if micros < 0 => "0s".to_owned(),
        _ if micros < 2 * MINUTE => format!("{}s", micros / SECOND),
        _ if micros < 10 * MINUTE => two(micros, (MINUTE, "m"), (SECOND, "s")),
        _ if micros < 3 * HOUR => format!("{}m", micros / MINUTE),
        _ if micros < 8 * HOUR => two(micros, (HOUR, "h"), (MINUTE, "m")),
        _ if micros < 2 * DAY => format!("{}h", micros / HOUR),
        _ if micros < 8 * DAY => two(micros, (DAY, "d"), (HOUR, "h")),
        _ if micros < 2 * YEAR => format!("{}d", micros / DAY),
        _ if micros < 8 * YEAR => two(micros, (YEAR, "y"), (DAY, "d")),
        _ => format!("{}y", micros / YEAR),
    }
}

fn two(micros: i64, (coarse, coarse_name): (i64, &str), (fine, fine_name): (i64, &str)) -> String {
    let rest = micros % coarse / fine;
    let whole = micros / coarse;
    if rest == 0 { format!("{whole}{coarse_name}") } else { format!("{whole}{coarse_name}{rest}{fine_name}") }
}

/// The moment that a field holds, unless it is unset.
pub(crate) fn moment(field: &Value) -> Option<Timestamp> {
    Timestamp::parse(field.as_str()?).ok().filter(|time| *time != NEVER)
}

/// How long ago the moment in `field` was.
pub(crate) fn since(field: &Value, now: Timestamp) -> String {
    moment(field).map_or_else(|| "<unknown>".to_owned(), |then| between(then, now))
}

/// The time from one moment to another.
pub(crate) fn between(from: Timestamp, to: Timestamp) -> String {
    human(to.micros().saturating_sub(from.micros()))
}

/// How long ago the object was created.
pub(crate) fn age(object: &Value, now: Timestamp) -> Value {
    since(&object["metadata"]["creationTimestamp"], now).into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{DAY, HOUR, MINUTE, SECOND, YEAR, human, since};

    fn check(micros: i64, text: &str) {
        assert_eq!(human(micros), text, "{micros}");
    }

    #[test]
    fn short_times_are_told_to_the_second() {
        check(0, "0s");
        check(SECOND - 1, "0s");
        check(5 * SECOND, "5s");
        check(119 * SECOND + 999_999, "119s");
        check(2 * MINUTE, "2m");
        check(3 * MINUTE + 20 * SECOND, "3m20s");
        check(10 * MINUTE - 1, "9m59s");
    }

    #[test]
    fn the_longer_the_time_the_coarser_its_text() {
        check(10 * MINUTE + 59 * SECOND, "10m");
        check(3 * HOUR - 1, "179m");
        check(3 * HOUR, "3h");
        check(7 * HOUR + 59 * MINUTE, "7h59m");
        check(8 * HOUR + 59 * MINUTE, "8h");
        check(2 * DAY - 1, "47h");
        check(2 * DAY, "2d");
        check(4 * DAY + 3 * HOUR, "4d3h");
        check(8 * DAY + 23 * HOUR, "8d");
        check(2 * YEAR - 1, "729d");
        check(2 * YEAR, "2y");
        check(3 * YEAR + 7 * DAY, "3y7d");
        check(8 * YEAR + 300 * DAY, "8y");
        check(i64::MAX, "292y");
    }

    #[test]
    fn a_clock_may_be_almost_two_seconds_ahead() {
        check(-1, "0s");
        check(-1_999_999, "0s");
        check(-2_000_000, "<invalid>");
        check(i64::MIN, "<invalid>");
    }

    #[test]
    fn a_time_that_was_never_set_is_unknown() {
        let now = model::timestamp::Timestamp::from_micros(0);
        assert_eq!(since(&Value::Null, now), "<unknown>");
        assert_eq!(since(&json!("0001-01-01T00:00:00Z"), now), "<unknown>");
        assert_eq!(since(&json!("1969-12-31T23:59:00Z"), now), "60s");
        assert_eq!(since(&json!("1600-01-01T00:00:00Z"), now), "292y");
    }
}
