//! Decimal numbers of any size, the fallback of quantities that outgrow a machine word.
//!
//! Invariant: the cost of an operation depends on the digits that were written, never on the exponent.
//! `1e9999999` is a one and a count of zeros, and stays so.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// How many digits a sum may need before the smaller operand no longer counts.
///
/// Well above twice the longest text, so no two written numbers of similar size come near it.
pub(super) const DIGITS_MAX: u64 = 40_000;

/// The number `mantissa * 10^zeros / 10^scale`.
///
/// `mantissa * 10^zeros` is the integer that Kubernetes would hold at that scale. It is never multiplied out, but
/// overflow and rounding depend on it, so both parts are kept.
#[derive(Clone, Debug)]
pub(super) struct Wide {
    mantissa: BigInt,
    zeros: u64,
    scale: i64,
}

impl Wide {
    /// The number `value * 10^scale`.
    pub(super) fn from_word(value: i64, scale: i32) -> Self {
        Self { mantissa: BigInt::from(value), zeros: 0, scale: -i64::from(scale) }
    }

    /// The number `mantissa / 10^scale`.
    pub(super) fn new(mantissa: BigInt, scale: i64) -> Self {
        Self { mantissa, zeros: 0, scale }
    }

    pub(super) fn signum(&self) -> i32 {
        match self.mantissa.sign() {
            Sign::Minus => -1,
            Sign::NoSign => 0,
            Sign::Plus => 1,
        }
    }

    pub(super) fn decimals(&self) -> i64 {
        self.scale.max(0)
    }

    pub(super) fn negated(&self) -> Self {
        Self { mantissa: -&self.mantissa, ..*self }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let scale = self.scale.max(other.scale);
        if self.mantissa.is_zero() {
            return other.at_finer_scale(scale);
        }
        if other.mantissa.is_zero() {
            return self.at_finer_scale(scale);
        }
        let exponent = self.exponent().min(other.exponent());
        if self.digits_down_to(exponent).max(other.digits_down_to(exponent)) > DIGITS_MAX {
            let larger = if self.cmp_magnitude(other) == Ordering::Less { other } else { self };
            return larger.at_finer_scale(scale);
        }
        let mantissa = self.mantissa_at(exponent) + other.mantissa_at(exponent);
        Self { mantissa, zeros: (exponent + scale).unsigned_abs(), scale }
    }

    pub(super) fn times(&self, factor: &Self) -> Self {
        Self {
            mantissa: &self.mantissa * &factor.mantissa,
            zeros: self.zeros + factor.zeros,
            scale: self.scale + factor.scale,
        }
    }

    /// The number at exactly this scale, rounded away from zero where digits are cut off.
    pub(super) fn rounded_up(&self, scale: i64) -> Self {
        let cut = -(self.exponent() + scale);
        if self.mantissa.is_zero() || cut <= 0 {
            let zeros = if self.mantissa.is_zero() { 0 } else { cut.unsigned_abs() };
            return Self { mantissa: self.mantissa.clone(), zeros, scale };
        }
        let sign = self.mantissa.signum();
        if cut.unsigned_abs() > digits_at_most(&self.mantissa) {
            return Self { mantissa: sign, zeros: 0, scale };
        }
        let (mut mantissa, remainder) = self.mantissa.div_rem(&pow10(cut.unsigned_abs()));
        if !remainder.is_zero() {
            mantissa += sign;
        }
        Self { mantissa, zeros: 0, scale }
    }

    /// The number as a 64-bit integer at this scale, with Kubernetes' rounding and overflow.
    pub(super) fn scaled_value(&self, scale: i64) -> i64 {
        let drop = self.scale - scale;
        if drop == 0 {
            return self.low_word();
        }
        if drop < 0 {
            // A power of ten beyond 64 bits turns into the least word there, by way of a float.
            let power = u32::try_from(-drop).ok().and_then(|places| 10_i64.checked_pow(places));
            return self.low_word().wrapping_mul(power.unwrap_or(i64::MIN));
        }
        if drop < 19 && self.is_below_max_word() {
            let (value, power) = (self.low_word(), 10_i64.pow(drop as u32));
            return value / power + i64::from(value % power != 0);
        }
        let drop = drop.unsigned_abs();
        if self.zeros >= drop || self.mantissa.is_zero() {
            return low_word_of(&self.mantissa, self.zeros.saturating_sub(drop));
        }
        let cut = drop - self.zeros;
        if cut > digits_at_most(&self.mantissa) {
            return i64::from(self.mantissa.is_positive());
        }
        let (quotient, remainder) = self.mantissa.div_mod_floor(&pow10(cut));
        low_word_of(&quotient, 0).wrapping_add(i64::from(!remainder.is_zero()))
    }

    pub(super) fn approximate_f64(&self) -> f64 {
        // Beyond 10^400 nothing is finite, whatever the mantissa, so the zeros need not be multiplied out.
        let base = match (self.mantissa.sign(), self.zeros) {
            (Sign::NoSign, _) => 0.0,
            (_, 0..=400) => (&self.mantissa * pow10(self.zeros)).to_f64().unwrap_or(f64::NAN),
            (Sign::Plus, _) => f64::INFINITY,
            (Sign::Minus, _) => f64::NEG_INFINITY,
        };
        if self.scale == 0 { base } else { base * pow10_f64(-self.scale) }
    }

    pub(super) fn cmp(&self, other: &Self) -> Ordering {
        let sign = self.signum();
        sign.cmp(&other.signum()).then_with(|| match sign {
            0 => Ordering::Equal,
            1 => self.cmp_magnitude(other),
            _ => other.cmp_magnitude(self),
        })
    }

