//! Every target with a bounded number of random inputs.

use std::sync::atomic::{AtomicUsize, Ordering};

use fuzz::quantity;

const ITERATIONS: usize = 20_000;

#[test]
fn any_bytes_are_a_quantity_or_are_refused() {
    bolero::check!().with_iterations(ITERATIONS).with_max_len(64).for_each(|bytes: &[u8]| {
        quantity::check(&String::from_utf8_lossy(bytes));
    });
}

#[test]
fn texts_spelt_like_quantities_keep_their_amount() {
    let (seen, accepted) = (AtomicUsize::new(0), AtomicUsize::new(0));
    bolero::check!().with_iterations(ITERATIONS).with_max_len(40).for_each(|bytes: &[u8]| {
        let is_quantity = quantity::check(&quantity::spell(bytes));
        seen.fetch_add(1, Ordering::Relaxed);
        accepted.fetch_add(usize::from(is_quantity), Ordering::Relaxed);
    });
    // A target that refuses nearly everything would pass and show nothing.
    let (seen, accepted) = (seen.into_inner(), accepted.into_inner());
    assert!(accepted * 10 > seen, "only {accepted} of {seen} texts were quantities");
}
