//! Names that devices have in common.
//!
//! Devices of a driver mostly have the same names of attributes and capacities. When they share them, the names are held
//! once, and a selector that has found a name once knows where it is in all of them. Sharing changes nothing else.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::device::Device;
use crate::filed::Layout;

/// Names of devices that are known already.
#[derive(Clone, Debug, Default)]
pub struct Names {
    layouts: BTreeSet<Arc<Layout>>,
    drivers: BTreeSet<Arc<str>>,
    /// How many there were when unused ones were dropped last.
    kept: usize,
}

/// Below this, nothing is dropped.
const KEPT_MIN: usize = 64;

impl Names {
    /// Lets a device share its names with those that came before.
    pub fn share(&mut self, device: &mut Device) {
        match self.drivers.get(&device.driver) {
            Some(known) => device.driver = known.clone(),
            None => _ = self.drivers.insert(device.driver.clone()),
        }
        device.attributes.share(&mut self.layouts);
        device.capacity.share(&mut self.layouts);
        self.drop_unused();
    }

    /// Drops what no device uses any more, whenever the number of names has doubled.
    fn drop_unused(&mut self) {
        if self.layouts.len() + self.drivers.len() > 2 * self.kept.max(KEPT_MIN) {
            self.layouts.retain(|layout| Arc::strong_count(layout) > 1);
            self.drivers.retain(|driver| Arc::strong_count(driver) > 1);
            self.kept = self.layouts.len() + self.drivers.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AttributeValue;

    fn device(driver: &str, id: &str) -> Device {
        let mut device = Device::new(driver, false);
        device.attribute(id, &AttributeValue::Int(1)).expect("a valid attribute");
        device
    }

    #[test]
    fn a_device_that_shares_its_names_is_still_the_same() {
        let mut names = Names::default();
        let (mut first, mut second) = (device("a", "x"), device("a", "x"));
        names.share(&mut first);
        names.share(&mut second);
        assert_eq!(second, device("a", "x"));
        assert!(Arc::ptr_eq(&first.driver, &second.driver));
    }

    #[test]
    fn names_that_nobody_uses_are_dropped() {
        let mut names = Names::default();
        for number in 0..10_000 {
            names.share(&mut device(&format!("driver-{number}"), &format!("id-{number}")));
        }
        assert!(names.layouts.len() + names.drivers.len() <= 2 * KEPT_MIN + 4);
    }
}
