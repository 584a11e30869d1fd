//! Reasons to keep off devices, and leave to ignore them.

use model::claim::{Toleration, TolerationValue};
use model::device::{Slice, Taint, TaintEffect};
use objects::resource::claim::DeviceToleration;
use objects::resource::class::{DeviceTaintRule, DeviceTaintSelector};
use objects::resource::slice::DeviceTaint;

/// A taint. An effect that we do not know keeps nobody off.
#[must_use]
pub fn taint(object: &DeviceTaint) -> Taint {
    let effect = match object.effect.as_str() {
        "NoSchedule" => TaintEffect::NoSchedule,
        "NoExecute" => TaintEffect::NoExecute,
        other => TaintEffect::Told(other.into()),
    };
    Taint { key: object.key.as_str().into(), value: object.value.as_str().into(), effect }
}

/// A toleration. Without an operator, values must be equal.
#[must_use]
pub fn toleration(object: &DeviceToleration) -> Toleration {
    let value = match object.operator.as_str() {
        "Exists" => TolerationValue::Any,
        "" | "Equal" => TolerationValue::Equal(object.value.as_str().into()),
        other => TolerationValue::Unknown(other.into()),
    };
    Toleration {
        key: object.key.as_str().into(),
        value,
        effect: object.effect.as_str().into(),
        seconds: object.toleration_seconds,
    }
}

/// A toleration, as it is written.
#[must_use]
pub fn toleration_object(toleration: &Toleration) -> DeviceToleration {
    let (operator, value) = match &toleration.value {
        TolerationValue::Any => ("Exists", ""),
        TolerationValue::Equal(value) => ("Equal", &**value),
        TolerationValue::Unknown(operator) => (&**operator, ""),
    };
    DeviceToleration {
        effect: toleration.effect.to_string(),
        key: toleration.key.to_string(),
        operator: operator.to_owned(),
        toleration_seconds: toleration.seconds,
        value: value.to_owned(),
        ..Default::default()
    }
}

/// Puts the taints of rules on the devices of a slice that they are for, after those that it was published with.
pub fn taints(rules: &[DeviceTaintRule], slice: &mut Slice) {
    for rule in rules {
        // The API says of a rule without a selector that it is for no device. Upstream's scheduler puts it on every
        // device, and so do we: devices that it keeps back must not be handed out by us.
        let selector = rule.spec.device_selector.as_ref();
        if !selector.is_none_or(|selector| names_pool(selector, slice)) {
            continue;
        }
        let wanted = selector.and_then(|selector| selector.device.as_deref());
        let taint = taint(&rule.spec.taint);
        for device in &mut slice.devices {
            if wanted.is_none_or(|wanted| *wanted == *device.name) {
                device.taints.push(taint.clone());
            }
        }
    }
}

fn names_pool(selector: &DeviceTaintSelector, slice: &Slice) -> bool {
    let is = |wanted: &Option<String>, actual: &str| wanted.as_deref().is_none_or(|wanted| wanted == actual);
    is(&selector.driver, &slice.pool.driver) && is(&selector.pool, &slice.pool.pool)
}

#[cfg(test)]
mod tests {
    use model::device::{Device, PoolId, Reach};
    use serde_json::json;

    use super::*;

    #[test]
    fn tolerations_come_back_as_they_went() {
        for object in [
            json!({ "key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5 }),
            json!({ "key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule" }),
            json!({ "operator": "Exists" }),
            json!({ "key": "k", "operator": "Near" }),
        ] {
            let object: DeviceToleration = serde_json::from_value(object).expect("a toleration");
            assert_eq!(toleration_object(&toleration(&object)), object);
        }
        let bare = DeviceToleration { value: "v".to_owned(), ..Default::default() };
        assert_eq!(toleration(&bare).value, TolerationValue::Equal("v".into()));
    }

    #[test]
    fn effects_that_are_not_known_are_only_told() {
        let effect = |effect: &str| {
            taint(&DeviceTaint { key: "k".to_owned(), effect: effect.to_owned(), ..Default::default() })
                .effect
        };
        assert_eq!(effect("NoSchedule"), TaintEffect::NoSchedule);
        assert_eq!(effect("NoExecute"), TaintEffect::NoExecute);
        assert_eq!(effect("None"), TaintEffect::Told("None".into()));
    }

    /// Devices of driver d, pool p, with a taint after the rule.
    fn tainted(selector: &serde_json::Value) -> Vec<String> {
        let rule = json!({ "spec": { "deviceSelector": selector, "taint": { "key": "k", "effect": "NoSchedule" } } });
        let rule: DeviceTaintRule = serde_json::from_value(rule).expect("a rule");
        let device = |name: &str| Device { name: name.into(), ..Default::default() };
        let mut slice = Slice {
            name: "s".into(),
            pool: PoolId { driver: "d".into(), pool: "p".into() },
            generation: 1,
            slices_in_pool: 1,
            reach: Reach::Everywhere,
            devices: vec![device("a"), device("b")],
            counter_sets: Vec::new(),
            skip_node_operations: Vec::new(),
        };
        taints(&[rule], &mut slice);
        let tainted = slice.devices.iter().filter(|device| !device.taints.is_empty());
        tainted.map(|device| device.name.to_string()).collect()
    }

    #[test]
    fn a_rule_taints_the_devices_that_all_of_its_selector_names() {
        assert_eq!(tainted(&json!({ "driver": "d", "pool": "p", "device": "a" })), ["a"]);
        assert_eq!(tainted(&json!({ "device": "b" })), ["b"]);
        assert_eq!(tainted(&json!({ "driver": "d" })), ["a", "b"]);
        assert_eq!(tainted(&json!({ "driver": "other", "device": "a" })), Vec::<String>::new());
        assert_eq!(tainted(&json!({ "pool": "other" })), Vec::<String>::new());
        assert_eq!(tainted(&json!({})), ["a", "b"]);
    }

    #[test]
    fn a_rule_without_a_selector_taints_every_device() {
        assert_eq!(tainted(&json!(null)), ["a", "b"]);
    }
}