    /// The mantissa without its trailing zeros, and the power of ten that goes with it.
    pub(super) fn without_trailing_zeros(&self) -> (BigInt, i64) {
        let mut mantissa = self.mantissa.clone();
        let mut exponent = self.exponent();
        // There are no more factors of ten than of two, so the bits of their count are found from the top.
        let Some(twos) = mantissa.trailing_zeros() else { return (mantissa, 0) };
        let mut places = twos.checked_ilog2().map_or(0, |bit| 1_u64 << bit);
        while places > 0 {
            let (quotient, remainder) = mantissa.div_rem(&pow10(places));
            if remainder.is_zero() {
                mantissa = quotient;
                exponent += places as i64;
            }
            places /= 2;
        }
        (mantissa, exponent)
    }

    /// The number as an integer, unless it has a fraction or more digits than are worth reading.
    pub(super) fn to_integer(&self) -> Result<BigInt, NotInteger> {
        let exponent = self.exponent();
        if exponent < 0 {
            let rounded = self.rounded_up(0);
            return if rounded.cmp(self) == Ordering::Equal {
                Ok(rounded.mantissa)
            } else {
                Err(NotInteger::Fraction)
            };
        }
        if self.digits_down_to(0) > DIGITS_MAX {
            return Err(NotInteger::TooLong);
        }
        Ok(self.mantissa_at(0))
    }

    /// The number in units of `10^-scale`, rounded away from zero, if it has no more digits than 128 bits hold.
    pub(super) fn integer_at(&self, scale: i64) -> Option<i128> {
        const DIGITS_IN_128_BITS: u64 = 39;
        let rounded = self.rounded_up(scale);
        if rounded.mantissa.is_zero() {
            return Some(0);
        }
        if rounded.zeros > DIGITS_IN_128_BITS {
            return None;
        }
        (rounded.mantissa * pow10(rounded.zeros)).to_i128()
    }

    fn exponent(&self) -> i64 {
        self.zeros as i64 - self.scale
    }

    fn at_finer_scale(&self, scale: i64) -> Self {
        let zeros = self.zeros + (scale - self.scale).unsigned_abs();
        Self { mantissa: self.mantissa.clone(), zeros, scale }
    }

    /// The integer that stands before `10^exponent`; the exponent is at most our own.
    fn mantissa_at(&self, exponent: i64) -> BigInt {
        &self.mantissa * pow10((self.exponent() - exponent).unsigned_abs())
    }

    fn digits_down_to(&self, exponent: i64) -> u64 {
        digits_at_most(&self.mantissa).saturating_add((self.exponent() - exponent).unsigned_abs())
    }

    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        let (low, high) = self.leading_place();
        let (other_low, other_high) = other.leading_place();
        if high < other_low {
            return Ordering::Less;
        }
        if low > other_high {
            return Ordering::Greater;
        }
        // The leading places are next to each other, so the exponents differ by no more than the digits do.
        let exponent = self.exponent().min(other.exponent());
        self.mantissa_at(exponent).magnitude().cmp(other.mantissa_at(exponent).magnitude())
    }

    /// Bounds of the power of ten of the leading digit. The mantissa is not zero.
    fn leading_place(&self) -> (i64, i64) {
        let bits = self.mantissa.bits() as i64;
        let (low, high) = ((bits - 1) * 30_102 / 100_000, bits * 30_103 / 100_000 + 1);
        (low + self.exponent(), high + self.exponent())
    }

    fn is_below_max_word(&self) -> bool {
        if !self.mantissa.is_positive() {
            return true;
        }
        // Twenty digits or more are beyond any word.
        self.zeros < 20 && &self.mantissa * pow10(self.zeros) < BigInt::from(i64::MAX)
    }

    fn low_word(&self) -> i64 {
        low_word_of(&self.mantissa, self.zeros)
    }
}

/// Why a wide number cannot be shown as an integer.
pub(super) enum NotInteger {
    Fraction,
    TooLong,
}

/// A power of ten as a float, by the two table steps that the reference takes, since one step rounds differently.
pub(super) fn pow10_f64(exponent: i64) -> f64 {
    const BY_32_UP: [f64; 10] = [1e0, 1e32, 1e64, 1e96, 1e128, 1e160, 1e192, 1e224, 1e256, 1e288];
    const BY_32_DOWN: [f64; 11] =
        [1e-0, 1e-32, 1e-64, 1e-96, 1e-128, 1e-160, 1e-192, 1e-224, 1e-256, 1e-288, 1e-320];
    const BY_1: [f64; 32] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31,
    ];
    let places = exponent.unsigned_abs() as usize;
    match exponent {
        0..=308 => BY_32_UP[places / 32] * BY_1[places % 32],
        -323..=-1 => BY_32_DOWN[places / 32] / BY_1[places % 32],
        _ if exponent > 0 => f64::INFINITY,
        _ => 0.0,
    }
}

/// The low 64 bits of `mantissa * 10^zeros`, with its sign.
fn low_word_of(mantissa: &BigInt, zeros: u64) -> i64 {
    // 10^64 has 64 factors of two, so nothing is left of it in 64 bits.
    let power = if zeros < 64 { 10_u64.wrapping_pow(zeros as u32) } else { 0 };
    let low = mantissa.magnitude().iter_u64_digits().next().unwrap_or(0).wrapping_mul(power) as i64;
    if mantissa.is_negative() { low.wrapping_neg() } else { low }
}

/// An upper bound of the number of decimal digits, at most one too high for any mantissa met here.
fn digits_at_most(mantissa: &BigInt) -> u64 {
    mantissa.bits() * 30_103 / 100_000 + 1
}

/// The caller has bounded the number of places.
fn pow10(places: u64) -> BigInt {
    if places == 0 {
        return BigInt::one();
    }
    BigInt::from(10).pow(u32::try_from(places).expect("a bounded number of places fits 32 bits"))
}
