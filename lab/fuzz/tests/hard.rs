//! Hard instances of allocation are decided, and rightly.

use fuzz::admission::create;
use fuzz::allocation::{Verdict, check_hard};
use gates::Gates;
use objects::Object;
use schema::table;
use testkit::{Family, hard};

/// Steps within which small instances are decided.
const STEPS_MAX: u64 = 20_000;

#[test]
fn small_hard_instances_are_decided_as_trying_everything_decides_them() {
    for family in Family::ALL {
        let mut verdicts = Vec::new();
        for requests in 2..=6 {
            for seed in 0..8 {
                let verdict = check_hard(family, requests, seed, STEPS_MAX, 30_000);
                let decided = matches!(verdict, Verdict::Allocated | Verdict::Impossible);
                assert!(decided, "{family:?} with {requests} requests and seed {seed}: {verdict:?}");
                verdicts.push(verdict);
            }
        }
        for verdict in [Verdict::Allocated, Verdict::Impossible] {
            assert!(verdicts.contains(&verdict), "no instance of {family:?} is {verdict:?}");
        }
    }
}

#[test]
fn large_hard_instances_are_decided() {
    for family in Family::ALL {
        for requests in [16, 32] {
            let verdicts: Vec<Verdict> =
                (0..4).map(|seed| check_hard(family, requests, seed, STEPS_MAX, 0)).collect();
            assert!(!verdicts.contains(&Verdict::Spent), "{family:?} with {requests} requests: {verdicts:?}");
        }
    }
}

fn refusal<T: Object>(object: &T) -> Option<String> {
    let is_same = |kind: &&schema::Kind| kind.kind == T::KIND && kind.api_version == T::API_VERSION;
    let kind = table().kinds().iter().find(is_same).expect("the kind is served");
    create(kind, object.write_value(), Gates::all_on()).err().map(|error| format!("{error:?}"))
}

#[test]
fn admission_lets_in_every_object_of_a_hard_instance() {
    for family in Family::ALL {
        for (requests, seed) in [(2, 0), (7, 1), (16, 2), (32, 3)] {
            let instance = hard(family, requests, seed);
            let refusals = instance.slices.iter().filter_map(refusal);
            let refusals = refusals.chain(instance.classes.iter().filter_map(refusal));
            let refusals = refusals.chain(instance.claims.iter().filter_map(refusal));
            assert_eq!(refusals.collect::<Vec<_>>(), Vec::<String>::new(), "{family:?} {requests} {seed}");
        }
    }
}
