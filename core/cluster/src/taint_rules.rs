//! Rules that put taints on devices, and the slices as these rules leave them.
//!
//! Invariant: a slice that rules touch is what was published with the taints of all rules for its devices after its own, in
//! the order of the rules' names. Whatever comes and goes in whatever order, nothing of a rule that is gone stays.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::device::{PoolId, Slice, Taint};

use crate::pools::Slices;
use crate::published::Published;

/// Puts a taint on devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaintRule {
    /// Its name.
    pub name: Arc<str>,
    /// Devices of this driver only.
    pub driver: Option<Arc<str>>,
    /// Devices of pools of this name only.
    pub pool: Option<Arc<str>>,
    /// Devices of this name only.
    pub device: Option<Arc<str>>,
    /// The taint.
    pub taint: Taint,
}

impl TaintRule {
    /// Whether it may be for devices of a pool.
    fn names(&self, pool: &PoolId) -> bool {
        self.driver.as_ref().is_none_or(|driver| *driver == pool.driver)
            && self.pool.as_ref().is_none_or(|name| *name == pool.pool)
    }

    fn names_device(&self, device: &Arc<str>) -> bool {
        self.device.as_ref().is_none_or(|wanted| wanted == device)
    }

    /// Whether it is for a device of a slice.
    #[must_use]
    pub fn touches(&self, slice: &Slice) -> bool {
        self.names(&slice.pool) && slice.devices.iter().any(|device| self.names_device(&device.name))
    }

    /// Puts its taint on the devices that it is for.
    pub fn put_on(&self, slice: &mut Slice) {
        if !self.names(&slice.pool) {
            return;
        }
        for device in &mut slice.devices {
            if self.names_device(&device.name) {
                device.taints.push(self.taint.clone());
            }
        }
    }
}

/// The rules that there are.
#[derive(Clone, Debug, Default)]
pub struct TaintRules {
    rules: BTreeMap<Arc<str>, TaintRule>,
    /// Slices that rules touch as they were published, by name.
    untouched: BTreeMap<Arc<str>, Arc<Published>>,
}

impl TaintRules {
    /// A slice as the rules leave it.
    #[must_use]
    pub fn publish(&mut self, published: Arc<Published>) -> Arc<Published> {
        let name = published.slice.name.clone();
        let touching: Vec<&TaintRule> =
            self.rules.values().filter(|rule| rule.touches(&published.slice)).collect();
        if touching.is_empty() {
            self.untouched.remove(&name);
            return published;
        }
        // No selector reads taints, so what was found out about the slice stays true: the revision is the same.
        let mut tainted = Published::clone(&published);
        touching.into_iter().for_each(|rule| rule.put_on(&mut tainted.slice));
        self.untouched.insert(name, published);
        Arc::new(tainted)
    }

    /// Forgets a slice that is gone.
    pub fn forget(&mut self, slice: &str) {
        self.untouched.remove(slice);
    }

    /// Adds or replaces a rule, and tells the slices that are otherwise now.
    pub fn apply(&mut self, rule: TaintRule, slices: &Slices) -> Vec<Arc<Published>> {
        let before = self.rules.insert(rule.name.clone(), rule.clone());
        if before.as_ref() == Some(&rule) {
            return Vec::new();
        }
        self.changed(&[before, Some(rule)], slices)
    }

    /// Takes a rule away, and tells the slices that are otherwise now.
    pub fn remove(&mut self, name: &str, slices: &Slices) -> Vec<Arc<Published>> {
        let before = self.rules.remove(name);
        self.changed(&[before], slices)
    }

    fn changed(&mut self, rules: &[Option<TaintRule>], slices: &Slices) -> Vec<Arc<Published>> {
        let touched =
            |published: &&Arc<Published>| rules.iter().flatten().any(|rule| rule.touches(&published.slice));
        let found: Vec<Arc<Published>> = slices.iter().filter(touched).cloned().collect();
        let publish = |published: Arc<Published>| {
            let original = self.untouched.get(&published.slice.name).cloned().unwrap_or(published);
            self.publish(original)
        };
        found.into_iter().map(publish).collect()
    }
}

