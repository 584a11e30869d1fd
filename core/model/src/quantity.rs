//! Amounts such as `2Gi`, `250m` or `1e3`, with the arithmetic and the text of Kubernetes' quantities.
//!
//! Invariant: a quantity is exact. It is a machine word with a power of ten as long as Kubernetes keeps it so,
//! and a wide number otherwise. Which of the two it is can be seen from outside (`as_i64`, overflow in `value`),
//! so every operation leaves the word at the same moment as Kubernetes does, and never comes back.

mod parse;
mod text;
mod wide;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

pub use parse::{ParseQuantityError, TEXT_BYTES_MAX};
use wide::Wide;

/// The power of ten of a thousandth.
pub const MILLI: i32 = -3;
/// The power of ten of a billionth, the finest step a parsed quantity has.
pub const NANO: i32 = -9;

/// The most billionths that are counted, 10^22 whole units. Sums of ten million such amounts still fit into 128 bits.
pub const NANOS_MAX: i128 = 10_i128.pow(31);

/// An exact amount together with the family of suffixes it is written in.
///
/// Equality, order and hash go by the amount alone: `1Ki` equals `1024`, whatever the text. Compare the texts
/// where the spelling matters.
#[derive(Clone, Debug, Default)]
pub struct Quantity {
    amount: Amount,
    format: Format,
    /// The text as it was given, only where it is to be repeated and differs from the canonical text.
    given: Option<Box<str>>,
}

/// The family of suffixes in which a quantity is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// `m`, `k`, `M` and so on, powers of 1000.
    #[default]
    DecimalSi,
    /// `Ki`, `Mi` and so on, powers of 1024.
    BinarySi,
    /// `e3`, `e-6` and so on.
    DecimalExponent,
}

#[derive(Clone, Debug)]
enum Amount {
    /// `value * 10^scale`.
    Word {
        value: i64,
        scale: i32,
    },
    Wide(Box<Wide>),
}

impl Quantity {
    /// A whole number, written in the given format.
    pub fn new(value: i64, format: Format) -> Self {
        Self::word(value, 0, format)
    }

    /// A number of thousandths, written in the given format.
    pub fn from_milli(value: i64, format: Format) -> Self {
        Self::word(value, MILLI, format)
    }

    /// The amount `value * 10^scale`, written with decimal suffixes.
    pub fn from_scaled(value: i64, scale: i32) -> Self {
        Self::word(value, scale, Format::DecimalSi)
    }

    /// The family of suffixes in which this quantity is written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether the amount is zero.
    pub fn is_zero(&self) -> bool {
        self.signum() == 0
    }

