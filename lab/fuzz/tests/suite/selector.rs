//! Selectors with a bounded number of random inputs.

use std::sync::atomic::{AtomicUsize, Ordering};

use fuzz::selector;

const ITERATIONS: usize = 10_000;

#[test]
fn any_bytes_are_a_selector_or_are_refused() {
    bolero::check!().with_iterations(ITERATIONS).with_max_len(64).for_each(|bytes: &[u8]| {
        selector::check(&String::from_utf8_lossy(bytes));
    });
}

#[test]
fn pieces_of_selectors_put_together_at_random_are_answered_alike_each_way() {
    let accepted = AtomicUsize::new(0);
    bolero::check!().with_iterations(10 * ITERATIONS).with_max_len(9).for_each(|bytes: &[u8]| {
        accepted.fetch_add(usize::from(selector::check(&selector::spell(bytes))), Ordering::Relaxed);
    });
    // A target that refuses everything would pass and show nothing.
    assert!(accepted.into_inner() > 20, "hardly any text was a selector");
}
