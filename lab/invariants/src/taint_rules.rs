//! Taints that an admin puts on devices by rule, laid over the slices.

use objects::resource::class::{DeviceTaintRule, DeviceTaintSelector};
use objects::resource::slice::{Device, ResourceSlice};

/// The slices with the taint of every rule on every device that it selects, as [`Evidence`](crate::Evidence) wants them.
///
/// A rule without a selector is for all devices, as it is for Kubernetes' scheduler.
pub fn with_taint_rules(slices: &[ResourceSlice], rules: &[DeviceTaintRule]) -> Vec<ResourceSlice> {
    let mut slices = slices.to_vec();
    for slice in &mut slices {
        let (driver, pool) = (&slice.spec.driver, &slice.spec.pool.name);
        for device in slice.spec.devices.iter_mut().flatten() {
            let selects =
                |rule: &&DeviceTaintRule| is_selected(&rule.spec.device_selector, driver, pool, device);
            let taints: Vec<_> = rules.iter().filter(selects).map(|rule| rule.spec.taint.clone()).collect();
            device.taints.extend(taints);
        }
    }
    slices
}

fn is_selected(selector: &Option<DeviceTaintSelector>, driver: &str, pool: &str, device: &Device) -> bool {
    let Some(selector) = selector else { return true };
    let is = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
    is(&selector.driver, driver) && is(&selector.pool, pool) && is(&selector.device, &device.name)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The devices that a rule taints, of two drivers with a pool of two devices each.
    fn tainted(selector: &Value) -> Vec<String> {
        let slice = |driver: &str| json!({"spec": {"driver": driver, "pool": {"name": "p"}, "devices": [{"name": "d0"}, {"name": "d1"}]}});
        let slices: Vec<ResourceSlice> =
            serde_json::from_value(json!([slice("a"), slice("b")])).expect("slices");
        let taint = json!({"key": "old", "effect": "NoSchedule"});
        let rule = json!({"spec": {"deviceSelector": selector, "taint": taint}});
        let rules: Vec<DeviceTaintRule> = serde_json::from_value(json!([rule])).expect("a rule");
        let mut tainted = Vec::new();
        for slice in with_taint_rules(&slices, &rules) {
            let devices = slice.spec.devices.unwrap_or_default().into_iter();
            let with = devices.filter(|device| device.taints.iter().any(|taint| taint.key == "old"));
            tainted.extend(with.map(|device| format!("{}/{}", slice.spec.driver, device.name)));
        }
        tainted
    }

    #[test]
    fn a_rule_taints_the_devices_that_it_selects() {
        assert_eq!(tainted(&json!({"driver": "a"})), ["a/d0", "a/d1"]);
        assert_eq!(tainted(&json!({"pool": "p", "device": "d1"})), ["a/d1", "b/d1"]);
        assert_eq!(tainted(&json!({"pool": "q"})), Vec::<String>::new());
        assert_eq!(tainted(&json!(null)), ["a/d0", "a/d1", "b/d0", "b/d1"]);
    }
}