    /// The sign of the amount: -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        match &self.amount {
            Amount::Word { value, .. } => value.signum() as i32,
            Amount::Wide(wide) => wide.signum(),
        }
    }

    /// The amount as a whole number, rounded away from zero.
    ///
    /// Out of range it is what Kubernetes gives, mostly the low 64 bits and sometimes zero. A wide negative
    /// fraction is rounded up.
    pub fn value(&self) -> i64 {
        self.scaled_value(0)
    }

    /// The amount in thousandths, rounded and out of range as `value` is.
    pub fn milli_value(&self) -> i64 {
        self.scaled_value(MILLI)
    }

    /// The amount in units of `10^scale`, rounded and out of range as `value` is.
    pub fn scaled_value(&self, scale: i32) -> i64 {
        match &self.amount {
            Amount::Word { value, scale: own } if *own < scale => {
                shrink(*value, i64::from(scale) - i64::from(*own)).0
            }
            Amount::Word { value, scale: own } => grow_or_wrap(*value, i64::from(*own) - i64::from(scale)),
            Amount::Wide(wide) => wide.scaled_value(-i64::from(scale)),
        }
    }

    /// The amount as a whole number, if it is held as one.
    ///
    /// This asks about the representation, as the selectors' `isInteger` does: `1.0` and `1000m` are held in
    /// fractions and `1Ei` is held wide, so none of them counts, although `1E` and `0.5k` do.
    pub fn as_i64(&self) -> Option<i64> {
        match self.amount {
            Amount::Word { value, scale } if scale >= 0 => grow(value, i64::from(scale)),
            Amount::Word { .. } | Amount::Wide(_) => None,
        }
    }

    /// The amount as a floating-point number, possibly off in the last digits, infinite if out of range.
    pub fn approximate_f64(&self) -> f64 {
        match &self.amount {
            Amount::Word { value, scale: 0 } => *value as f64,
            Amount::Word { value, scale } => *value as f64 * wide::pow10_f64(i64::from(*scale)),
            Amount::Wide(wide) => wide.approximate_f64(),
        }
    }

    /// Rounds away from zero to a multiple of `10^scale`, and says whether nothing was lost.
    pub fn round_up(&mut self, scale: i32) -> bool {
        match &mut self.amount {
            Amount::Word { scale: own, .. } if *own >= scale => true,
            Amount::Word { value, scale: own } => {
                self.given = None;
                let (rounded, exact) = shrink(*value, i64::from(scale) - i64::from(*own));
                (*value, *own) = (rounded, scale);
                exact
            }
            Amount::Wide(wide) => {
                self.given = None;
                let rounded = wide.rounded_up(-i64::from(scale));
                let exact = rounded.cmp(wide) == Ordering::Equal;
                **wide = rounded;
                exact
            }
        }
    }

    /// The amount has no fraction.
    pub fn is_whole(&self) -> bool {
        self.clone().round_up(0)
    }

    /// How many decimals the amount is held with: `1` has none and `1000m` three, although they are equal.
    pub fn decimals(&self) -> i64 {
        match &self.amount {
            Amount::Word { scale, .. } => (-i64::from(*scale)).max(0),
            Amount::Wide(wide) => wide.decimals(),
        }
    }

    /// The amount in billionths, rounded away from zero; `None` above [`NANOS_MAX`] of them.
    pub fn nanos(&self) -> Option<i128> {
        let nanos = match &self.amount {
            Amount::Word { value, scale } if *scale < NANO => {
                i128::from(shrink(*value, i64::from(NANO) - i64::from(*scale)).0)
            }
            Amount::Word { value: 0, .. } => 0,
            Amount::Word { value, scale } => {
                let power = 10_i128.checked_pow(scale.checked_sub(NANO)?.unsigned_abs())?;
                i128::from(*value).checked_mul(power)?
            }
            Amount::Wide(wide) => wide.integer_at(-i64::from(NANO))?,
        };
        (-NANOS_MAX..=NANOS_MAX).contains(&nanos).then_some(nanos)
    }

    /// The product of two quantities, wide, in the format of the first.
    #[must_use]
    pub fn times(&self, factor: &Self) -> Self {
        let product = self.to_wide().times(&factor.to_wide());
        Self { amount: Amount::Wide(Box::new(product)), format: self.format, given: None }
    }

    /// Moves the amount to the wide representation, after which `as_i64` is always `None`.
    ///
    /// Kubernetes does this to the left side when it compares a word with a wide number, which later calls can
    /// see; comparing here never changes an operand, so code that must show the effect asks for it.
    pub fn widen(&mut self) {
        if let Amount::Word { .. } = self.amount {
            self.amount = Amount::Wide(Box::new(self.to_wide()));
        }
    }

    /// Whether the amount is held wide.
    pub fn is_wide(&self) -> bool {
        matches!(self.amount, Amount::Wide(_))
    }

    fn word(value: i64, scale: i32, format: Format) -> Self {
        Self { amount: Amount::Word { value, scale }, format, given: None }
    }

    fn to_wide(&self) -> Wide {
        match &self.amount {
            Amount::Word { value, scale } => Wide::from_word(*value, *scale),
            Amount::Wide(wide) => wide.as_ref().clone(),
        }
    }

    /// Adds the amount of `other`, or takes it away if `negate` is set.
    fn accumulate(&mut self, other: &Self, negate: bool) {
        self.given = None;
        if self.is_zero() {
            self.format = other.format;
        }
        if let (Amount::Word { value, scale }, Amount::Word { value: other, scale: other_scale }) =
            (&mut self.amount, &other.amount)
        {
            // Kubernetes negates without looking for overflow: taking away the least word adds it instead.
            let other = if negate { other.wrapping_neg() } else { *other };
            if let Some(sum) = add_words((*value, *scale), (other, *other_scale)) {
                (*value, *scale) = sum;
                return;
            }
        }
        let other = other.to_wide();
        let other = if negate { other.negated() } else { other };
        self.amount = Amount::Wide(Box::new(self.to_wide().plus(&other)));
    }
}

impl Default for Amount {
    fn default() -> Self {
        Self::Word { value: 0, scale: 0 }
    }
}

impl AddAssign<&Quantity> for Quantity {
    /// Adds exactly. A zero takes the format of what is added; anything else keeps its own.
    fn add_assign(&mut self, other: &Quantity) {
        self.accumulate(other, false);
    }
}

