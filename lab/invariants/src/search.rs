//! Tries every assignment of devices to requests, to find out whether there is a valid one.
//!
//! This is no allocator: it takes the first assignment that the checker's rules accept, in no particular order, and it
//! is bounded. Its use is to confirm that what an allocator calls impossible is.

use objects::core::node::Node;
use objects::resource::allocation::AllocationResult;
use objects::resource::claim::ResourceClaim;

use crate::attempt::{Attempt, Pick};
use crate::check::{alone, together};
use crate::counts::RESULTS_MAX;
use crate::evidence::Evidence;
use crate::matching::{matching, unsettled};
use crate::names::ClaimName;
use crate::wanted::{HowMany, Wanted, requests};
use crate::{configuration, features, node_selector, result_fields};

/// What trying everything found.
#[derive(Clone, Debug, PartialEq)]
pub enum Possibility {
    /// There is a valid assignment: this one, with an allocation for each claim.
    Possible(Vec<AllocationResult>),
    /// There is none.
    Impossible,
    /// The steps were used up before all was tried.
    Unfinished,
}

/// Searches for an assignment of devices to all claims. A step is one look at a set of devices.
pub fn search(evidence: &Evidence<'_>, node: &Node, claims: &[&ResourceClaim], steps: u64) -> Possibility {
    let names: Vec<_> = claims.iter().map(|claim| ClaimName::of(claim)).collect();
    let attempt = Attempt::new(*evidence, node, &names);
    let requests: Vec<_> =
        claims.iter().flat_map(|claim| requests(claim)).map(|(_, all)| options(&attempt, all)).collect();
    if requests.iter().any(Vec::is_empty) {
        return Possibility::Impossible;
    }
    let mut search = Search { attempt: &attempt, requests: &requests, picks: Vec::new(), steps };
    match search.request(0) {
        Some(true) => Possibility::Possible(written(&attempt, claims, &search.picks)),
        Some(false) => Possibility::Impossible,
        None => Possibility::Unfinished,
    }
}

/// The allocations that the picks amount to, one for each claim.
fn written(attempt: &Attempt<'_>, claims: &[&ResourceClaim], picks: &[Pick<'_>]) -> Vec<AllocationResult> {
    let held = |id: &str| attempt.held.iter().any(|held| held.share == Some(id));
    let ids = (0_u64..).map(|number| format!("00000000-0000-4000-8000-{number:012x}"));
    let mut fresh = ids.filter(|id| !held(id));
    let mut allocations = Vec::new();
    for claim in claims {
        let own: Vec<_> = picks.iter().filter(|pick| pick.wanted.is_of(claim)).cloned().collect();
        let mut allocation = AllocationResult::default();
        for pick in &own {
            let mut result = result_fields::expected(attempt, pick);
            result.share_id = if pick.is_shareable(&attempt.evidence) { fresh.next() } else { None };
            allocation.devices.results.push(result);
        }
        allocation.devices.config = configuration::expected(attempt, claim, &allocation.devices.results);
        // A device whose selector cannot be passed on is none that can be allocated, but that is the checker's to say.
        allocation.node_selector = node_selector::expected(attempt, &own).unwrap_or_default();
        allocations.push(allocation);
    }
    allocations
}

/// One alternative of a request: how many of which devices.
struct Alternative<'o> {
    count: usize,
    candidates: Vec<Pick<'o>>,
}

/// The alternatives of a request that could be satisfied if the request were alone.
fn options<'o>(attempt: &Attempt<'o>, alternatives: Vec<Wanted<'o>>) -> Vec<Alternative<'o>> {
    let mut options = Vec::new();
    for wanted in alternatives {
        if !features::of_request(attempt, &wanted).is_empty() {
            continue;
        }
        let fits = |pick: &Pick<'o>| {
            alone(attempt, pick).is_empty() && {
                let pick = std::slice::from_ref(pick);
                together(attempt, pick).is_empty()
            }
        };
        match wanted.how_many {
            HowMany::Unknown => {}
            HowMany::Exactly(count) => {
                let devices = attempt.pools.iter().flat_map(|pool| pool.near_devices(&attempt.evidence));
                let picks = devices.map(|found| Pick { wanted: wanted.clone(), found });
                options.push(Alternative { count, candidates: picks.filter(fits).collect() });
            }
            HowMany::All => {
                let all = matching(attempt, &wanted);
                let settled = unsettled(attempt, &wanted).is_empty();
                if settled && !all.is_empty() && all.iter().all(fits) {
                    options.push(Alternative { count: all.len(), candidates: all });
                }
            }
        }
    }
    options.retain(|option| option.count <= option.candidates.len());
    options
}

struct Search<'a, 'o> {
    attempt: &'a Attempt<'o>,
    /// For each request of all claims, its alternatives.
    requests: &'a [Vec<Alternative<'o>>],
    picks: Vec<Pick<'o>>,
    steps: u64,
}

impl<'a, 'o> Search<'a, 'o> {
    /// Whether the requests from this one on can be satisfied beside the picks; nothing if the steps are used up.
    fn request(&mut self, at: usize) -> Option<bool> {
        let requests = self.requests;
        let Some(alternatives) = requests.get(at) else { return Some(true) };
        for alternative in alternatives {
            if self.devices(at, alternative, 0, alternative.count)? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Whether so many more of the candidates, from a position on, can be taken, and the rest be satisfied.
    fn devices(&mut self, at: usize, of: &'a Alternative<'o>, from: usize, missing: usize) -> Option<bool> {
        if missing == 0 {
            return self.request(at + 1);
        }
        for position in from..of.candidates.len() {
            // Too few are left.
            if of.candidates.len() - position < missing {
                break;
            }
            let candidate = &of.candidates[position];
            self.steps = self.steps.checked_sub(1)?;
            self.picks.push(candidate.clone());
            let results = self.picks.iter().filter(|pick| pick.wanted.is_of(candidate.wanted.claim)).count();
            let fits = results <= RESULTS_MAX && together(self.attempt, &self.picks).is_empty();
            if fits && self.devices(at, of, position + 1, missing - 1)? {
                return Some(true);
            }
            self.picks.pop();
        }
        Some(false)
    }
}
