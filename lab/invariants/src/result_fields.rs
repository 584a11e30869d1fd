//! A result says about its device what is true of the device and of its request.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use gates::Gate;
use model::quantity::Quantity;
use objects::resource::allocation::DeviceRequestAllocationResult;

use crate::attempt::{Attempt, Pick};
use crate::evidence::GroupsFrom;
use crate::groups::declared;
use crate::policy::amounts;
use crate::violation::{ResultField, Violation};

/// Fields of a result that are not what they should be.
pub(crate) fn check(
    attempt: &Attempt<'_>,
    pick: &Pick<'_>,
    result: &DeviceRequestAllocationResult,
) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut same = |field, expected: &dyn Debug, found: &dyn Debug, equal: bool| {
        if !equal {
            let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
            violations.push(Violation::WrongField { choice: pick.choice(), field, expected, found });
        }
    };
    let admin = pick.wanted.is_admin().then_some(true);
    same(ResultField::AdminAccess, &admin, &result.admin_access, admin == result.admin_access);
    let tolerations = pick.wanted.tolerations;
    let found = result.tolerations.as_slice();
    same(ResultField::Tolerations, &tolerations, &found, tolerations == found);

    let none = Vec::new();
    let device = pick.found.device;
    let binding = attempt.evidence.binding_conditions();
    let expected = if binding { &device.binding_conditions } else { &none };
    let found = &result.binding_conditions;
    same(ResultField::BindingConditions, expected, found, expected == found);
    let expected = if binding { &device.binding_failure_conditions } else { &none };
    let found = &result.binding_failure_conditions;
    same(ResultField::BindingFailureConditions, expected, found, expected == found);
    // Kubernetes has no timeout in results, so it may be left out.
    let (expected, found) = (&device.binding_timeout, &result.binding_timeout);
    same(ResultField::BindingTimeout, expected, found, found.is_none() || (binding && found == expected));

    let (expected, found) = (&pick.found.slice.spec.skip_node_operations, &result.skip_node_operations);
    same(ResultField::SkipNodeOperations, expected, found, expected == found);

    let shareable = pick.is_shareable(&attempt.evidence);
    let share = &result.share_id;
    let has_share = share.as_ref().is_some_and(|share| !share.is_empty());
    let expected = if shareable { "an id" } else { "no id" };
    same(ResultField::ShareId, &expected, share, shareable == has_share && share.is_some() == has_share);
    let expected = if shareable { amounts(attempt, pick).0 } else { BTreeMap::new() };
    let found: BTreeMap<String, Quantity> =
        result.consumed_capacity.iter().map(|(name, amount)| (name.clone(), amount.0.clone())).collect();
    same(ResultField::ConsumedCapacity, &shown(&expected), &shown(&found), expected == found);

    if attempt.evidence.groups == GroupsFrom::Results {
        let on = attempt.evidence.gates.enabled(Gate::DRADeviceCompatibilityGroups);
        let expected = if on { named(declared(device)) } else { BTreeMap::new() };
        let noted = result.compatibility_groups.iter();
        let found =
            named(noted.map(|(set, groups)| (set.clone(), groups.iter().cloned().collect())).collect());
        same(ResultField::CompatibilityGroups, &expected, &found, expected == found);
    }
    violations
}

fn shown(amounts: &BTreeMap<String, Quantity>) -> BTreeMap<&str, String> {
    amounts.iter().map(|(name, amount)| (name.as_str(), amount.to_string())).collect()
}

/// A set without groups may be noted as an empty list or not at all.
fn named(mut groups: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    groups.retain(|_, groups| !groups.is_empty());
    groups
}
