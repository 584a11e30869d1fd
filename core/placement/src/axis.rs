//! What is added up by mere arithmetic, and how people write amounts of it.

use std::fmt;
use std::sync::Arc;

/// Something of which members need so much and nodes have so much: processor, memory, places for pods, devices of a class, counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// What people call it.
    pub name: Arc<str>,
    /// How they write amounts of it.
    pub unit: Unit,
}

/// How amounts are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// They are counted: pods, devices.
    Count,
    /// Thousandths of a core.
    MilliCores,
    /// Bytes.
    Bytes,
    /// Something that a driver counts, which may be bytes.
    Quantity,
}

impl Axis {
    /// Something that is counted.
    #[must_use]
    pub fn counted(name: &str) -> Axis {
        Axis { name: name.into(), unit: Unit::Count }
    }

    /// An amount of it, as people write it.
    #[must_use]
    pub fn told(&self, amount: u64) -> String {
        match self.unit {
            Unit::Count => amount.to_string(),
            Unit::MilliCores if amount.is_multiple_of(1000) => (amount / 1000).to_string(),
            Unit::MilliCores => format!("{amount}m"),
            Unit::Bytes => binary(amount, 10),
            // Small numbers are no bytes, and few are multiples of a Mi by chance.
            Unit::Quantity => binary(amount, 20),
        }
    }
}

/// An amount with the largest binary suffix that leaves it whole, from a power of two on.
fn binary(amount: u64, from: u32) -> String {
    let suffixes = [(40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")];
    let fits = |(power, _): &&(u32, &str)| amount > 0 && *power >= from && amount.trailing_zeros() >= *power;
    match suffixes.iter().find(fits) {
        Some((power, suffix)) => format!("{}{suffix}", amount >> power),
        None => amount.to_string(),
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_told_as_kubectl_prints_them() {
        let told = |unit: Unit, amount: u64| Axis { name: "it".into(), unit }.told(amount);
        assert_eq!([told(Unit::MilliCores, 24_000), told(Unit::MilliCores, 500)], ["24", "500m"]);
        let bytes = [0, 1, 1 << 10, 3 << 20, 5 << 30, (5 << 30) + (1 << 20), 1 << 40];
        let bytes: Vec<String> = bytes.into_iter().map(|amount| told(Unit::Bytes, amount)).collect();
        assert_eq!(bytes, ["0", "1", "1Ki", "3Mi", "5Gi", "5121Mi", "1Ti"]);
        assert_eq!([told(Unit::Quantity, 2048), told(Unit::Quantity, 40 << 30)], ["2048", "40Gi"]);
        assert_eq!(told(Unit::Count, 1 << 20), "1048576");
    }
}
