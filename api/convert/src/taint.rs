//! Reasons to keep off devices, and leave to ignore them.

use std::sync::Arc;

use cluster::taint_rules::TaintRule;
use model::claim::{Toleration, TolerationValue};
use model::device::{Taint, TaintEffect};
use objects::resource::claim::DeviceToleration;
use objects::resource::class::DeviceTaintRule;
use objects::resource::slice::DeviceTaint;

use crate::error::{ConvertError, named};

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

/// A rule that puts a taint on devices.
///
/// # Errors
/// It has no name.
pub fn taint_rule(object: &DeviceTaintRule) -> Result<TaintRule, ConvertError> {
    // The API says of a rule without a selector that it is for no device. Upstream's scheduler puts it on every device, and
    // so do we: devices that it keeps back must not be handed out by us.
    let selector = object.spec.device_selector.clone().unwrap_or_default();
    let text = |text: Option<String>| text.map(Arc::from);
    Ok(TaintRule {
        name: named(object, &object.metadata.name, || "metadata.name".to_owned())?,
        driver: text(selector.driver),
        pool: text(selector.pool),
        device: text(selector.device),
        taint: taint(&object.spec.taint),
    })
}

#[cfg(test)]
mod tests {
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

    /// What a rule with this selector is for: driver, pool and device.
    fn chosen(selector: &serde_json::Value) -> [Option<String>; 3] {
        let rule = json!({
            "metadata": { "name": "r" },
            "spec": { "deviceSelector": selector, "taint": { "key": "k", "effect": "NoSchedule" } },
        });
        let rule: DeviceTaintRule = serde_json::from_value(rule).expect("a rule");
        let rule = taint_rule(&rule).expect("it has a name");
        assert_eq!((&*rule.taint.key, rule.taint.effect), ("k", TaintEffect::NoSchedule));
        [rule.driver, rule.pool, rule.device].map(|text| text.map(|text| text.to_string()))
    }

    #[test]
    fn a_rule_is_for_what_its_selector_names_and_without_one_for_everything() {
        let names = |texts: [&str; 3]| texts.map(|text| (!text.is_empty()).then(|| text.to_owned()));
        assert_eq!(chosen(&json!({ "driver": "d", "pool": "p", "device": "a" })), names(["d", "p", "a"]));
        assert_eq!(chosen(&json!({ "device": "b" })), names(["", "", "b"]));
        assert_eq!(chosen(&json!({})), names(["", "", ""]));
        assert_eq!(chosen(&json!(null)), names(["", "", ""]));
    }
}
