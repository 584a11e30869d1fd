//! A device belongs to one claim, or to several in shares, never both.

use crate::attempt::{Attempt, Pick};
use crate::evidence::Held;
use crate::violation::Violation;

/// Devices that an attempt takes although somebody has them.
///
/// Admin access may look over everybody's shoulder, but a claim does not get a device twice. What was picked for admin
/// access is not given to a later request of the same attempt.
pub(crate) fn of_attempt(attempt: &Attempt<'_>, picks: &[Pick<'_>]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (at, pick) in picks.iter().enumerate() {
        let (device, second) = (&pick.found.name, pick.wanted.claim_name());
        let shareable = pick.is_shareable(&attempt.evidence);
        if !pick.wanted.is_admin() {
            let others = attempt.held.iter().filter(|held| held.device == *device);
            for held in others {
                let (device, first) = (device.clone(), held.claim.clone());
                if held.share.is_none() {
                    violations.push(Violation::TakenTwice { device, first, second: second.clone() });
                } else if !shareable {
                    violations.push(Violation::WholeAndShared {
                        device,
                        whole: second.clone(),
                        shared: first,
                    });
                }
            }
        }
        if shareable {
            continue;
        }
        for earlier in picks[..at].iter().filter(|earlier| earlier.found.name == *device) {
            let first = earlier.wanted.claim_name();
            if !pick.wanted.is_admin() || pick.wanted.is_of(earlier.wanted.claim) {
                violations.push(Violation::TakenTwice {
                    device: device.clone(),
                    first,
                    second: second.clone(),
                });
            }
        }
    }
    violations
}

/// Devices of the cluster that are allocated twice.
pub(crate) fn of_state(held: &[Held<'_>]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (at, one) in held.iter().enumerate() {
        for other in held[at + 1..].iter().filter(|other| other.device == one.device) {
            let (device, first, second) = (one.device.clone(), one.claim.clone(), other.claim.clone());
            match (one.share, other.share) {
                (None, None) => violations.push(Violation::TakenTwice { device, first, second }),
                (None, Some(_)) => {
                    violations.push(Violation::WholeAndShared { device, whole: first, shared: second });
                }
                (Some(_), None) => {
                    violations.push(Violation::WholeAndShared { device, whole: second, shared: first });
                }
                (Some(_), Some(_)) => {}
            }
        }
    }
    violations
}
