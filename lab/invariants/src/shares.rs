//! Every share of a device has an id of its own.

use objects::resource::allocation::DeviceRequestAllocationResult;

use crate::attempt::Attempt;
use crate::evidence::Held;
use crate::names::DeviceName;
use crate::violation::Violation;

/// Shares of an attempt with the id of another share of the device.
pub(crate) fn of_attempt(
    attempt: &Attempt<'_>,
    results: &[&DeviceRequestAllocationResult],
) -> Vec<Violation> {
    let held = attempt.held.iter().filter_map(|held| Some((held.device.clone(), held.share?)));
    let made = results.iter().filter_map(|one| Some((DeviceName::in_result(one), one.share_id.as_deref()?)));
    repeated(&held.collect::<Vec<_>>(), &made.collect::<Vec<_>>())
}

/// Shares of the cluster with the id of another share of the device.
pub(crate) fn of_state(held: &[Held<'_>]) -> Vec<Violation> {
    let shares = held.iter().filter_map(|held| Some((held.device.clone(), held.share?)));
    repeated(&[], &shares.collect::<Vec<_>>())
}

fn repeated(before: &[(DeviceName, &str)], shares: &[(DeviceName, &str)]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (at, share) in shares.iter().enumerate() {
        if before.contains(share) || shares[..at].contains(share) {
            let (device, share) = (share.0.clone(), share.1.to_owned());
            violations.push(Violation::ShareIdTwice { device, share });
        }
    }
    violations
}
