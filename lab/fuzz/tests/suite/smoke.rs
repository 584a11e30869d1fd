//! Every target with a bounded number of random inputs.

use std::sync::atomic::{AtomicUsize, Ordering};

use fuzz::admission::{self, Verdict};
use fuzz::{decoding, quantity};
use gates::Gates;

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

#[test]
fn any_bytes_are_read_or_refused() {
    bolero::check!().with_iterations(5_000).with_max_len(256).for_each(|bytes: &[u8]| {
        decoding::check(bytes);
    });
}

#[test]
fn texts_made_of_json_and_yaml_are_read_or_refused() {
    bolero::check!().with_iterations(5_000).with_max_len(64).for_each(|bytes: &[u8]| {
        decoding::check(decoding::spell(bytes).as_bytes());
    });
}

#[test]
fn damaged_objects_are_read_or_refused() {
    let (seen, read) = (AtomicUsize::new(0), AtomicUsize::new(0));
    bolero::check!().with_iterations(5_000).with_max_len(1_024).for_each(|bytes: &[u8]| {
        let is_json = decoding::check(&decoding::damage(bytes));
        seen.fetch_add(1, Ordering::Relaxed);
        read.fetch_add(usize::from(is_json), Ordering::Relaxed);
    });
    let (seen, read) = (seen.into_inner(), read.into_inner());
    assert!(read * 10 > seen, "only {read} of {seen} objects could be read");
}

#[test]
fn every_specimen_is_accepted_as_it_is() {
    for (kind, object) in admission::specimens() {
        let refusal = admission::create(kind, object, Gates::all_on()).err();
        assert_eq!(refusal, None, "{} {}", kind.api_version, kind.kind);
    }
}

#[test]
fn random_objects_are_accepted_or_refused() {
    bolero::check!().with_iterations(5_000).with_max_len(2_048).for_each(|bytes: &[u8]| {
        admission::check_random(bytes);
    });
}

#[test]
fn changed_specimens_are_accepted_or_refused_and_stay_accepted() {
    let (seen, accepted) = (AtomicUsize::new(0), AtomicUsize::new(0));
    bolero::check!().with_iterations(5_000).with_max_len(96).for_each(|bytes: &[u8]| {
        let verdict = admission::check_mutated(bytes);
        seen.fetch_add(1, Ordering::Relaxed);
        accepted.fetch_add(usize::from(verdict == Verdict::Accepted), Ordering::Relaxed);
    });
    let (seen, accepted) = (seen.into_inner(), accepted.into_inner());
    assert!(accepted * 10 > seen, "only {accepted} of {seen} objects were accepted");
    assert!(accepted < seen, "nothing was refused");
}
