//! Moments in time, to the microsecond, and their text in RFC 3339.
//!
//! A moment is a value that the caller passes in; nothing here reads a clock.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

/// A moment: microseconds since 1970 in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    micros: i64,
}

/// The text is no moment as RFC 3339 writes it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0:?} is not a time such as 2026-01-02T03:04:05Z")]
pub struct NotATime(String);

impl Timestamp {
    /// The moment that many microseconds after the start of 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self { micros }
    }

    /// Microseconds since the start of 1970.
    pub const fn micros(self) -> i64 {
        self.micros
    }

    /// So many milliseconds later; at the end of time, then.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self { micros: self.micros.saturating_add(millis.saturating_mul(1_000)) }
    }

    /// So much later; at the end of time, then.
    #[must_use]
    pub fn plus(self, time: Duration) -> Self {
        let micros = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        Self { micros: self.micros.saturating_add(micros) }
    }

    /// The same moment without its fraction of a second.
    #[must_use]
    pub const fn to_seconds(self) -> Self {
        Self { micros: self.micros.div_euclid(1_000_000).saturating_mul(1_000_000) }
    }

    /// Reads RFC 3339, with any number of decimals and any zone.
    ///
    /// # Errors
    /// When the text has another form or names no day of the calendar.
    pub fn parse(text: &str) -> Result<Self, NotATime> {
        let not_a_time = || NotATime(text.chars().take(64).collect());
        if !has_rfc3339_form(text) {
            return Err(not_a_time());
        }
        let moment: jiff::Timestamp = text.parse().map_err(|_| not_a_time())?;
        Ok(Self { micros: moment.as_microsecond() })
    }

    /// The text with exactly six decimals, as leases have it.
    pub fn with_micros(self) -> impl fmt::Display {
        self.moment().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    }

    fn moment(self) -> jiff::Timestamp {
        jiff::Timestamp::from_microsecond(self.micros).unwrap_or(jiff::Timestamp::MAX)
    }
}

impl fmt::Display for Timestamp {
    /// To the second, as most objects have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_seconds().moment().strftime("%Y-%m-%dT%H:%M:%SZ"))
    }
}

/// The calendar library reads looser forms than RFC 3339; objects may only have the strict one.
fn has_rfc3339_form(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let bytes = text.as_bytes();
    if !text.is_ascii() || bytes.len() <= FORM.len() {
        return false;
    }
    let fits = |(have, form): (&u8, &u8)| if *form == b'0' { have.is_ascii_digit() } else { have == form };
    if !bytes.iter().zip(FORM).all(fits) {
        return false;
    }
    let mut zone = &text[FORM.len()..];
    if let Some(fraction) = zone.strip_prefix('.') {
        zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        if zone.len() == fraction.len() {
            return false;
        }
    }
    match zone.as_bytes() {
        b"Z" => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].iter().all(|digit| digit.is_ascii_digit()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Timestamp;

    #[test]
    fn a_time_is_written_to_the_second_in_utc() {
        let time = Timestamp::parse("2026-01-02T05:04:05.900001+02:00").expect("valid");
        assert_eq!(time.to_string(), "2026-01-02T03:04:05Z");
        assert_eq!(time.with_micros().to_string(), "2026-01-02T03:04:05.900001Z");
        assert_eq!(time.to_seconds().micros() % 1_000_000, 0);
    }

    #[test]
    fn later_is_at_most_the_end_of_time() {
        let time = Timestamp::from_micros(1);
        assert_eq!(time.plus(Duration::from_millis(2)), time.plus_millis(2));
        assert_eq!(time.plus(Duration::MAX).micros(), i64::MAX);
    }

    #[test]
    fn moments_before_1970_round_down_too() {
        let time = Timestamp::parse("1969-12-31T23:59:59.5Z").expect("valid");
        assert_eq!(time.to_string(), "1969-12-31T23:59:59Z");
        assert!(!Timestamp::from_micros(i64::MIN).to_string().is_empty());
    }

    #[test]
    fn other_forms_are_refused() {
        for bad in [
            "",
            "2026-01-02",
            "2026-01-02 03:04:05Z",
            "2026-01-02T03:04:05",
            "2026-13-02T03:04:05Z",
            "x",
            "2026-01-02T03:04:05.Z",
            "2026-01-02T03:04:05+0200",
            "2026-02-30T00:00:00Z",
            "２026-01-02T03:04:05Z",
        ] {
            assert!(Timestamp::parse(bad).is_err(), "{bad}");
        }
    }
}
