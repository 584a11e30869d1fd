//! Nothing is allocated with the help of a feature that is off.

use gates::Gate;

use crate::attempt::{Attempt, Pick};
use crate::violation::Violation;
use crate::wanted::Wanted;

/// Features that a request needs and that are off.
pub(crate) fn of_request(attempt: &Attempt<'_>, wanted: &Wanted<'_>) -> Vec<Violation> {
    let needs = [
        (wanted.alternative.is_some(), Gate::DRAPrioritizedList),
        (wanted.capacity.is_some(), Gate::DRAConsumableCapacity),
        (!wanted.derived.is_empty(), Gate::DRADerivedAttributes),
        (wanted.admin.is_some(), Gate::DRAAdminAccess),
    ];
    let off = needs.into_iter().filter(|(needed, gate)| *needed && !attempt.evidence.gates.enabled(*gate));
    off.map(|(_, gate)| Violation::RequestFeatureOff {
        claim: wanted.claim_name(),
        request: wanted.name(),
        gate,
    })
    .collect()
}

/// Features that a device needs and that are off.
///
/// A device with compatibility groups is left alone by itself, as the design says, and its slice is not.
pub(crate) fn of_device(attempt: &Attempt<'_>, pick: &Pick<'_>) -> Vec<Violation> {
    let device = pick.found.device;
    let gates = attempt.evidence.gates;
    let groups = device.consumes_counters.iter().any(|one| !one.compatibility_groups.is_empty());
    let skips = !pick.found.slice.spec.skip_node_operations.is_empty();
    let needs = [
        (!device.binding_conditions.is_empty(), Gate::DRADeviceBindingConditions),
        (!device.binding_conditions.is_empty(), Gate::DRAResourceClaimDeviceStatus),
        (!device.consumes_counters.is_empty(), Gate::DRAPartitionableDevices),
        (groups, Gate::DRADeviceCompatibilityGroups),
        (skips, Gate::DRAOptionalNodeOperations),
    ];
    let off = needs.into_iter().filter(|(needed, gate)| *needed && !gates.enabled(*gate));
    let mut violations: Vec<_> =
        off.map(|(_, gate)| Violation::DeviceFeatureOff { choice: pick.choice(), gate }).collect();
    let declared = &attempt.node.status.declared_features;
    if skips && !declared.iter().any(|feature| feature == Gate::DRAOptionalNodeOperations.spec().name) {
        let node = attempt.node.metadata.name.clone();
        violations.push(Violation::NodeLacksFeature { choice: pick.choice(), node });
    }
    violations
}
