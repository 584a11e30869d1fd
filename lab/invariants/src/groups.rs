//! The devices that draw from one counter set have a compatibility group in common, or none of them has groups.

use std::collections::{BTreeMap, BTreeSet};

use gates::Gate;
use objects::resource::slice::Device;

use crate::attempt::{Attempt, Pick};
use crate::counters::is_paid;
use crate::evidence::{Evidence, GroupsFrom, Held};
use crate::names::{DeviceName, PoolName};
use crate::pools::{self, Found};
use crate::violation::Violation;

/// For each counter set of a pool, who draws from it with which groups.
type Members = BTreeMap<String, Vec<(DeviceName, BTreeSet<String>)>>;

/// Counter sets from which the attempt draws and whose devices are at odds.
pub(crate) fn of_attempt(attempt: &Attempt<'_>, picks: &[Pick<'_>]) -> Vec<Violation> {
    if !attempt.evidence.gates.enabled(Gate::DRADeviceCompatibilityGroups) {
        return closed(attempt, picks);
    }
    // Nothing joins devices that are at odds already, whoever let them meet.
    let mut violations = Vec::new();
    for pool in &attempt.pools {
        let mut sets: BTreeSet<&str> = BTreeSet::new();
        let mut joining = Vec::new();
        for (at, pick) in picks.iter().enumerate().filter(|(_, pick)| pick.found.name.pool == pool.name) {
            let groups = declared(pick.found.device);
            if !is_paid(attempt, &picks[..at], pick) || is_changed(attempt, pick, &groups) {
                sets.extend(pick.found.device.consumes_counters.iter().map(|one| one.counter_set.as_str()));
                joining.push((&pick.found.name, groups));
            }
        }
        if sets.is_empty() {
            continue;
        }
        let devices = pool.all_devices(&attempt.evidence);
        let mut members = of_held(&attempt.evidence, &pool.name, &devices, &attempt.held);
        for (device, groups) in joining {
            add(&mut members, device, groups);
        }
        members.retain(|set, _| sets.contains(set.as_str()));
        violations.extend(apart(&pool.name, &members));
    }
    violations
}

/// Devices that draw from a set that others hold with groups, while nobody can tell whether they go together.
fn closed(attempt: &Attempt<'_>, picks: &[Pick<'_>]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (at, pick) in picks.iter().enumerate() {
        let vouched =
            is_paid(attempt, &picks[..at], pick) && !is_changed(attempt, pick, &declared(pick.found.device));
        if attempt.evidence.groups != GroupsFrom::Results || vouched {
            continue;
        }
        let name = &pick.found.name;
        let pool = attempt.pools.iter().find(|pool| pool.name == name.pool);
        let devices = pool.map(|pool| pool.all_devices(&attempt.evidence)).unwrap_or_default();
        let held = attempt.held.iter().filter(|held| held.device.pool == name.pool);
        let groups: Vec<_> = held.map(|held| groups_of(&attempt.evidence, held, &devices)).collect();
        for one in &pick.found.device.consumes_counters {
            let is_grouped = |groups: &BTreeMap<String, BTreeSet<String>>| {
                groups.get(&one.counter_set).is_some_and(|groups| !groups.is_empty())
            };
            if groups.iter().any(is_grouped) {
                let (device, set) = (name.clone(), one.counter_set.clone());
                violations.push(Violation::GroupsClosed { device, set });
            }
        }
    }
    violations
}

/// Counter sets of the cluster whose devices are at odds.
pub(crate) fn of_state(evidence: &Evidence<'_>, held: &[Held<'_>]) -> Vec<Violation> {
    let mut violations = Vec::new();
    if !evidence.gates.enabled(Gate::DRADeviceCompatibilityGroups) {
        return violations;
    }
    let newest = pools::newest(evidence);
    let mut names: BTreeSet<&PoolName> = newest.keys().collect();
    // A pool may be gone while its devices are in use; the notes in the results are still there.
    names.extend(held.iter().map(|held| &held.device.pool));
    for name in names {
        let slices = newest.get(name).map(Vec::as_slice).unwrap_or_default();
        let members = of_held(evidence, name, &pools::devices(slices, evidence), held);
        violations.extend(apart(name, &members));
    }
    violations
}

/// The groups that a device declares now, by counter set.
fn declared(device: &Device) -> BTreeMap<String, BTreeSet<String>> {
    let consumptions = device.consumes_counters.iter();
    consumptions
        .map(|one| (one.counter_set.clone(), one.compatibility_groups.iter().cloned().collect()))
        .collect()
}

/// Whether other shares of the device were allocated when it had other groups.
fn is_changed(attempt: &Attempt<'_>, pick: &Pick<'_>, groups: &BTreeMap<String, BTreeSet<String>>) -> bool {
    let now = groups.iter().filter(|(_, groups)| !groups.is_empty()).count();
    let shares = attempt.held.iter().filter(|held| held.device == pick.found.name);
    attempt.evidence.groups == GroupsFrom::Results
        && shares.into_iter().any(|held| {
            let noted = held.groups.iter().filter(|(_, noted)| !noted.is_empty());
            let same = |(set, noted): (&String, &Vec<String>)| {
                groups.get(set).is_some_and(|groups| *groups == noted.iter().cloned().collect())
            };
            !held.groups.is_empty() && (noted.clone().count() != now || !noted.into_iter().all(same))
        })
}

/// Members in the order of the pool's devices; those that are gone come last.
fn of_held(evidence: &Evidence<'_>, pool: &PoolName, devices: &[Found<'_>], held: &[Held<'_>]) -> Members {
    let mut members = Members::new();
    let mut held: Vec<_> = held.iter().filter(|held| held.device.pool == *pool).collect();
    let place = |held: &Held<'_>| devices.iter().position(|found| found.name == held.device);
    held.sort_by_key(|held| place(held).unwrap_or(usize::MAX));
    for held in held {
        add(&mut members, &held.device, groups_of(evidence, held, devices));
    }
    members
}

/// The groups of a held device, by counter set.
fn groups_of(
    evidence: &Evidence<'_>,
    held: &Held<'_>,
    devices: &[Found<'_>],
) -> BTreeMap<String, BTreeSet<String>> {
    let device = devices.iter().find(|found| found.name == held.device);
    let mut groups = device.map(|found| declared(found.device)).unwrap_or_default();
    if evidence.groups == GroupsFrom::Results && !held.groups.is_empty() {
        // The slice says from which sets the device draws, the note with which groups it was allocated.
        groups.values_mut().for_each(BTreeSet::clear);
        for (set, noted) in &held.groups {
            groups.insert(set.clone(), noted.iter().cloned().collect());
        }
    }
    groups
}

fn add(members: &mut Members, device: &DeviceName, groups: BTreeMap<String, BTreeSet<String>>) {
    for (set, groups) in groups {
        members.entry(set).or_default().push((device.clone(), groups));
    }
}

fn apart(pool: &PoolName, members: &Members) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (set, members) in members {
        let without = members.iter().all(|(_, groups)| groups.is_empty());
        let mut candidates = members.first().map(|(_, groups)| groups.clone()).unwrap_or_default();
        for (_, groups) in members {
            candidates.retain(|group| groups.contains(group));
        }
        if !without && candidates.is_empty() {
            let mut devices: Vec<_> = members.iter().map(|(device, _)| device.clone()).collect();
            devices.sort();
            devices.dedup();
            violations.push(Violation::GroupsApart { pool: pool.clone(), set: set.clone(), devices });
        }
    }
    violations
}
