//! Texts to quantities.
//!
//! Invariant: a text is accepted, rounded and capped exactly as Kubernetes does it, except that its length is bounded.

use std::str::FromStr;

use num_bigint::BigInt;
use thiserror::Error;

use super::wide::Wide;
use super::{Amount, Format, NANO, Quantity};

/// The longest text that is read as a quantity. Longer than any device selector may be.
pub const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Decimal digits that surely fit into a word.
const WORD_DIGITS: i64 = 18;

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ParseQuantityError {
    /// The text is not a number followed by a suffix.
    #[error("not a quantity; hint: write a number and an optional suffix, as in 500m, 2Gi or 1e3")]
    Format,
    /// The suffix is none of those known, or its exponent does not fit.
    #[error(
        "unknown quantity suffix; hint: use n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3"
    )]
    Suffix,
    /// The part before the suffix has no digits.
    #[error("quantity without digits; hint: write a number before the suffix")]
    Number,
    /// The text is longer than `TEXT_BYTES_MAX`.
    #[error("quantity of {bytes} bytes is too long; hint: use at most {TEXT_BYTES_MAX} bytes")]
    TooLong {
        /// The length of the text.
        bytes: usize,
    },
}

impl ParseQuantityError {
    /// The class of the error: `format`, `suffix` or `number`.
    pub fn class(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Suffix => "suffix",
            Self::Number | Self::TooLong { .. } => "number",
        }
    }
}

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(ParseQuantityError::TooLong { bytes: text.len() });
        }
        let parts = Parts::split(text)?;
        let suffix = Suffix::read(parts.suffix).ok_or(ParseQuantityError::Suffix)?;
        if let Some((value, scale)) = word(&parts, suffix) {
            let given = must_repeat(text, &parts, suffix, (value, scale)).then(|| text.into());
            let value = if parts.negative { -value } else { value };
            return Ok(Self { amount: Amount::Word { value, scale }, format: suffix.format(), given });
        }
        wide(&parts, suffix)
    }
}

