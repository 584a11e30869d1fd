//! A tainted device goes only to requests that tolerate the taint.

use gates::Gate;
use objects::resource::claim::DeviceToleration;
use objects::resource::slice::DeviceTaint;

use crate::attempt::{Attempt, Pick};
use crate::violation::Violation;

/// Taints of the device that its request does not tolerate.
pub(crate) fn check(attempt: &Attempt<'_>, pick: &Pick<'_>) -> Vec<Violation> {
    if !attempt.evidence.gates.enabled(Gate::DRADeviceTaints) {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for taint in &pick.found.device.taints {
        let repels = taint.effect == "NoSchedule" || taint.effect == "NoExecute";
        if repels && !pick.wanted.tolerations.iter().any(|toleration| tolerates(toleration, taint)) {
            let taint = format!("{}={}:{}", taint.key, taint.value, taint.effect);
            violations.push(Violation::NotTolerated { choice: pick.choice(), taint });
        }
    }
    violations
}

fn tolerates(toleration: &DeviceToleration, taint: &DeviceTaint) -> bool {
    let effect = toleration.effect.is_empty() || toleration.effect == taint.effect;
    let key = toleration.key.is_empty() || toleration.key == taint.key;
    let value = match toleration.operator.as_str() {
        "Exists" => true,
        "Equal" | "" => toleration.value == taint.value,
        _ => false,
    };
    effect && key && value
}
