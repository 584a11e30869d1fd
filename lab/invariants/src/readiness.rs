//! A pod is put on a node only when all devices of its claims are ready that have to be made so.

use objects::core::pod::Pod;
use objects::resource::allocation::{AllocatedDeviceStatus, DeviceRequestAllocationResult};
use objects::resource::claim::ResourceClaim;

use crate::names::{ClaimName, DeviceName};
use crate::violation::Violation;

/// What is wrong with a pod that is put on a node in this moment, by the claims that it uses. What is reported of a device
/// later does not count: the pod is there then.
pub fn check_binding(pod: &Pod, claims: &[&ResourceClaim]) -> Vec<Violation> {
    claims.iter().flat_map(|claim| of_claim(pod, claim)).collect()
}

fn of_claim(pod: &Pod, claim: &ResourceClaim) -> Vec<Violation> {
    let mut violations = Vec::new();
    let results = claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results);
    for result in results {
        let holds = |condition: &&String| is_true(claim, result, condition);
        let (claim, device, pod) =
            (ClaimName::of(claim), DeviceName::in_result(result), pod.metadata.name.clone());
        if let Some(condition) = result.binding_conditions.iter().find(|condition| !holds(condition)) {
            let condition = condition.clone();
            violations.push(Violation::BoundUnready { pod, claim, device, condition });
        } else if let Some(condition) = result.binding_failure_conditions.iter().find(holds) {
            let condition = condition.clone();
            violations.push(Violation::BoundBroken { pod, claim, device, condition });
        }
    }
    violations
}

fn is_true(claim: &ResourceClaim, result: &DeviceRequestAllocationResult, condition: &str) -> bool {
    let is_about = |report: &&AllocatedDeviceStatus| {
        (&report.driver, &report.pool, &report.device, &report.share_id)
            == (&result.driver, &result.pool, &result.device, &result.share_id)
    };
    let reports = claim.status.devices.iter().filter(is_about);
    reports.flat_map(|report| &report.conditions).any(|one| one.type_ == condition && one.status == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn claim(conditions: &[(&str, &str)]) -> ResourceClaim {
        let condition = |(name, status): &(&str, &str)| json!({ "type": name, "status": status, "reason": "R", "message": "", "lastTransitionTime": null });
        let conditions: Vec<Value> = conditions.iter().map(condition).collect();
        let device = json!({ "driver": "d", "pool": "p", "device": "x", "conditions": conditions });
        let result = json!({
            "request": "r", "driver": "d", "pool": "p", "device": "x",
            "bindingConditions": ["Attached"], "bindingFailureConditions": ["Broken"],
        });
        let status = json!({ "allocation": { "devices": { "results": [result] } }, "devices": [device] });
        serde_json::from_value(json!({ "metadata": { "name": "c", "namespace": "n" }, "status": status }))
            .expect("a claim")
    }

    #[test]
    fn only_a_device_that_is_ready_and_not_broken_will_do() {
        let pod = Pod::default();
        let told = |conditions: &[(&str, &str)]| -> Vec<String> {
            check_binding(&pod, &[&claim(conditions)]).iter().map(ToString::to_string).collect()
        };
        assert!(told(&[("Attached", "True"), ("Broken", "False")]).is_empty());
        assert_eq!(told(&[("Attached", "Unknown")]).len(), 1);
        assert_eq!(told(&[]).len(), 1);
        assert_eq!(told(&[("Attached", "True"), ("Broken", "True")]).len(), 1);
    }
}
