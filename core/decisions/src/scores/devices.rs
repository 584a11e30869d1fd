//! Devices that come closer to what claims would like: of a list of alternatives, the earlier the better.
//!
//! What a node is worth by this depends on the devices that were found there, so it can be told only after they were.

use model::allocation::Allocation;
use model::claim::{Claim, Wish};
use model::request_name::RequestName;

use crate::scores::scale::normalised;

/// What the first of several alternatives is worth; each further one is worth one less.
const FIRST: i64 = 8;

/// Whether a claim has a list of alternatives, so that nodes may differ by which of them they have.
#[must_use]
pub fn matters(wish: &Claim) -> bool {
    wish.spec.requests.iter().any(|request| matches!(request.wish, Wish::FirstAvailable(_)))
}

/// What the devices that were found for claims are worth, before it is compared with other nodes.
#[must_use]
pub fn raw<'c>(found: impl IntoIterator<Item = (&'c Claim, &'c Allocation)>) -> i64 {
    let mut sum = 0;
    for (claim, allocation) in found {
        for request in &claim.spec.requests {
            let Wish::FirstAvailable(alternatives) = &request.wish else { continue };
            for (worth, (name, _)) in (1..=FIRST).rev().zip(alternatives) {
                let sought = RequestName { request: request.name.clone(), subrequest: Some(name.clone()) };
                if allocation.grants.iter().any(|grant| grant.request == sought) {
                    sum += worth;
                }
            }
        }
    }
    sum
}

/// The scores of nodes by what their devices are worth, times a weight.
#[must_use]
pub fn weighted(raw: Vec<i64>, weight: i64) -> Vec<i64> {
    normalised(raw, false).into_iter().map(|score| weight * score).collect()
}

#[cfg(test)]
mod tests {
    use model::allocation::Grant;
    use model::claim::{Amount, Ask, ClaimId, ClaimSpec, Request};
    use model::device::{Binding, DeviceId};

    use super::*;

    fn ask() -> Ask {
        Ask {
            class: "gpu".into(),
            selectors: Vec::new(),
            amount: Amount::Exactly(1),
            admin_access: None,
            tolerations: Vec::new(),
            capacity: None,
            derived: Vec::new(),
        }
    }

    fn claim(requests: &[(&str, &[&str])]) -> Claim {
        let request = |(name, alternatives): &(&str, &[&str])| {
            let listed = alternatives.iter().map(|name| ((*name).into(), ask())).collect();
            let wish =
                if alternatives.is_empty() { Wish::Exactly(ask()) } else { Wish::FirstAvailable(listed) };
            Request { name: (*name).into(), wish }
        };
        Claim {
            id: ClaimId { namespace: "ns".into(), name: "c".into() },
            spec: ClaimSpec { requests: requests.iter().map(request).collect(), ..ClaimSpec::default() },
        }
    }

    fn part(request: &str, subrequest: &str) -> RequestName {
        RequestName { subrequest: Some(subrequest.into()), ..request.into() }
    }

    fn given(requests: &[RequestName]) -> Allocation {
        let grant = |request: &RequestName| Grant {
            request: request.clone(),
            device: DeviceId { driver: "d".into(), pool: "p".into(), device: "a".into() },
            admin_access: false,
            share: None,
            tolerations: Vec::new(),
            binding: Binding::default(),
            skip_node_operations: Vec::new(),
            groups: [].into(),
        };
        Allocation { grants: requests.iter().map(grant).collect(), configs: Vec::new(), nodes: None }
    }

    #[test]
    fn earlier_alternatives_are_worth_more_and_each_counts_once() {
        let claim = claim(&[("one", &[]), ("two", &["a", "b", "c"]), ("three", &["a", "b"])]);
        assert!(matters(&claim));
        let worth = |requests: &[RequestName]| raw([(&claim, &given(requests))]);
        assert_eq!(worth(&["one".into(), part("two", "a"), part("three", "a")]), 16);
        assert_eq!(worth(&["one".into(), part("two", "c"), part("two", "c"), part("three", "b")]), 13);
        assert_eq!(worth(&["one".into()]), 0);
    }

    #[test]
    fn claims_without_alternatives_are_worth_the_same_everywhere() {
        let claim = claim(&[("one", &[])]);
        assert!(!matters(&claim));
        assert_eq!(raw([(&claim, &given(&["one".into()]))]), 0);
    }

    #[test]
    fn the_best_node_gets_all_of_the_weight() {
        assert_eq!(weighted(vec![8, 7, 4], 2), [200, 174, 100]);
        assert_eq!(weighted(vec![0, 0], 2), [0, 0]);
    }
}