#[cfg(test)]
mod tests {
    use model::device::{Device, Reach, TaintEffect};
    use selector::SliceRevision;

    use super::*;

    fn slice(name: &str, driver: &str, pool: &str, devices: &[&str]) -> Arc<Published> {
        let device = |name: &&str| Device { name: (*name).into(), ..Device::default() };
        let slice = Slice {
            name: name.into(),
            pool: PoolId { driver: driver.into(), pool: pool.into() },
            generation: 1,
            slices_in_pool: 1,
            reach: Reach::Everywhere,
            devices: devices.iter().map(device).collect(),
            counter_sets: Vec::new(),
            skip_node_operations: Vec::new(),
        };
        Arc::new(Published::new(slice, SliceRevision { slice: 1, revision: 1 }))
    }

    /// A rule by its name, and by driver, pool and device, each of which may be a dash for any.
    fn rule(name: &str, selector: [&str; 3]) -> TaintRule {
        let [driver, pool, device] = selector.map(|text| (text != "-").then(|| text.into()));
        let taint = Taint { key: name.into(), value: "".into(), effect: TaintEffect::NoSchedule };
        TaintRule { name: name.into(), driver, pool, device, taint }
    }

    /// The taints of each device, as `device:taint,taint`.
    fn told(slices: &[Arc<Published>]) -> Vec<String> {
        let devices = slices.iter().flat_map(|published| &published.slice.devices);
        let told = devices.map(|device| {
            let taints: Vec<&str> = device.taints.iter().map(|taint| &*taint.key).collect();
            format!("{}:{}", device.name, taints.join(","))
        });
        told.collect()
    }

    #[test]
    fn a_rule_taints_the_devices_that_all_of_its_selector_names() {
        let cases = [
            (["d", "p", "a"], "a:r b:"),
            (["-", "-", "b"], "a: b:r"),
            (["d", "-", "-"], "a:r b:r"),
            (["-", "-", "-"], "a:r b:r"),
            (["other", "-", "a"], ""),
            (["-", "other", "-"], ""),
            (["d", "p", "c"], ""),
        ];
        for (selector, expected) in cases {
            let slices = Slices::new([slice("s", "d", "p", &["a", "b"])]);
            let changed = TaintRules::default().apply(rule("r", selector), &slices);
            assert_eq!(told(&changed).join(" "), expected, "{selector:?}");
        }
    }

    #[test]
    fn slices_follow_rules_that_come_change_and_go() {
        let mut rules = TaintRules::default();
        let mut slices = Slices::new([slice("s", "d", "p", &["a"]), slice("t", "d", "q", &["a"])]);
        let step = |slices: &mut Slices, changed: Vec<Arc<Published>>| {
            let told = changed
                .iter()
                .map(|one| format!("{} {}", one.slice.name, told(std::slice::from_ref(one))[0]));
            let told: Vec<String> = told.collect();
            changed.into_iter().for_each(|published| slices.apply(published));
            told.join(", ")
        };
        let changed = rules.apply(rule("y", ["d", "-", "-"]), &slices);
        assert_eq!(step(&mut slices, changed), "s a:y, t a:y");
        let changed = rules.apply(rule("x", ["d", "p", "-"]), &slices);
        assert_eq!(step(&mut slices, changed), "s a:x,y");
        assert!(rules.apply(rule("x", ["d", "p", "-"]), &slices).is_empty(), "it is the same");
        let changed = rules.apply(rule("x", ["d", "q", "-"]), &slices);
        assert_eq!(step(&mut slices, changed), "s a:y, t a:x,y");
        let changed = vec![rules.publish(slice("u", "d", "q", &["a"]))];
        assert_eq!(step(&mut slices, changed), "u a:x,y", "a slice that comes later");
        let changed = rules.remove("y", &slices);
        assert_eq!(step(&mut slices, changed), "s a:, t a:x, u a:x");
        let changed = rules.remove("x", &slices);
        assert_eq!(step(&mut slices, changed), "t a:, u a:");
        assert!(rules.remove("x", &slices).is_empty() && rules.untouched.is_empty());
    }
}
