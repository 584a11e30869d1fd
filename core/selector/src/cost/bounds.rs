//! Lower and upper bounds of sizes and costs, whose arithmetic stops at the largest number instead of wrapping.

/// Bounds of a size or of a cost; both are counted in whole numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Bounds {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Bounds {
    /// Nothing is known.
    pub(crate) const UNKNOWN: Bounds = Bounds { min: 0, max: u64::MAX };
    /// The cost of a plain call.
    pub(crate) const ONE: Bounds = Bounds { min: 1, max: 1 };

    pub(crate) fn exactly(value: u64) -> Bounds {
        Bounds { min: value, max: value }
    }

    pub(crate) fn between(min: u64, max: u64) -> Bounds {
        Bounds { min, max }
    }

    pub(crate) fn plus(self, other: Bounds) -> Bounds {
        Bounds { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(crate) fn times(self, other: Bounds) -> Bounds {
        Bounds { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// Each bound times a factor, rounded up.
    pub(crate) fn scaled(self, factor: f64) -> Bounds {
        Bounds { min: scaled(self.min, factor), max: scaled(self.max, factor) }
    }

    /// Bounds that hold for both.
    pub(crate) fn union(self, other: Bounds) -> Bounds {
        Bounds { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

fn scaled(value: u64, factor: f64) -> u64 {
    let value = value as f64;
    if value > 0.0 && factor > 0.0 && value > u64::MAX as f64 / factor {
        return u64::MAX;
    }
    // The conversion stops at the largest number by itself.
    (value * factor).ceil() as u64
}
