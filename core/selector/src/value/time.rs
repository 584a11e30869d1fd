//! Points in time and lengths of time, and their texts.

/// The nanoseconds of a second.
pub(crate) const SECOND: i64 = 1_000_000_000;
/// The first and last second that a timestamp can name: the years 1 to 9999.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
/// The seconds of a day.
const DAY: i64 = 86_400;

/// A point in time, and the offset from UTC in which it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timestamp {
    /// Seconds since 1970.
    pub(crate) seconds: i64,
    pub(crate) nanos: u32,
    /// Seconds east of UTC.
    pub(crate) offset: i32,
}

/// A date and time of day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: u32,
    /// From 1.
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
    /// From 0.
    pub(crate) day_of_year: u32,
    /// From 0, Sunday.
    pub(crate) weekday: u32,
}

impl Timestamp {
    pub(crate) fn from_seconds(seconds: i64) -> Option<Timestamp> {
        let time = Timestamp { seconds, nanos: 0, offset: 0 };
        time.is_in_range().then_some(time)
    }

    pub(crate) fn is_in_range(&self) -> bool {
        SECONDS.contains(&self.seconds)
    }

    pub(crate) fn instant(&self) -> (i64, u32) {
        (self.seconds, self.nanos)
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.instant() == (*SECONDS.start(), 0)
    }

    /// The date and time at an offset from UTC.
    pub(crate) fn civil(&self, offset: i64) -> Civil {
        let local = self.seconds + offset;
        let days = local.div_euclid(DAY);
        let rest = local.rem_euclid(DAY) as u32;
        let (year, month, day) = date(days);
        Civil {
            year,
            month,
            day,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
            day_of_year: (days - days_before(year, 1, 1)) as u32,
            weekday: (days + 4).rem_euclid(7) as u32,
        }
    }

    /// RFC 3339, strictly: capital `T` and `Z`, and every number in range.
    pub(crate) fn parse(text: &str) -> Option<Timestamp> {
        let bytes = text.as_bytes();
        let number = |range: std::ops::Range<usize>| -> Option<i64> {
            let digits = bytes.get(range)?;
            digits
                .iter()
                .all(u8::is_ascii_digit)
                .then(|| digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
        };
        let is = |at: usize, wanted: u8| bytes.get(at) == Some(&wanted);
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        // The hour may have one digit.
        let hour_width = if is(13, b':') { 2 } else { 1 };
        let base = 11 + hour_width;
        let (hour, minute, second) =
            (number(11..base)?, number(base + 1..base + 3)?, number(base + 4..base + 6)?);
        let marks = is(4, b'-') && is(7, b'-') && is(10, b'T') && is(base, b':') && is(base + 3, b':');
        let in_range = (1..=12).contains(&month)
            && day >= 1
            && day <= month_length(year, month)
            && hour < 24
            && minute < 60
            && second < 60;
        if !marks || !in_range {
            return None;
        }
        let mut at = base + 6;
        let mut nanos = 0;
        if matches!(bytes.get(at), Some(b'.' | b',')) {
            let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return None;
            }
            for place in 0..9 {
                let digit = if place < digits { u32::from(bytes[at + 1 + place] - b'0') } else { 0 };
                nanos = nanos * 10 + digit;
            }
            at += 1 + digits;
        }
        let offset = match bytes.get(at)? {
            b'Z' if bytes.len() == at + 1 => 0,
            sign @ (b'+' | b'-') if bytes.len() == at + 6 && is(at + 3, b':') => {
                let (hours, minutes) = (number(at + 1..at + 3)?, number(at + 4..at + 6)?);
                // A full day and a full hour are let through, as people do write them.
                if hours > 24 || minutes > 60 {
                    return None;
                }
                (hours * 3600 + minutes * 60) * if *sign == b'-' { -1 } else { 1 }
            }
            _ => return None,
        };
        let days = days_before(year, month, day);
        let seconds = days * DAY + hour * 3600 + minute * 60 + second - offset;
        Some(Timestamp { seconds, nanos, offset: offset as i32 })
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let civil = self.civil(i64::from(self.offset));
        write!(
            out,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second
        )?;
        if self.nanos > 0 {
            let digits = format!("{:09}", self.nanos);
            write!(out, ".{}", digits.trim_end_matches('0'))?;
        }
        match self.offset {
            0 => write!(out, "Z"),
            offset => {
                let sign = if offset < 0 { '-' } else { '+' };
                write!(out, "{sign}{:02}:{:02}", offset.abs() / 3600, offset.abs() / 60 % 60)
            }
        }
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn month_length(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from 1970 to a date.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    // Years start in March here, so that the leap day comes last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The date of a day since 1970.
fn date(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u32, day as u32)
}

/// A length of time such as `1h30m` or `-1.5s`, in nanoseconds.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let whole_length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(&rest[..whole_length])?;
        rest = &rest[whole_length..];
        let mut fraction = "";
        if let Some(after) = rest.strip_prefix('.') {
            let length = after.bytes().take_while(u8::is_ascii_digit).count();
            fraction = &after[..length];
            rest = &after[length..];
        }
        if whole_length == 0 && fraction.is_empty() {
            return None;
        }
        let unit_length = rest.bytes().take_while(|byte| *byte != b'.' && !byte.is_ascii_digit()).count();
        let unit = unit(&rest[..unit_length])?;
        rest = &rest[unit_length..];
        let mut nanos = whole.checked_mul(unit).filter(|nanos| *nanos <= 1 << 63)?;
        nanos += fraction_of(fraction, unit);
        total = total.checked_add(nanos).filter(|total| *total <= 1 << 63)?;
    }
    match (negative, total) {
        (true, total) => Some((total as i64).wrapping_neg()),
        (false, total) => i64::try_from(total).ok(),
    }
}

/// The digits as a number of at most 2^63.
fn digits(text: &str) -> Option<u64> {
    text.bytes().try_fold(0u64, |sum, digit| {
        let sum = sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        (sum <= 1 << 63).then_some(sum)
    })
}

/// The fraction of a unit, with the digits that fit a word.
fn fraction_of(text: &str, unit: u64) -> u64 {
    let mut value: u64 = 0;
    let mut scale = 1.0;
    for digit in text.bytes() {
        let Some(next) = value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0')))
        else {
            break;
        };
        if next > 1 << 63 {
            break;
        }
        value = next;
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

fn unit(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}
