//! The configuration of an allocation is that of the chosen classes, then that of the claim.

use objects::resource::allocation::{DeviceAllocationConfiguration, DeviceRequestAllocationResult};
use objects::resource::claim::{OpaqueDeviceConfiguration, ResourceClaim};
use serde_json::Value;

use crate::attempt::Attempt;
use crate::counts::chosen;
use crate::evidence::Made;
use crate::names::ClaimName;
use crate::violation::Violation;
use crate::wanted::Wanted;

/// An entry in a form in which equal entries are equal, whatever their JSON looked like.
#[derive(Clone, Debug, PartialEq)]
struct ComparableConfig {
    source: String,
    requests: Vec<String>,
    driver: String,
    parameters: Value,
}

/// Whether the configuration is the expected one.
pub(crate) fn check<'o>(attempt: &Attempt<'o>, made: &Made<'o>) -> Vec<Violation> {
    let expected = expected(attempt, made.claim, &made.allocation.devices.results);
    let expected: Vec<_> = expected.iter().map(comparable).collect();
    let found: Vec<_> = made.allocation.devices.config.iter().map(comparable).collect();
    if expected == found {
        return Vec::new();
    }
    let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
    vec![Violation::WrongConfiguration { claim: ClaimName::of(made.claim), expected, found }]
}

/// What should be written about the configuration of devices with these results.
pub(crate) fn expected(
    attempt: &Attempt<'_>,
    claim: &ResourceClaim,
    results: &[DeviceRequestAllocationResult],
) -> Vec<DeviceAllocationConfiguration> {
    let chosen = chosen(claim, results);
    let mut entries = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for wanted in &chosen {
        if seen.contains(&wanted.class) {
            continue;
        }
        seen.push(wanted.class);
        let users = chosen.iter().filter(|other| other.class == wanted.class);
        let requests: Vec<String> = users.map(Wanted::name).collect();
        let config = attempt.evidence.class(wanted.class).map(|class| class.spec.config.as_slice());
        for one in config.unwrap_or_default() {
            entries.push(entry("FromClass", &requests, one.opaque.as_ref()));
        }
    }
    for config in &claim.spec.devices.config {
        // A name of the claim's own requests counts, and so does the chosen alternative of one.
        if chosen.iter().any(|wanted| wanted.is_named_in(&config.requests)) || config.requests.is_empty() {
            entries.push(entry("FromClaim", &config.requests, config.opaque.as_ref()));
        }
    }
    for entry in &mut entries {
        if chosen.iter().all(|wanted| wanted.is_named_in(&entry.requests)) {
            entry.requests.clear();
        }
    }
    entries
}

fn entry(
    source: &str,
    requests: &[String],
    opaque: Option<&OpaqueDeviceConfiguration>,
) -> DeviceAllocationConfiguration {
    DeviceAllocationConfiguration {
        source: source.to_owned(),
        requests: requests.to_vec(),
        opaque: opaque.cloned(),
        ..Default::default()
    }
}

fn comparable(config: &DeviceAllocationConfiguration) -> ComparableConfig {
    let opaque = config.opaque.as_ref();
    let parameters = opaque.and_then(|opaque| opaque.parameters.as_ref());
    ComparableConfig {
        source: config.source.clone(),
        requests: config.requests.clone(),
        driver: opaque.map(|opaque| opaque.driver.clone()).unwrap_or_default(),
        parameters: parameters
            .map(|raw| serde_json::from_str(raw.text()).expect("raw JSON is JSON"))
            .unwrap_or_default(),
    }
}
