//! The checker accepts what the reference allocated, and trying everything finds a solution exactly where it did.

mod recorded;

use invariants::{Possibility, check_allocations, search};
use objects::core::affinity::NodeSelector;
use objects::resource::allocation::{DeviceAllocationConfiguration, DeviceRequestAllocationResult};
use recorded::{Case, peer, random};

/// What a case may cost; about one in twenty costs more.
const STEPS: u64 = 1000;

/// Cases with a counter set whose holders contradict each other: the reference goes by the first of them, and may let another join.
const CONTRADICTING: [&str; 1] = ["gateoff-02531"];

/// All recorded cases but these.
fn undisputed() -> Vec<Case> {
    random().into_iter().filter(|case| !CONTRADICTING.contains(&case.name.as_str())).collect()
}

#[test]
fn every_recorded_allocation_is_valid() {
    let (accepted, rejected) = judge(&undisputed());
    assert_eq!(rejected, Vec::<String>::new());
    assert_eq!(accepted, 1369);
}

#[test]
fn nothing_may_join_holders_that_contradict_each_other() {
    let disputed: Vec<Case> =
        random().into_iter().filter(|case| CONTRADICTING.contains(&case.name.as_str())).collect();
    let (accepted, rejected) = judge(&disputed);
    assert_eq!((accepted, rejected.len()), (0, CONTRADICTING.len()));
    assert!(rejected.iter().all(|why| why.contains("have no compatibility group in common")), "{rejected:?}");
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

/// What can be done to any answer so that it is wrong; false if this one has nothing to do it to.
type Damage = fn(&mut Case) -> bool;

const DAMAGES: [(&str, Damage); 8] = [
    ("a result is missing", |case| first(case).is_some_and(|all| all.pop().is_some())),
    ("a result is there twice", |case| {
        first(case).is_some_and(|all| {
            all.push(all[0].clone());
            true
        })
    }),
    ("a result is for another request", |case| {
        first(case).is_some_and(|all| {
            all[0].request.push('x');
            true
        })
    }),
    ("admin access is the other way round", |case| {
        first(case).is_some_and(|all| {
            all[0].admin_access = if all[0].admin_access.is_some() { None } else { Some(true) };
            true
        })
    }),
    ("a share is a whole device, or the other way round", |case| {
        first(case).is_some_and(|all| {
            all[0].share_id = if all[0].share_id.is_some() { None } else { Some("new".to_owned()) };
            true
        })
    }),
    ("a device belongs to somebody", |case| {
        let holders = case.holders.iter().filter_map(|holder| holder.status.allocation.as_ref());
        let mut held = holders.flat_map(|allocation| &allocation.devices.results);
        let Some(held) = held.find(|held| held.share_id.is_none()).cloned() else { return false };
        first(case).filter(|all| all[0].admin_access.is_none()).is_some_and(|all| {
            (all[0].driver, all[0].pool, all[0].device) = (held.driver, held.pool, held.device);
            true
        })
    }),
    ("configuration that nobody asked for", |case| {
        let config = &mut case.results[0].devices.config;
        config.push(DeviceAllocationConfiguration { source: "FromClaim".to_owned(), ..Default::default() });
        true
    }),
    ("other nodes", |case| {
        let selector = &mut case.results[0].node_selector;
        *selector = if selector.is_some() { None } else { Some(NodeSelector::default()) };
        true
    }),
];

/// The results of the first claim that has any.
fn first(case: &mut Case) -> Option<&mut Vec<DeviceRequestAllocationResult>> {
    case.results.iter_mut().map(|one| &mut one.devices.results).find(|results| !results.is_empty())
}

#[test]
fn no_recorded_allocation_is_valid_any_more_when_it_is_damaged() {
    let mut damaged = 0;
    // Each case gets two of the damages, so that every damage is done to hundreds of cases.
    for (at, case) in random().iter().filter(|case| case.outcome == "allocated").enumerate() {
        for (what, damage) in [DAMAGES[at % 8], DAMAGES[(at + at / 8) % 8]] {
            let mut case = case.clone();
            if damage(&mut case) {
                damaged += 1;
                let violations = check_allocations(&case.evidence(), &case.node, &case.made());
                assert!(!violations.is_empty(), "{}: {what}", case.name);
            }
        }
    }
    assert_eq!(damaged, 2641);
}

#[test]
fn trying_everything_agrees_with_the_recorded_outcomes() {
    let tally = try_everything(&undisputed());
    assert_eq!(tally.wrong, Vec::<String>::new());
    assert_eq!((tally.possible, tally.impossible, tally.unfinished), (1363, 1351, 53));
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
            (Possibility::Possible(found), "allocated") => {
                tally.possible += 1;
                let mut answered = case.clone();
                answered.results = found;
                let violations = check_allocations(&case.evidence(), &case.node, &answered.made());
                tally.wrong.extend(violations.iter().map(|said| format!("{}: {said}", case.name)));
            }
            (Possibility::Impossible, "none") => tally.impossible += 1,
            (Possibility::Unfinished, _) => tally.unfinished += 1,
            (answer, outcome) => tally.wrong.push(format!("{}: {outcome}, but {answer:?}", case.name)),
        }
    }
    tally
}
