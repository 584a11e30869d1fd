//! The shares of a device do not consume more than the device has.

use std::collections::BTreeMap;

use model::quantity::Quantity;
use objects::resource::slice::Device;

use crate::attempt::{Attempt, Pick};
use crate::evidence::{Evidence, Held};
use crate::names::DeviceName;
use crate::policy::amounts;
use crate::pools;
use crate::violation::Violation;

/// Devices of an attempt of which more is consumed than there is, counting what others hold.
pub(crate) fn of_attempt(attempt: &Attempt<'_>, picks: &[Pick<'_>]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (at, pick) in picks.iter().enumerate() {
        let is_same = |other: &&Pick<'_>| other.found.name == pick.found.name;
        if pick.is_shareable(&attempt.evidence) {
            // All shares of the device are judged with the last of them.
            if !picks[at + 1..].iter().any(|other| is_same(&other)) {
                let shares: Vec<_> = picks[..=at].iter().filter(is_same).collect();
                violations.extend(overdrawn(attempt, &shares));
            }
        } else {
            violations.extend(overdrawn(attempt, &[pick]));
        }
    }
    violations
}

/// Capacities of which the device would not have enough even if nobody else used it.
pub(crate) fn too_small(attempt: &Attempt<'_>, pick: &Pick<'_>) -> Vec<Violation> {
    above_value(&pick.found.name, pick.found.device, &amounts(attempt, pick).0)
}

fn overdrawn(attempt: &Attempt<'_>, shares: &[&Pick<'_>]) -> Vec<Violation> {
    let found = &shares[0].found;
    let mut used = held_amounts(&attempt.held, &found.name);
    for share in shares {
        for (name, amount) in amounts(attempt, share).0 {
            *used.entry(name).or_default() += &amount;
        }
    }
    above_value(&found.name, found.device, &used)
}

/// Devices of the cluster of which more is consumed than there is.
pub(crate) fn of_state(evidence: &Evidence<'_>, held: &[Held<'_>]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for slices in pools::newest(evidence).values() {
        for found in pools::devices(slices, evidence) {
            violations.extend(above_value(&found.name, found.device, &held_amounts(held, &found.name)));
        }
    }
    violations
}

fn held_amounts(held: &[Held<'_>], device: &DeviceName) -> BTreeMap<String, Quantity> {
    let mut used: BTreeMap<String, Quantity> = BTreeMap::new();
    for share in held.iter().filter(|held| held.share.is_some() && held.device == *device) {
        for (name, amount) in share.consumed {
            *used.entry(name.clone()).or_default() += &amount.0;
        }
    }
    used
}

fn above_value(name: &DeviceName, device: &Device, used: &BTreeMap<String, Quantity>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (capacity, there_is) in &device.capacity {
        if let Some(used) = used.get(capacity).filter(|used| **used > there_is.value.0) {
            violations.push(Violation::CapacityOverdrawn {
                device: name.clone(),
                capacity: capacity.clone(),
                used: used.to_string(),
                value: there_is.value.0.to_string(),
            });
        }
    }
    violations
}
