//! Amounts of what nodes have, as people write them.

use model::quantity::{Format, Quantity};

/// Processors, from thousandths.
pub(crate) fn cpu(milli: i64) -> String {
    Quantity::from_milli(milli, Format::DecimalSi).to_string()
}

/// Memory, from bytes.
pub(crate) fn memory(bytes: i64) -> String {
    // Less than a mebibyte is of no interest beside it.
    let mebibyte = 1 << 20;
    let bytes = if bytes > mebibyte { bytes / mebibyte * mebibyte } else { bytes };
    Quantity::new(bytes, Format::BinarySi).to_string()
}
