//! What must hold for every quantity, whatever the text it came from.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use model::quantity::{Format, Quantity};
use proptest::prelude::*;

const SUFFIXES: [&str; 16] =
    ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

fn suffix() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(&SUFFIXES[..]).prop_map(str::to_owned),
        1 => (-30..30_i32).prop_map(|exponent| format!("e{exponent}")),
        1 => any::<i32>().prop_map(|exponent| format!("E{exponent}")),
    ]
}

fn quantity() -> impl Strategy<Value = Quantity> {
    ("[+-]?[0-9]{1,22}(\\.[0-9]{0,12})?", suffix())
        .prop_map(|(number, suffix)| (number + &suffix).parse().expect("the strategy writes quantities"))
}

/// Whole nanos below 10^27, which the wide representation must hold exactly and 128 bits can check.
fn nanos() -> impl Strategy<Value = i128> {
    let (wide, narrow) = (10_i128.pow(27), 10_i128.pow(12));
    prop_oneof![-wide..wide, -narrow..narrow]
}

fn from_nanos(nanos: i128) -> Quantity {
    format!("{nanos}n").parse().expect("a whole number of nanos is a quantity")
}

fn hash(quantity: &Quantity) -> u64 {
    let mut hasher = DefaultHasher::new();
    quantity.hash(&mut hasher);
    hasher.finish()
}

proptest! {
    #[test]
    fn parsing_never_panics(text in "\\PC{0,40}") {
        let _ = text.parse::<Quantity>();
    }

    #[test]
    fn what_was_printed_prints_the_same_in_the_same_format(quantity in quantity()) {
        let printed = quantity.to_string();
        let again: Quantity = printed.parse().expect("a printed quantity is a quantity");
        // 62.5Ki prints as 64000, which has no suffix to say that it was binary, and from then on is 64k.
        if again.format() == quantity.format() {
            prop_assert_eq!(again.to_string(), printed);
        }
    }

    #[test]
    fn what_is_printed_with_a_known_suffix_keeps_its_amount(value in any::<i64>(), scale in -9..=0_i32) {
        for quantity in [Quantity::from_scaled(value, scale), Quantity::new(value, Format::BinarySi)] {
            let again: Quantity = quantity.to_string().parse().expect("a printed quantity is a quantity");
            prop_assert_eq!(again, quantity);
        }
    }

    #[test]
    fn order_agrees_with_the_difference_and_with_itself(a in quantity(), b in quantity()) {
        let order = a.cmp(&b);
        prop_assert_eq!(b.cmp(&a), order.reverse());
        prop_assert_eq!((&a - &b).signum().cmp(&0), order);
        prop_assert_eq!(a == b, order == Ordering::Equal);
    }

    #[test]
    fn equal_amounts_hash_alike_in_both_representations(a in quantity(), b in quantity()) {
        let mut widened = a.clone();
        widened.widen();
        prop_assert_eq!(&widened, &a);
        prop_assert_eq!(hash(&widened), hash(&a));
        let there_and_back = &(&a + &b) - &b;
        if there_and_back == a {
            prop_assert_eq!(hash(&there_and_back), hash(&a));
        }
    }

    #[test]
    fn sums_and_order_are_exact(a in nanos(), b in nanos()) {
        let (x, y) = (from_nanos(a), from_nanos(b));
        prop_assert_eq!(&x + &y, from_nanos(a + b));
        prop_assert_eq!(&x - &y, from_nanos(a - b));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        prop_assert_eq!(-x, from_nanos(-a));
    }

    #[test]
    fn whole_values_round_away_from_zero(nanos in -10_i64.pow(17)..10_i64.pow(17)) {
        let quantity = Quantity::from_scaled(nanos, -9);
        let up = |unit: i64| nanos / unit + (nanos % unit).signum();
        prop_assert_eq!(quantity.value(), up(1_000_000_000));
        prop_assert_eq!(quantity.milli_value(), up(1_000_000));
        let mut rounded = quantity.clone();
        prop_assert_eq!(rounded.round_up(-3), nanos % 1_000_000 == 0);
        prop_assert_eq!(rounded, Quantity::from_milli(up(1_000_000), Format::DecimalSi));
    }

    #[test]
    fn a_wide_number_rounds_like_a_word(nanos in any::<i64>(), scale in -12..3_i32) {
        let mut word = Quantity::from_scaled(nanos, -9);
        let mut wide = word.clone();
        wide.widen();
        prop_assert_eq!(word.round_up(scale), wide.round_up(scale));
        prop_assert_eq!(word, wide);
    }

    #[test]
    fn every_operation_on_every_pair_is_bounded(a in quantity(), b in quantity()) {
        for result in [&a + &b, &a - &b, a.times(&b)] {
            let _ = (result.value(), result.milli_value(), result.approximate_f64());
            prop_assert!(result.to_string().len() < 50_000);
        }
    }
}