impl SubAssign<&Quantity> for Quantity {
    /// Subtracts exactly. A zero takes the format of what is subtracted; anything else keeps its own.
    fn sub_assign(&mut self, other: &Quantity) {
        self.accumulate(other, true);
    }
}

impl Add for &Quantity {
    type Output = Quantity;

    fn add(self, other: &Quantity) -> Quantity {
        let mut sum = self.clone();
        sum += other;
        sum
    }
}

impl Sub for &Quantity {
    type Output = Quantity;

    fn sub(self, other: &Quantity) -> Quantity {
        let mut difference = self.clone();
        difference -= other;
        difference
    }
}

impl Neg for Quantity {
    type Output = Quantity;

    fn neg(mut self) -> Quantity {
        self.given = None;
        match &mut self.amount {
            Amount::Word { value, .. } => *value = value.wrapping_neg(),
            Amount::Wide(wide) => **wide = wide.negated(),
        }
        self
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.amount, &other.amount) {
            (Amount::Word { value: a, scale: s }, Amount::Word { value: b, scale: t }) => {
                compare_words((*a, *s), (*b, *t))
            }
            (Amount::Wide(a), Amount::Wide(b)) => a.cmp(b),
            (Amount::Wide(a), Amount::Word { .. }) => a.as_ref().cmp(&other.to_wide()),
            (Amount::Word { .. }, Amount::Wide(b)) => self.to_wide().cmp(b),
        }
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    /// Hashes the amount without its trailing zeros, so that equal amounts hash alike in both representations.
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.amount {
            Amount::Word { value, scale } => hash_word(*value, i64::from(*scale), state),
            Amount::Wide(wide) => {
                let (mantissa, exponent) = wide.without_trailing_zeros();
                match i64::try_from(&mantissa) {
                    Ok(value) => hash_word(value, exponent, state),
                    Err(_) => (mantissa, exponent).hash(state),
                }
            }
        }
    }
}

fn hash_word<H: Hasher>(mut value: i64, mut scale: i64, state: &mut H) {
    if value == 0 {
        scale = 0;
    }
    while value != 0 && value % 10 == 0 {
        value /= 10;
        scale += 1;
    }
    (value, scale).hash(state);
}

/// The sum of two words at the finer of their scales, if a word can hold it.
fn add_words(a: (i64, i32), b: (i64, i32)) -> Option<(i64, i32)> {
    // A zero has no scale to contribute: the other side stays as it is.
    if b.0 == 0 {
        return Some(a);
    }
    if a.0 == 0 {
        return Some(b);
    }
    let (fine, coarse) = if a.1 <= b.1 { (a, b) } else { (b, a) };
    let coarse_value = grow(coarse.0, i64::from(coarse.1) - i64::from(fine.1))?;
    Some((fine.0.checked_add(coarse_value)?, fine.1))
}

fn compare_words(a: (i64, i32), b: (i64, i32)) -> Ordering {
    let apart = i64::from(a.1) - i64::from(b.1);
    // Any word times 10^18 fits into 128 bits.
    match apart {
        0 => a.0.cmp(&b.0),
        1..=18 => (i128::from(a.0) * 10_i128.pow(apart as u32)).cmp(&i128::from(b.0)),
        -18..=-1 => i128::from(a.0).cmp(&(i128::from(b.0) * 10_i128.pow(apart.unsigned_abs() as u32))),
        _ => Wide::from_word(a.0, a.1).cmp(&Wide::from_word(b.0, b.1)),
    }
}

/// `value * 10^places`, if a word can hold it.
fn grow(value: i64, places: i64) -> Option<i64> {
    if value == 0 {
        return Some(0);
    }
    value.checked_mul(10_i64.checked_pow(u32::try_from(places).ok()?)?)
}

/// `value * 10^places`, with Kubernetes' leftovers where a word cannot hold it.
fn grow_or_wrap(value: i64, places: i64) -> i64 {
    grow(value, places).unwrap_or(match places {
        // These powers are multiplied in one step there, whose overflow shows; the others step by step from ten,
        // and give up.
        1 | 2 | 3 | 6 | 9 if value != i64::MIN => value.wrapping_mul(10_i64.pow(places as u32)),
        _ => 0,
    })
}

/// `value / 10^places` rounded away from zero, and whether that was exact.
fn shrink(value: i64, places: i64) -> (i64, bool) {
    match u32::try_from(places).ok().and_then(|places| 10_i64.checked_pow(places)) {
        Some(power) if value % power == 0 => (value / power, true),
        Some(power) => (value / power + value.signum(), false),
        // Every digit is cut off.
        None => (value.signum(), value == 0),
    }
}

#[cfg(test)]
mod tests;
