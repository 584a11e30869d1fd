//! What quantities promise: tables of texts, and properties over random ones.

use std::hash::DefaultHasher;

use super::*;

fn quantity(text: &str) -> Quantity {
    text.parse().expect("the text should be a quantity")
}

fn class(text: &str) -> &'static str {
    text.parse::<Quantity>().expect_err("the text should be refused").class()
}

fn hash(quantity: &Quantity) -> u64 {
    let mut hasher = DefaultHasher::new();
    quantity.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn a_text_prints_in_its_canonical_form() {
    let table = [
        ("0", "0"),
        ("-0", "0"),
        (".", "0"),
        ("e3", "0"),
        ("1024Mi", "1Gi"),
        ("1000M", "1G"),
        ("100000", "100k"),
        ("1500", "1500"),
        ("1.5", "1500m"),
        ("1.5Gi", "1536Mi"),
        ("62.5Ki", "64000"),
        (".001Ki", "1024m"),
        (".000000000001Ki", "2n"),
        ("1.1E-9", "2e-9"),
        ("3.001n", "4n"),
        ("9Ei", "9223372036854775807"),
        ("-9Ei", "-9223372036854775807"),
        ("1000000000000000000", "1E"),
        ("999999999999999999.1", "999999999999999999100m"),
        ("12e4", "120e3"),
        ("5e0", "5e0"),
    ];
    for (text, canonical) in table {
        assert_eq!(quantity(text).to_string(), canonical, "{text}");
    }
}

#[test]
fn a_text_that_looks_canonical_is_repeated_until_it_is_computed_with() {
    for text in ["+1", "007", "1.", "1.500", "005Gi", "1E3", "+1.Ki"] {
        assert_eq!(quantity(text).to_string(), text);
    }
    assert_eq!((&quantity("+1") + &quantity("0")).to_string(), "1");
    assert_eq!((-quantity("007")).to_string(), "-7");
}

#[test]
fn a_plain_decimal_beyond_exa_loses_its_power_of_ten_in_print() {
    let sum = &quantity("999999999999999999999") + &quantity("1");
    assert_eq!(sum.to_string(), "1");
    assert_eq!(sum, quantity("1e21"));
}

#[test]
fn what_is_not_a_quantity_is_refused_by_class() {
    let table = [
        ("", "format"),
        (" 1", "format"),
        ("1 Gi", "format"),
        ("--1", "suffix"),
        ("1GiB", "format"),
        ("1K", "suffix"),
        ("1mi", "suffix"),
        ("1i", "suffix"),
        ("1e-", "suffix"),
        ("1e", "suffix"),
        ("1e99999999999999999999", "suffix"),
        (".Ei", "number"),
        ("-.e-10", "number"),
    ];
    for (text, expected) in table {
        assert_eq!(class(text), expected, "{text:?}");
    }
    assert_eq!(class(&"1".repeat(TEXT_BYTES_MAX + 1)), "number");
}

#[test]
fn a_whole_number_is_an_integer_only_if_it_is_held_as_one() {
    for (text, value) in [("0.5k", 500), ("1E", 10_i64.pow(18)), ("1Ki", 1024), ("0", 0), ("-3e2", -300)] {
        assert_eq!(quantity(text).as_i64(), Some(value), "{text}");
    }
    for text in ["1.0", "1000m", "0.5Gi", "1Ei", "1000000000000000000", "10E"] {
        assert_eq!(quantity(text).as_i64(), None, "{text}");
    }
}

#[test]
fn values_round_and_overflow_as_in_kubernetes() {
    let table = [
        ("1.1", 2, 1100),
        ("-1.1", -2, -1100),
        ("-0.1n", 1, 1),
        ("10E", 0, 0),
        ("10000000000G", 0x8ac7_2304_89e8_0000_u64 as i64, 0),
        ("9Ei", i64::MAX, -1000),
        ("1000000000000000000000000000k", 5_076_944_270_305_263_616, 4_089_650_035_136_921_600),
    ];
    for (text, value, milli) in table {
        assert_eq!((quantity(text).value(), quantity(text).milli_value()), (value, milli), "{text}");
    }
}

#[test]
fn a_zero_takes_the_format_of_what_is_added() {
    assert_eq!((&Quantity::default() + &quantity("2Gi")).to_string(), "2Gi");
    assert_eq!((&quantity("0Ki") - &quantity("2k")).to_string(), "-2k");
    assert_eq!((&quantity("1k") + &quantity("24")).to_string(), "1024");
    assert_eq!((&quantity("1Ki") + &quantity("1Ki")).to_string(), "2Ki");
}

#[test]
fn rounding_up_goes_away_from_zero() {
    for (text, scale, exact, rounded) in [
        ("1.5", 0, false, "2"),
        ("-1.5", 0, false, "-2"),
        ("1.5", -1, true, "1500m"),
        ("1234567890123456789.5", 0, false, "1234567890123456790"),
        ("1n", 3, false, "1k"),
    ] {
        let mut quantity = quantity(text);
        assert_eq!(quantity.round_up(scale), exact, "{text}");
        assert_eq!(quantity.to_string(), rounded, "{text}");
    }
}

#[test]
fn a_product_is_exact() {
    assert_eq!(quantity("1.5Gi").times(&quantity("2")), quantity("3Gi"));
    assert_eq!(quantity("100m").times(&quantity("100m")).to_string(), "10m");
}

#[test]
fn an_enormous_exponent_costs_no_more_than_its_text() {
    let huge = quantity("1e9999999");
    assert!(huge > quantity("1E") && -huge.clone() < quantity("-1E"));
    assert_eq!(huge.cmp(&quantity("10e9999998")), Ordering::Equal);
    assert_eq!(hash(&huge), hash(&quantity("10e9999998")));
    assert!((&huge - &huge).is_zero());
    // The small side is less than one part in 10^40000, and is dropped.
    assert_eq!(&huge + &quantity("1"), huge);
    assert_eq!((&quantity("1Ki") + &huge).to_string(), "1e9999999");
    assert_eq!((huge.value(), huge.as_i64()), (0, None));
    assert_eq!(huge.approximate_f64(), f64::INFINITY);
    assert_eq!(quantity("1e-9999999").to_string(), "1e-9");
    assert_eq!(quantity("-1e-9999999"), quantity("-1n"));
    assert_eq!((&quantity("0e-2000000000") + &quantity("5")).value(), 5);
    assert!(quantity(&"9".repeat(TEXT_BYTES_MAX)) < huge);
}

#[test]
fn floats_are_close_and_never_trap() {
    assert_eq!(quantity("1.5").approximate_f64(), 1.5);
    assert_eq!(quantity("1Ei").approximate_f64(), 2_f64.powi(60));
    assert_eq!(quantity("-1e400").approximate_f64(), f64::NEG_INFINITY);
    assert_eq!(quantity("12345678901234567890e300").approximate_f64(), f64::INFINITY);
}

#[test]
fn a_comparison_never_changes_its_operands() {
    let word = quantity("5");
    assert!(word < quantity("1Ei"));
    assert_eq!(word.as_i64(), Some(5));
    let mut widened = word;
    widened.widen();
    assert_eq!((widened.as_i64(), widened.is_wide()), (None, true));
    assert_eq!(widened, quantity("5"));
}

#[test]
fn trailing_zeros_are_all_stripped_whatever_their_number() {
    for zeros in [0, 1, 2, 3, 7, 8, 19, 63, 64, 100, 1023, 16_000] {
        let text = format!("8{}e0", "0".repeat(zeros));
        let expected = match zeros % 3 {
            0 => format!("8e{zeros}"),
            1 => format!("80e{}", zeros - 1),
            _ => format!("800e{}", zeros - 2),
        };
        assert_eq!(quantity(&text).to_string().trim_end_matches("e0"), expected.trim_end_matches("e0"));
    }
}

#[test]
fn billionths_are_exact_or_not_given() {
    let nanos = |text: &str| text.parse::<Quantity>().expect("a quantity").nanos();
    assert_eq!(nanos("0"), Some(0));
    assert_eq!(nanos("1n"), Some(1));
    assert_eq!(nanos("-250m"), Some(-250_000_000));
    assert_eq!(nanos("40Gi"), Some(42_949_672_960_000_000_000));
    assert_eq!(nanos("1.1Ki"), Some(1_126_400_000_000));
    assert_eq!(nanos("9Ei"), Some(9_223_372_036_854_775_807_000_000_000));
    assert_eq!(nanos("1e22"), Some(NANOS_MAX));
    assert_eq!(nanos("-1e22"), Some(-NANOS_MAX));
    assert_eq!(nanos("1e23"), None);
    assert_eq!(nanos("1e9999999"), None);
    assert_eq!(nanos("0e9999999"), Some(0));
}
