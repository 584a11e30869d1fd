//! Every request gets as many devices as it wants, all for one of its alternatives.

use objects::resource::allocation::DeviceRequestAllocationResult;
use objects::resource::claim::ResourceClaim;

use crate::attempt::{Attempt, Pick};
use crate::evidence::Made;
use crate::features;
use crate::matching::{matching, unsettled};
use crate::names::{ClaimName, DeviceName};
use crate::violation::{Choice, Violation};
use crate::wanted::{HowMany, Wanted, requests};

/// The most results that a claim can have.
pub(crate) const RESULTS_MAX: usize = 32;

/// What is wrong with the numbers of a claim's results.
pub(crate) fn check<'o>(attempt: &Attempt<'o>, made: &Made<'o>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let claim = ClaimName::of(made.claim);
    let results = made.allocation.devices.results.as_slice();
    let found = results.len();
    if found > RESULTS_MAX {
        violations.push(Violation::TooManyResults { claim: claim.clone(), found, max: RESULTS_MAX });
    }
    for (request, alternatives) in requests(made.claim) {
        let chosen: Vec<_> =
            alternatives.iter().filter(|wanted| !devices_for(results, wanted).is_empty()).collect();
        match (chosen.as_slice(), alternatives.as_slice()) {
            ([], [only]) if only.alternative.is_none() => violations.extend(numbers(attempt, results, only)),
            ([], _) => violations
                .push(Violation::NoAlternative { claim: claim.clone(), request: request.to_owned() }),
            ([one], _) => violations.extend(numbers(attempt, results, one)),
            (several, _) => violations.push(Violation::SeveralAlternatives {
                claim: claim.clone(),
                request: request.to_owned(),
                alternatives: several.iter().map(|wanted| wanted.name()).collect(),
            }),
        }
    }
    violations
}

/// For each request of a claim the alternative that results are for, in the order of the requests.
pub(crate) fn chosen<'o>(
    claim: &'o ResourceClaim,
    results: &[DeviceRequestAllocationResult],
) -> Vec<Wanted<'o>> {
    let chosen = requests(claim).into_iter().filter_map(|(_, alternatives)| {
        alternatives.into_iter().find(|wanted| !devices_for(results, wanted).is_empty())
    });
    chosen.collect()
}

fn devices_for(results: &[DeviceRequestAllocationResult], wanted: &Wanted<'_>) -> Vec<DeviceName> {
    let name = wanted.name();
    let own = results.iter().filter(|result| result.request == name);
    own.map(DeviceName::in_result).collect()
}

fn numbers<'o>(
    attempt: &Attempt<'o>,
    results: &[DeviceRequestAllocationResult],
    wanted: &Wanted<'o>,
) -> Vec<Violation> {
    let (claim, request) = (wanted.claim_name(), wanted.name());
    let devices = devices_for(results, wanted);
    let mut violations = features::of_request(attempt, wanted);
    for (at, device) in devices.iter().enumerate() {
        if devices[..at].contains(device) {
            let (claim, request) = (claim.clone(), request.clone());
            violations.push(Violation::TwiceInRequest(Choice { claim, request, device: device.clone() }));
        }
    }
    match wanted.how_many {
        HowMany::Exactly(count) if count == devices.len() => {}
        HowMany::Exactly(count) => {
            violations.push(Violation::WrongCount { claim, request, wanted: count, found: devices.len() });
        }
        HowMany::Unknown => violations.push(Violation::UnknownMode { claim, request }),
        HowMany::All => {
            violations.extend(unsettled(attempt, wanted));
            let all: Vec<Pick<'_>> = matching(attempt, wanted);
            if all.is_empty() {
                violations.push(Violation::NothingForAll { claim, request });
            }
            let left_out = all.iter().filter(|pick| !devices.contains(&pick.found.name));
            violations.extend(left_out.map(|pick| Violation::LeftOut(pick.choice())));
        }
    }
    violations
}
