//! Requests that rules tie together, and which of these bundles are alike.
//!
//! Two bundles are alike if exchanging them, request by request in their order, changes nothing: the ways of each pair can use the
//! same devices, need as many and take as much, and rules of one stand where rules of the other do. So what is refuted for one is
//! refuted for the other, as long as nothing was chosen for either.

use std::collections::BTreeMap;

use super::bits;
use super::model::{Agreement, Wants, Way};
use crate::RESULTS_MAX;
use crate::constraint::ParsedConstraint;

/// All requests, bundle by bundle.
#[derive(Debug)]
pub(crate) struct Bundles {
    /// The requests of each, in order.
    pub requests: Vec<Vec<usize>>,
    /// The bundle of each request.
    pub of: Vec<usize>,
    /// What each is like.
    pub kind: Vec<usize>,
    /// The bundles of each kind.
    pub alike: Vec<Vec<usize>>,
    /// Requests of different claims are not alike: a claim may be full, or admin access makes a difference.
    pub claims_matter: bool,
}

/// Ties requests together by the rules that concern several.
pub(super) fn bundles(ways: &[Way], wants: &[Wants], rules: &[Agreement]) -> Bundles {
    let mut of: Vec<usize> = (0..wants.len()).collect();
    for rule in rules {
        let tied: Vec<usize> = rule.members.iter().map(|(way, _)| of[ways[*way].request]).collect();
        let Some(first) = tied.iter().copied().min() else { continue };
        of.iter_mut().filter(|bundle| tied.contains(bundle)).for_each(|bundle| *bundle = first);
    }
    let mut requests: Vec<Vec<usize>> = Vec::new();
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    for (request, bundle) in of.iter_mut().enumerate() {
        let number = *numbers.entry(*bundle).or_insert_with(|| {
            requests.push(Vec::new());
            requests.len() - 1
        });
        requests[number].push(request);
        *bundle = number;
    }
    let claims_matter = do_claims_matter(ways, wants);
    let mut keys: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
    let mut alike: Vec<Vec<usize>> = Vec::new();
    let mut kind = Vec::new();
    for (number, members) in requests.iter().enumerate() {
        let next = alike.len();
        let known = *keys.entry(key(members, ways, wants, rules, claims_matter)).or_insert(next);
        if known == next {
            alike.push(Vec::new());
        }
        alike[known].push(number);
        kind.push(known);
    }
    Bundles { requests, of, kind, alike, claims_matter }
}

fn do_claims_matter(ways: &[Way], wants: &[Wants]) -> bool {
    let mut most: BTreeMap<usize, usize> = BTreeMap::new();
    for wants in wants {
        let need = ways[wants.ways.clone()].iter().map(|way| way.need as usize).max();
        *most.entry(wants.claim).or_default() += need.unwrap_or(0);
    }
    most.into_values().any(|most| most > RESULTS_MAX) || ways.iter().any(|way| way.admin)
}

/// All about a bundle but the numbers of its requests and rules.
fn key(
    members: &[usize],
    ways: &[Way],
    wants: &[Wants],
    rules: &[Agreement],
    claims_matter: bool,
) -> Vec<u64> {
    let mut key = vec![members.len() as u64];
    let mut rule_numbers: Vec<usize> = Vec::new();
    for request in members {
        let wants = &wants[*request];
        key.extend([if claims_matter { wants.claim as u64 } else { 0 }, wants.ways.len() as u64]);
        for way in &ways[wants.ways.clone()] {
            key.extend([u64::from(way.need), u64::from(way.admin)]);
            key.extend_from_slice(&way.open);
            for device in bits::ones(&way.open) {
                for amount in way.taken(device).unwrap_or_default() {
                    key.extend([*amount as u64, (*amount >> 64) as u64]);
                }
            }
            key.push(way.rules.len() as u64);
            for (rule, table) in &way.rules {
                let known = rule_numbers.iter().position(|known| known == rule).unwrap_or_else(|| {
                    rule_numbers.push(*rule);
                    rule_numbers.len() - 1
                });
                key.extend([
                    known as u64,
                    *table as u64,
                    u64::from(rules[*rule].rule == ParsedConstraint::Match),
                ]);
            }
        }
    }
    key
}
