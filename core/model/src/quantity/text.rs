//! Quantities to texts.
//!
//! Invariant: the text is the one Kubernetes prints, also where that text loses the amount: a plain decimal beyond
//! the exa range has no suffix to carry its power of ten, and 10^21 prints as `1`.

use std::fmt;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::Zero;

use super::wide::{NotInteger, Wide};
use super::{Amount, Format, Quantity, grow, shrink};

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(given) = &self.given {
            return f.pad(given);
        }
        if self.is_zero() {
            return f.pad("0");
        }
        match (self.format, &self.amount) {
            (Format::BinarySi, _) if self.is_within_1024() => decimal(&self.amount, Format::DecimalSi, f),
            (Format::BinarySi, Amount::Word { value, scale }) => match word_to_integer(*value, *scale) {
                Ok(integer) => binary_word(integer, f),
                Err(Unfit::Fraction) => decimal(&self.amount, Format::DecimalSi, f),
                Err(Unfit::Overflow) => binary_wide(&Wide::from_word(*value, *scale), f),
            },
            (Format::BinarySi, Amount::Wide(wide)) => binary_wide(wide, f),
            (format, amount) => decimal(amount, format, f),
        }
    }
}

impl Quantity {
    fn is_within_1024(&self) -> bool {
        let bound = |value| Self::new(value, Format::DecimalSi);
        *self > bound(-1024) && *self < bound(1024)
    }
}

enum Unfit {
    Fraction,
    Overflow,
}

fn word_to_integer(value: i64, scale: i32) -> Result<i64, Unfit> {
    if scale >= 0 {
        return grow(value, i64::from(scale)).ok_or(Unfit::Overflow);
    }
    match shrink(value, -i64::from(scale)) {
        (integer, true) => Ok(integer),
        (_, false) => Err(Unfit::Fraction),
    }
}

fn decimal(amount: &Amount, format: Format, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match amount {
        Amount::Word { value, scale } => decimal_word(*value, *scale, format, f),
        Amount::Wide(wide) => decimal_wide(wide, format, f),
    }
}

fn decimal_word(value: i64, scale: i32, format: Format, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (mut mantissa, mut exponent) = (value, scale);
    while mantissa % 10 == 0 {
        mantissa /= 10;
        exponent = exponent.wrapping_add(1);
    }
    let places = exponent.rem_euclid(3);
    match mantissa.checked_mul(10_i64.pow(places.unsigned_abs())) {
        Some(mantissa) => {
            f.pad(&format!("{mantissa}{}", decimal_suffix(exponent.wrapping_sub(places), format)))
        }
        None => decimal_wide(&Wide::from_word(value, scale), format, f),
    }
}

fn decimal_wide(wide: &Wide, format: Format, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (mut mantissa, exponent) = wide.without_trailing_zeros();
    // The exponent has 32 bits there and wraps around.
    let mut exponent = exponent as i32;
    while exponent % 3 != 0 {
        mantissa *= 10;
        exponent = exponent.wrapping_sub(1);
    }
    f.pad(&format!("{mantissa}{}", decimal_suffix(exponent, format)))
}

fn decimal_suffix(exponent: i32, format: Format) -> String {
    let letter = match (format, exponent) {
        (_, 0) => "",
        (Format::DecimalExponent, _) => return format!("e{exponent}"),
        (_, -9) => "n",
        (_, -6) => "u",
        (_, -3) => "m",
        (_, 3) => "k",
        (_, 6) => "M",
        (_, 9) => "G",
        (_, 12) => "T",
        (_, 15) => "P",
        (_, 18) => "E",
        _ => "",
    };
    letter.to_owned()
}

fn binary_word(integer: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (mut mantissa, mut power) = (integer, 0);
    // The least word has no positive counterpart, and the reference leaves it whole.
    while mantissa != i64::MIN && mantissa % 1024 == 0 {
        mantissa /= 1024;
        power += 1;
    }
    f.pad(&format!("{mantissa}{}", binary_suffix(power)))
}

fn binary_wide(wide: &Wide, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut mantissa = match wide.to_integer() {
        Ok(mantissa) => mantissa,
        Err(NotInteger::Fraction) => return decimal_wide(wide, Format::DecimalSi, f),
        // Tens of thousands of digits help no reader, and the exponent keeps the amount.
        Err(NotInteger::TooLong) => return decimal_wide(wide, Format::DecimalExponent, f),
    };
    let (mut power, base) = (0, BigInt::from(1024));
    loop {
        let (quotient, remainder) = mantissa.div_rem(&base);
        if !remainder.is_zero() {
            return f.pad(&format!("{mantissa}{}", binary_suffix(power)));
        }
        mantissa = quotient;
        power += 1;
    }
}

fn binary_suffix(power: usize) -> &'static str {
    ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(power).copied().unwrap_or("")
}