/// The pieces of a text, still unchecked. The integer part has lost its leading zeros.
struct Parts<'a> {
    negative: bool,
    integer: &'a str,
    fraction: &'a str,
    has_digits: bool,
    suffix: &'a str,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Self, ParseQuantityError> {
        if text.is_empty() {
            return Err(ParseQuantityError::Format);
        }
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (integer, rest) = split_digits(unsigned);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);

        let exponent = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
        let (_, after) = split_digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent));
        if !after.is_empty() {
            return Err(ParseQuantityError::Format);
        }
        Ok(Self {
            negative: text.starts_with('-'),
            integer: integer.trim_start_matches('0'),
            fraction,
            has_digits: !integer.is_empty() || !fraction.is_empty(),
            suffix,
        })
    }

    /// Digits before and after the dot; an empty integer part counts as one zero.
    fn digits(&self) -> i64 {
        (self.integer.len().max(1) + self.fraction.len()) as i64
    }

    /// All digits as a word. The caller has seen to it that there are at most 18.
    fn word(&self) -> i64 {
        let digits = self.integer.bytes().chain(self.fraction.bytes());
        digits.fold(0, |word, digit| word * 10 + i64::from(digit - b'0'))
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

#[derive(Clone, Copy)]
enum Suffix {
    /// A letter that stands for a power of ten.
    Decimal(i32),
    /// A power of two.
    Binary(u32),
    /// A written power of ten.
    Exponent(i32),
}

impl Suffix {
    fn read(text: &str) -> Option<Self> {
        Some(match text {
            "n" => Self::Decimal(-9),
            "u" => Self::Decimal(-6),
            "m" => Self::Decimal(-3),
            "" => Self::Decimal(0),
            "k" => Self::Decimal(3),
            "M" => Self::Decimal(6),
            "G" => Self::Decimal(9),
            "T" => Self::Decimal(12),
            "P" => Self::Decimal(15),
            "E" => Self::Decimal(18),
            "Ki" => Self::Binary(10),
            "Mi" => Self::Binary(20),
            "Gi" => Self::Binary(30),
            "Ti" => Self::Binary(40),
            "Pi" => Self::Binary(50),
            "Ei" => Self::Binary(60),
            // Kubernetes keeps the low 32 bits of a 64-bit exponent; e4294967296 is e0.
            _ => Self::Exponent(text.strip_prefix(['e', 'E'])?.parse::<i64>().ok()? as i32),
        })
    }

    fn format(self) -> Format {
        match self {
            Self::Decimal(_) => Format::DecimalSi,
            Self::Binary(_) => Format::BinarySi,
            Self::Exponent(_) => Format::DecimalExponent,
        }
    }
}

/// The value and scale, where Kubernetes would hold the number in a word.
fn word(parts: &Parts<'_>, suffix: Suffix) -> Option<(i64, i32)> {
    match suffix {
        Suffix::Decimal(exponent) | Suffix::Exponent(exponent) => {
            let scale = exponent.wrapping_sub(parts.fraction.len() as i32);
            if parts.digits() > WORD_DIGITS || scale < NANO {
                return None;
            }
            Some((parts.word(), scale))
        }
        Suffix::Binary(power) => {
            // The reference counts 14 digits and takes off three for every power of 1024.
            if !parts.fraction.is_empty() || parts.digits() + i64::from(power) * 3 / 10 > 14 {
                return None;
            }
            Some((parts.word() << power, 0))
        }
    }
}

/// Whether the text is repeated on output although it is not the canonical one.
///
/// The reference repeats a text that looks canonical by a quick test, which lets some others through:
/// `+1`, `007`, `1.`, `1.500` and `1E3`.
fn must_repeat(text: &str, parts: &Parts<'_>, suffix: Suffix, (value, scale): (i64, i32)) -> bool {
    let looks_canonical = match suffix {
        Suffix::Binary(power) => (value >> power) & 7 != 0,
        Suffix::Decimal(_) | Suffix::Exponent(_) => {
            // The zero that stands for a missing integer part makes the first digit a zero.
            let ends_in_thousand = match parts.fraction.len() {
                0 => parts.integer.ends_with("000"),
                1 => parts.fraction == "0" && parts.integer.ends_with("00"),
                2 => parts.fraction == "00" && parts.integer.ends_with('0'),
                _ => parts.fraction.ends_with("000"),
            };
            scale % 3 == 0 && !parts.integer.is_empty() && !ends_in_thousand
        }
    };
    let number = &text[..text.len() - parts.suffix.len()];
    let is_plain = number.strip_prefix('-').unwrap_or(number) == parts.integer;
    looks_canonical && (!is_plain || matches!(suffix, Suffix::Exponent(_)))
}

fn wide(parts: &Parts<'_>, suffix: Suffix) -> Result<Quantity, ParseQuantityError> {
    if !parts.has_digits {
        return Err(ParseQuantityError::Number);
    }
    let digits = ["0", parts.integer, parts.fraction].concat();
    let mut mantissa: BigInt = digits.parse().map_err(|_| ParseQuantityError::Number)?;
    let mut scale = parts.fraction.len() as i32;
    match suffix {
        Suffix::Decimal(exponent) | Suffix::Exponent(exponent) => scale = scale.wrapping_sub(exponent),
        Suffix::Binary(power) => mantissa <<= power,
    }
    let mut format = suffix.format();
    let mut amount = Wide::new(mantissa, i64::from(scale));
    if amount.signum() != 0 {
        // A request for a little gets a little: what is finer than nano becomes one nano.
        amount = amount.rounded_up(-i64::from(NANO));
    }
    if format == Format::BinarySi {
        let largest = Wide::from_word(i64::MAX, 0);
        if amount.cmp(&largest).is_gt() {
            amount = largest;
        }
        if amount.signum() != 0 && amount.cmp(&Wide::from_word(1, 0)).is_lt() {
            format = Format::DecimalSi;
        }
    }
    if parts.negative {
        amount = amount.negated();
    }
    Ok(Quantity { amount: Amount::Wide(Box::new(amount)), format, given: None })
}
