//! The devices that are in use do not draw more from a counter than it has.
//!
//! A device that is shared draws once, however many shares there are.

use std::collections::{BTreeMap, BTreeSet};

use gates::Gate;
use model::quantity::Quantity;
use objects::resource::slice::Device;

use crate::attempt::{Attempt, Pick};
use crate::evidence::{Evidence, Held};
use crate::names::PoolName;
use crate::pools::{self, Found};
use crate::violation::Violation;

/// Drawn amounts by counter set and counter.
type Drawn<'o> = BTreeMap<(&'o str, &'o str), Quantity>;

/// Counters that are overdrawn in a pool from which the attempt draws.
pub(crate) fn of_attempt(attempt: &Attempt<'_>, picks: &[Pick<'_>]) -> Vec<Violation> {
    let mut violations = Vec::new();
    if !attempt.evidence.gates.enabled(Gate::DRAPartitionableDevices) {
        return violations;
    }
    for pool in &attempt.pools {
        let mut drawn = Drawn::new();
        for (at, pick) in picks.iter().enumerate().filter(|(_, pick)| pick.found.name.pool == pool.name) {
            if !is_paid(attempt, &picks[..at], pick) {
                draw(&mut drawn, pick.found.device);
            }
        }
        // Whoever draws nothing has no part in what others did to the pool.
        if drawn.is_empty() {
            continue;
        }
        for found in pool.all_devices(&attempt.evidence) {
            if draws_for_holder(&attempt.held, &found) {
                draw(&mut drawn, found.device);
            }
        }
        violations.extend(above_value(&pool.name, &pool.counters(), &drawn));
    }
    violations
}

/// Counters of the cluster that are overdrawn.
pub(crate) fn of_state(evidence: &Evidence<'_>, held: &[Held<'_>]) -> Vec<Violation> {
    let mut violations = Vec::new();
    if !evidence.gates.enabled(Gate::DRAPartitionableDevices) {
        return violations;
    }
    for (name, slices) in pools::newest(evidence) {
        let mut drawn = Drawn::new();
        let mut seen = BTreeSet::new();
        for found in pools::devices(&slices, evidence) {
            // A pool that lists a device twice is invalid, but that draws nothing twice.
            if draws_for_holder(held, &found) && seen.insert(found.name) {
                draw(&mut drawn, found.device);
            }
        }
        violations.extend(above_value(&name, &pools::counters(&slices), &drawn));
    }
    violations
}

/// Whether another share of the device draws already.
pub(crate) fn is_paid(attempt: &Attempt<'_>, earlier: &[Pick<'_>], pick: &Pick<'_>) -> bool {
    let name = &pick.found.name;
    let shared = |held: &Held<'_>| held.share.is_some() && held.device == *name;
    pick.is_shareable(&attempt.evidence)
        && (attempt.held.iter().any(shared) || earlier.iter().any(|other| other.found.name == *name))
}

fn draws_for_holder(held: &[Held<'_>], found: &Found<'_>) -> bool {
    !found.device.consumes_counters.is_empty() && held.iter().any(|held| held.device == found.name)
}

fn draw<'o>(drawn: &mut Drawn<'o>, device: &'o Device) {
    for consumption in &device.consumes_counters {
        for (counter, amount) in &consumption.counters {
            *drawn.entry((&consumption.counter_set, counter)).or_default() += &amount.value.0;
        }
    }
}

fn above_value(pool: &PoolName, counters: &[(&str, &str, &Quantity)], drawn: &Drawn<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (set, counter, value) in counters {
        if let Some(used) = drawn.get(&(*set, *counter)).filter(|used| *used > *value) {
            violations.push(Violation::CounterOverdrawn {
                pool: pool.clone(),
                set: (*set).to_owned(),
                counter: (*counter).to_owned(),
                used: used.to_string(),
                value: value.to_string(),
            });
        }
    }
    violations
}
