//! Parts of points in time and lengths of time.

use crate::value::time::SECOND;
use crate::value::{ErrorClass, Fault, Outcome, Value};

/// The functions on timestamps and durations, by overload.
pub(crate) fn function<'a>(overload: &str, args: &[Value<'a>]) -> Outcome<'a> {
    let time = match &args[0] {
        Value::Duration(nanos) => return Ok(Value::Int(duration_part(overload, *nanos))),
        Value::Timestamp(time) => time,
        _ => return Err(Fault::no_such_overload()),
    };
    let offset = match args.get(1) {
        None => 0,
        Some(Value::String(zone)) => offset_of(zone, time.seconds).map_err(Fault::invalid)?,
        Some(_) => return Err(Fault::no_such_overload()),
    };
    let civil = time.civil(offset);
    let part = overload.trim_end_matches("_with_tz").trim_end_matches("_tz");
    Ok(Value::Int(match part {
        "timestamp_to_year" => civil.year,
        "timestamp_to_month" => i64::from(civil.month) - 1,
        "timestamp_to_day_of_year" => i64::from(civil.day_of_year),
        "timestamp_to_day_of_month" => i64::from(civil.day) - 1,
        "timestamp_to_day_of_month_1_based" => i64::from(civil.day),
        "timestamp_to_day_of_week" => i64::from(civil.weekday),
        "timestamp_to_hours" => i64::from(civil.hour),
        "timestamp_to_minutes" => i64::from(civil.minute),
        "timestamp_to_seconds" => i64::from(civil.second),
        "timestamp_to_milliseconds" => i64::from(time.nanos / 1_000_000),
        _ => return Err(Fault::fixed(ErrorClass::NoSuchOverload, "no such overload")),
    }))
}

fn duration_part(overload: &str, nanos: i64) -> i64 {
    // The reference goes through floating point, which rounds up just below a whole unit of a long time.
    let in_units = |unit: i64| ((nanos / unit) as f64 + (nanos % unit) as f64 / unit as f64) as i64;
    match overload {
        "duration_to_hours" => in_units(3600 * SECOND),
        "duration_to_minutes" => in_units(60 * SECOND),
        "duration_to_seconds" => in_units(SECOND),
        _ => nanos / 1_000_000,
    }
}

/// The seconds east of UTC of a zone at a moment.
fn offset_of(zone: &str, seconds: i64) -> Result<i64, String> {
    if let Some((hours, minutes)) = zone.split_once(':') {
        let number = |text: &str| text.parse::<i64>().map_err(|_| format!("{zone:?} is not a time zone"));
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        let sign = if zone.starts_with('-') { -1 } else { 1 };
        let total = hours.checked_mul(60).and_then(|total| total.checked_add(sign * minutes));
        // Anything larger would leave the calendar.
        return total
            .filter(|total| total.abs() <= 10_000_000)
            .map(|total| total * 60)
            .ok_or("offset out of range".into());
    }
    match zone {
        "" | "UTC" => Ok(0),
        "Local" => Ok(0),
        named => {
            // The database ignores case, names of zones do not.
            let known = jiff::tz::TimeZone::get(named).ok().filter(|zone| zone.iana_name() == Some(named));
            let known = known.ok_or_else(|| format!("unknown time zone {named}"))?;
            // Its calendar ends a day before ours; the rules do not change in that day.
            let (first, last) = (jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
            let moment = jiff::Timestamp::from_second(seconds.clamp(first, last))
                .map_err(|error| error.to_string())?;
            Ok(i64::from(known.to_offset(moment).seconds()))
        }
    }
}
