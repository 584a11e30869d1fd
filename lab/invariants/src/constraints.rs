//! The devices of a claim agree in an attribute, or differ in it, as the claim's constraints say.

use std::collections::BTreeSet;

use gates::Gate;
use objects::resource::claim::{DeviceConstraint, ResourceClaim};
use objects::resource::slice::DeviceAttribute;
use selector::DerivedValue;

use crate::attempt::{Attempt, Pick};
use crate::names::{ClaimName, DeviceName};
use crate::violation::Violation;

/// The values of an attribute; a scalar has one.
#[derive(Clone, Debug, PartialEq)]
struct Values {
    kind: Kind,
    list: bool,
    /// As text; values of one kind are equal when their texts are. Versions are compared as they are written.
    values: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Bool,
    Int,
    String,
    Version,
}

/// What is wrong between the devices of each claim.
pub(crate) fn check(attempt: &Attempt<'_>, picks: &[Pick<'_>]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut claims: Vec<&ResourceClaim> = Vec::new();
    for pick in picks {
        if !claims.iter().any(|known| pick.wanted.is_of(known)) {
            claims.push(pick.wanted.claim);
        }
    }
    for claim in claims {
        let own: Vec<_> = picks.iter().filter(|pick| pick.wanted.is_of(claim)).collect();
        for (index, constraint) in claim.spec.devices.constraints.iter().enumerate() {
            violations.extend(constraint_violations(attempt, &ClaimName::of(claim), index, constraint, &own));
        }
    }
    violations
}

fn constraint_violations(
    attempt: &Attempt<'_>,
    claim: &ClaimName,
    index: usize,
    constraint: &DeviceConstraint,
    picks: &[&Pick<'_>],
) -> Vec<Violation> {
    let (attribute, wants_match) = match (&constraint.match_attribute, &constraint.distinct_attribute) {
        (Some(attribute), _) => (attribute, true),
        (None, Some(attribute)) => (attribute, false),
        (None, None) => return vec![Violation::EmptyConstraint { claim: claim.clone(), index }],
    };
    let mut violations = Vec::new();
    let mut compared: Vec<(DeviceName, Values)> = Vec::new();
    for pick in picks.iter().filter(|pick| pick.wanted.is_named_in(&constraint.requests)) {
        let (choice, attribute) = (pick.choice(), attribute.clone());
        match value(attempt, pick, &attribute) {
            Err(why) => violations.push(Violation::AttributeFails { choice, attribute, why }),
            Ok(None) => violations.push(Violation::AttributeMissing { choice, index, attribute }),
            Ok(Some(values)) => {
                let lists = attempt.evidence.gates.enabled(Gate::DRAListTypeAttributes);
                if wants_match && !agrees(&compared, &values, lists) {
                    violations.push(Violation::AttributesDiffer { choice, index, attribute });
                } else if !wants_match && let Some(other) = clash(&compared, &values, lists) {
                    violations.push(Violation::AttributesEqual { choice, index, attribute, other });
                }
                compared.push((pick.found.name.clone(), values));
            }
        }
    }
    violations
}

/// Scalars agree when they are equal, lists when one value is in all of them. Without the feature a list agrees with
/// nothing, which hurts no device that is alone.
fn agrees(compared: &[(DeviceName, Values)], values: &Values, lists: bool) -> bool {
    if !lists {
        return compared.iter().all(|(_, other)| !values.list && other == values);
    }
    let mut shared = values.values.clone();
    for (_, other) in compared {
        shared.retain(|value| other.kind == values.kind && other.values.contains(value));
    }
    !shared.is_empty()
}

/// The device before this one that has a value in common with it. Without the feature a list is unlike anything that
/// comes later, and may not come later itself.
fn clash(compared: &[(DeviceName, Values)], values: &Values, lists: bool) -> Option<DeviceName> {
    let clashes = |other: &Values| {
        let common = other.kind == values.kind && !other.values.is_disjoint(&values.values);
        if lists { common } else { values.list || (common && !other.list) }
    };
    compared.iter().find(|(_, other)| clashes(other)).map(|(device, _)| device.clone())
}

/// The value of an attribute for a request; an attribute that the request derives hides the device's own.
fn value(attempt: &Attempt<'_>, pick: &Pick<'_>, attribute: &str) -> Result<Option<Values>, String> {
    let driver = pick.found.slice.spec.driver.as_str();
    let lists = attempt.evidence.gates.enabled(Gate::DRAListTypeAttributes);
    // An empty list has nothing to compare.
    let comparable = |values: &Values| !(lists && values.values.is_empty());
    if let Some(derived) = pick.wanted.derived.iter().rev().find(|derived| derived.name == attribute) {
        let value = attempt.expressions.derive(&derived.expression, driver, pick.found.device)?;
        return Ok(Some(derived_values(&value)).filter(comparable));
    }
    let attributes = &pick.found.device.attributes;
    let own = || {
        let (domain, id) = attribute.split_once('/')?;
        attributes.get(id).filter(|_| domain == driver)
    };
    Ok(attributes.get(attribute).or_else(own).and_then(own_values).filter(comparable))
}

fn own_values(attribute: &DeviceAttribute) -> Option<Values> {
    let list = |kind, values: BTreeSet<String>| Some(Values { kind, list: true, values });
    let scalar = |kind, value: String| Some(Values { kind, list: false, values: BTreeSet::from([value]) });
    match attribute {
        DeviceAttribute { ints: Some(values), .. } => list(Kind::Int, texts(values)),
        DeviceAttribute { bools: Some(values), .. } => list(Kind::Bool, texts(values)),
        DeviceAttribute { strings: Some(values), .. } => list(Kind::String, texts(values)),
        DeviceAttribute { versions: Some(values), .. } => list(Kind::Version, texts(values)),
        DeviceAttribute { int: Some(value), .. } => scalar(Kind::Int, value.to_string()),
        DeviceAttribute { bool: Some(value), .. } => scalar(Kind::Bool, value.to_string()),
        DeviceAttribute { string: Some(value), .. } => scalar(Kind::String, value.clone()),
        DeviceAttribute { version: Some(value), .. } => scalar(Kind::Version, value.clone()),
        _ => None,
    }
}

fn derived_values(value: &DerivedValue) -> Values {
    let list = |kind, values: BTreeSet<String>| Values { kind, list: true, values };
    let scalar = |kind, value: String| Values { kind, list: false, values: BTreeSet::from([value]) };
    match value {
        DerivedValue::Bool(value) => scalar(Kind::Bool, value.to_string()),
        DerivedValue::Int(value) => scalar(Kind::Int, value.to_string()),
        DerivedValue::String(value) => scalar(Kind::String, value.clone()),
        DerivedValue::Version(value) => scalar(Kind::Version, value.clone()),
        DerivedValue::Bools(values) => list(Kind::Bool, texts(values)),
        DerivedValue::Ints(values) => list(Kind::Int, texts(values)),
        DerivedValue::Strings(values) => list(Kind::String, texts(values)),
        DerivedValue::Versions(values) => list(Kind::Version, texts(values)),
    }
}

fn texts<T: ToString>(values: &[T]) -> BTreeSet<String> {
    values.iter().map(ToString::to_string).collect()
}
