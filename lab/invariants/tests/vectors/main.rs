//! The checker accepts what the reference allocated, and trying everything finds a solution exactly where it did.

mod recorded;

use invariants::{Answer, check_allocations, search};
use recorded::{Case, peer, random};

/// What a case may cost; about one in twenty costs more.
const STEPS: u64 = 1000;

#[test]
fn every_recorded_allocation_is_valid() {
    let (accepted, rejected) = judge(&random());
    assert_eq!(rejected, Vec::<String>::new());
    assert_eq!(accepted, 1370);
}

fn judge(cases: &[Case]) -> (usize, Vec<String>) {
    let (mut accepted, mut rejected) = (0, Vec::new());
    for case in cases.iter().filter(|case| case.outcome == "allocated") {
        assert_eq!(case.results.len(), case.claims.len(), "{}", case.name);
        let violations = check_allocations(&case.evidence(), &case.node, &case.made());
        if violations.is_empty() {
            accepted += 1;
        } else {
            let said: Vec<_> = violations.iter().map(ToString::to_string).collect();
            rejected.push(format!("{}: {}", case.name, said.join("; ")));
        }
    }
    (accepted, rejected)
}

#[test]
fn trying_everything_agrees_with_the_recorded_outcomes() {
    let tally = try_everything(&random());
    assert_eq!(tally.wrong, Vec::<String>::new());
    assert_eq!((tally.possible, tally.impossible, tally.unfinished), (1364, 1351, 53));
}

/// Cases of the reference's own tests that were not recorded as they are asked there: a quantity of 10^21 came out as
/// 1, the features that a node declares were lost, and two alternatives have one name, which the API does not let in.
const MISRECORDED: [&str; 3] = [
    "consumable-capacity-multi-allocatable-device-with-subrequest",
    "consumable-capacity-requests-are-not-modified",
    "optional-node-operations",
];

#[test]
fn the_own_cases_of_the_reference_are_judged_alike() {
    let Some(mut cases) = peer() else { return };
    cases.retain(|case| !MISRECORDED.contains(&case.name.as_str()));
    let (accepted, rejected) = judge(&cases);
    assert_eq!(rejected, Vec::<String>::new());
    assert_eq!(accepted, 159);
    let tally = try_everything(&cases);
    assert_eq!(tally.wrong, Vec::<String>::new());
    assert_eq!((tally.possible, tally.impossible, tally.unfinished), (158, 74, 1));
}

#[derive(Debug, Default)]
struct Tally {
    possible: usize,
    impossible: usize,
    unfinished: usize,
    wrong: Vec<String>,
}

fn try_everything(cases: &[Case]) -> Tally {
    let mut tally = Tally::default();
    for case in cases.iter().filter(|case| case.outcome == "allocated" || case.outcome == "none") {
        let claims: Vec<_> = case.claims.iter().collect();
        match (search(&case.evidence(), &case.node, &claims, STEPS), case.outcome.as_str()) {
            (Answer::Possible(_), "allocated") => tally.possible += 1,
            (Answer::Impossible, "none") => tally.impossible += 1,
            (Answer::Unfinished, _) => tally.unfinished += 1,
            (answer, outcome) => tally.wrong.push(format!("{}: {outcome}, but {answer:?}", case.name)),
        }
    }
    tally
}
