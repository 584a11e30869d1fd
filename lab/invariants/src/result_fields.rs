//! A result says about its device what is true of the device and of its request.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use gates::Gate;
use objects::Quantity;
use objects::resource::allocation::DeviceRequestAllocationResult;

use crate::attempt::{Attempt, Pick};
use crate::evidence::GroupsFrom;
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
    let expected = expected(attempt, pick);
    let (wanted, found) = (&expected.admin_access, &result.admin_access);
    same(ResultField::AdminAccess, wanted, found, wanted == found);
    let (wanted, found) = (&expected.tolerations, &result.tolerations);
    same(ResultField::Tolerations, wanted, found, wanted == found);
    let (wanted, found) = (&expected.binding_conditions, &result.binding_conditions);
    same(ResultField::BindingConditions, wanted, found, wanted == found);
    let (wanted, found) = (&expected.binding_failure_conditions, &result.binding_failure_conditions);
    same(ResultField::BindingFailureConditions, wanted, found, wanted == found);
    // Kubernetes has no timeout in results, so it may be left out.
    let (wanted, found) = (&expected.binding_timeout, &result.binding_timeout);
    same(ResultField::BindingTimeout, wanted, found, found.is_none() || wanted == found);
    let (wanted, found) = (&expected.skip_node_operations, &result.skip_node_operations);
    same(ResultField::SkipNodeOperations, wanted, found, wanted == found);
    let found = &result.share_id;
    let shareable = pick.is_shareable(&attempt.evidence);
    let fits = if shareable { found.as_ref().is_some_and(|id| !id.is_empty()) } else { found.is_none() };
    same(ResultField::ShareId, &if shareable { "an id" } else { "none" }, found, fits);
    let (wanted, found) = (&expected.consumed_capacity, &result.consumed_capacity);
    same(ResultField::ConsumedCapacity, &shown(wanted), &shown(found), wanted == found);
    if attempt.evidence.groups == GroupsFrom::Results {
        let (wanted, found) = (named(&expected.compatibility_groups), named(&result.compatibility_groups));
        same(ResultField::CompatibilityGroups, &wanted, &found, wanted == found);
    }
    violations
}

/// What should be written about a device, except for the id of a share, which can be any.
pub(crate) fn expected(attempt: &Attempt<'_>, pick: &Pick<'_>) -> DeviceRequestAllocationResult {
    let (device, slice) = (pick.found.device, pick.found.slice);
    let mut result = DeviceRequestAllocationResult {
        request: pick.wanted.name(),
        driver: slice.spec.driver.clone(),
        pool: slice.spec.pool.name.clone(),
        device: device.name.clone(),
        admin_access: pick.wanted.is_admin().then_some(true),
        tolerations: pick.wanted.tolerations.to_vec(),
        skip_node_operations: slice.spec.skip_node_operations.clone(),
        ..Default::default()
    };
    if attempt.evidence.binding_conditions() {
        result.binding_conditions.clone_from(&device.binding_conditions);
        result.binding_failure_conditions.clone_from(&device.binding_failure_conditions);
        result.binding_timeout.clone_from(&device.binding_timeout);
    }
    if pick.is_shareable(&attempt.evidence) {
        let amounts = amounts(attempt, pick).0.into_iter();
        result.consumed_capacity = amounts.map(|(name, amount)| (name, Quantity(amount))).collect();
    }
    let notes = attempt.evidence.groups == GroupsFrom::Results;
    if notes && attempt.evidence.gates.enabled(Gate::DRADeviceCompatibilityGroups) {
        for consumption in device.consumes_counters.iter().filter(|one| !one.compatibility_groups.is_empty())
        {
            let groups = consumption.compatibility_groups.clone();
            result.compatibility_groups.insert(consumption.counter_set.clone(), groups);
        }
    }
    result
}

fn shown(amounts: &BTreeMap<String, Quantity>) -> BTreeMap<&str, String> {
    amounts.iter().map(|(name, amount)| (name.as_str(), amount.0.to_string())).collect()
}

/// The order of groups means nothing, and a set without groups may be noted as an empty list or not at all.
fn named(groups: &BTreeMap<String, Vec<String>>) -> BTreeMap<&String, BTreeSet<&String>> {
    let sets = groups.iter().filter(|(_, groups)| !groups.is_empty());
    sets.map(|(set, groups)| (set, groups.iter().collect())).collect()
}
