//! Any text is a quantity or is refused, and what is printed means what was read.

use model::quantity::{Format, Quantity};

/// Mostly digits, so that random bytes have a chance to be a number.
const NUMBER: &[u8; 32] = b"0000000112233445566778899959.-+e";

const SUFFIXES: [&str; 21] = [
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e", "E", "e-",
    "e+", "K",
];

/// Turns any bytes into a text that is likely to be a quantity: the first picks the suffix, and up to nine more its
/// exponent; the rest is the number.
pub fn spell(bytes: &[u8]) -> String {
    let [first, rest @ ..] = bytes else { return String::new() };
    let suffix = SUFFIXES[usize::from(*first) % SUFFIXES.len()];
    let exponent =
        if suffix.to_ascii_lowercase().starts_with('e') { usize::from(*first) / SUFFIXES.len() } else { 0 };
    let (exponent, number) = rest.split_at(exponent.min(9).min(rest.len()));
    let number = number.iter().map(|byte| char::from(NUMBER[usize::from(*byte) % NUMBER.len()]));
    let exponent = exponent.iter().map(|byte| char::from(b'0' + byte % 10));
    number.chain(suffix.chars()).chain(exponent).collect()
}

/// Reads, prints and reads again; computes with what was read. Says whether the text was a quantity.
pub fn check(text: &str) -> bool {
    let Ok(quantity) = text.parse::<Quantity>() else { return false };
    let printed = quantity.to_string();
    let again: Quantity = printed.parse().expect("what was printed is a quantity");
    // 62.5Ki prints as 64000, which has no suffix to say that it was binary, and from then on is 64k.
    if again.format() == quantity.format() {
        assert_eq!(again.to_string(), printed, "{text:?} prints differently the second time");
    }
    if keeps_amount(&quantity) {
        assert_eq!(again, quantity, "{text:?} prints as {printed}, which is another amount");
    }
    assert_eq!(
        quantity.as_i64().is_some(),
        quantity.as_i64() == Some(quantity.value()) && !quantity.is_wide()
    );
    assert!((&quantity - &quantity.clone()).is_zero(), "{text:?} differs from itself");
    assert_eq!(-(-quantity.clone()), quantity, "{text:?} negated twice is another amount");
    let _ = (quantity.milli_value(), quantity.approximate_f64(), &quantity + &again, quantity.times(&again));
    true
}

/// Beyond exa the suffixes end, and beyond 32 bits the exponents do: such amounts are lost in print, as they are in
/// Kubernetes.
pub(crate) fn keeps_amount(quantity: &Quantity) -> bool {
    let bound = match quantity.format() {
        Format::DecimalExponent => Quantity::from_scaled(1, 2_000_000_000),
        Format::DecimalSi | Format::BinarySi => Quantity::from_scaled(1, 21),
    };
    -bound.clone() < *quantity && *quantity < bound
}
