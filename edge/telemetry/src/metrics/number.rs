//! Numbers as Prometheus' own exporters print them, so that the bounds of buckets are the same text everywhere.

/// The shortest text that reads back as this number, with an exponent below 0.0001 and from 1e21 on.
pub(super) fn text(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() };
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(power) if number != 0.0 && power < -4 => format!("{digits}e-{:02}", -power),
        Ok(power) if power >= 21 => format!("{digits}e+{power:02}"),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn numbers_look_as_in_other_exporters() {
        for (number, expected) in [
            (0.0, "0"),
            (1.0, "1"),
            (16.384, "16.384"),
            (0.001, "0.001"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (0.000_022_5, "2.25e-05"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (-2.5, "-2.5"),
            (f64::INFINITY, "+Inf"),
        ] {
            assert_eq!(text(number), expected);
        }
    }
}
