//! Cuts a pool into parts that fit into one slice each.
//!
//! Invariant: no part exceeds what the API allows, and the parts one after the other are the pool in its order.
//!
//! A device stays in the part where it is as long as the number of parts stays the same, so that a change of one device
//! is a write of one slice. Once the number changes every slice has to be written, because each says how many there are;
//! then everything is packed anew.

use std::collections::BTreeMap;

use objects::resource::slice::{CounterSet, Device, DeviceAttribute};

use crate::publish::pool::Pool;

/// The most devices of a slice.
const DEVICES_MAX: usize = 128;

/// The most devices of a slice if one of them has taints, draws from counters, or has an attribute that is a list.
const DEVICES_MAX_WITH_EXTRAS: usize = 64;

/// The most counter sets of a slice.
const COUNTER_SETS_MAX: usize = 8;

/// What goes into one slice. Counters and devices never share one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Counters(Vec<CounterSet>),
    Devices(Vec<Device>),
}

/// How a pool is cut at present.
#[derive(Debug, Default)]
pub(crate) struct Present<'a> {
    /// How many slices there are.
    pub(crate) count: usize,
    /// In which slice a device is, by the position of the slice.
    pub(crate) homes: BTreeMap<&'a str, usize>,
}

/// Cuts a pool.
pub(crate) fn cut(pool: &Pool, present: &Present<'_>) -> Vec<Part> {
    let counters = pool.counter_sets.chunks(COUNTER_SETS_MAX).map(|sets| Part::Counters(sets.to_vec()));
    let counters: Vec<Part> = counters.collect();
    let mut devices = in_parts(&pool.devices, &present.homes);
    if counters.len() + devices.len() != present.count {
        devices = in_parts(&pool.devices, &BTreeMap::new());
    }
    counters.into_iter().chain(devices.into_iter().map(Part::Devices)).collect()
}

/// Fills one part after the other; a device whose home comes later than that of the part opens the next one.
fn in_parts(devices: &[Device], homes: &BTreeMap<&str, usize>) -> Vec<Vec<Device>> {
    let mut parts: Vec<Vec<Device>> = Vec::new();
    let mut home: Option<usize> = None;
    let mut has_extras = false;
    for device in devices {
        let own = homes.get(&*device.name).copied();
        let moves_on = matches!((home, own), (Some(home), Some(own)) if own > home);
        let extras = has_extras || needs_extra_room(device);
        let most = if extras { DEVICES_MAX_WITH_EXTRAS } else { DEVICES_MAX };
        match parts.last_mut() {
            Some(part) if !moves_on && part.len() < most => {
                part.push(device.clone());
                home = home.or(own);
                has_extras = extras;
            }
            _ => {
                parts.push(vec![device.clone()]);
                home = own;
                has_extras = needs_extra_room(device);
            }
        }
    }
    parts
}

fn needs_extra_room(device: &Device) -> bool {
    let is_list = |attribute: &DeviceAttribute| {
        attribute.bools.is_some()
            || attribute.ints.is_some()
            || attribute.strings.is_some()
            || attribute.versions.is_some()
    };
    !device.taints.is_empty()
        || !device.consumes_counters.is_empty()
        || device.attributes.values().any(is_list)
}

#[cfg(test)]
mod tests {
    use objects::resource::slice::{CounterSet, Device, DeviceTaint};

    use super::{Part, Present, cut};
    use crate::publish::pool::Pool;

    fn pool(devices: usize) -> Pool {
        let device = |at| Device { name: format!("d{at}"), ..Device::default() };
        Pool { name: "p".to_owned(), devices: (0..devices).map(device).collect(), ..Pool::default() }
    }

    fn sizes(parts: &[Part]) -> Vec<usize> {
        let size = |part: &Part| match part {
            Part::Counters(sets) => sets.len(),
            Part::Devices(devices) => devices.len(),
        };
        parts.iter().map(size).collect()
    }

    fn present(parts: &[Part]) -> Present<'_> {
        let mut present = Present { count: parts.len(), ..Present::default() };
        for (at, part) in parts.iter().enumerate() {
            if let Part::Devices(devices) = part {
                present.homes.extend(devices.iter().map(|device| (&*device.name, at)));
            }
        }
        present
    }

    #[test]
    fn slices_are_filled_up_to_the_limits_of_the_api() {
        assert!(cut(&pool(0), &Present::default()).is_empty());
        assert_eq!(sizes(&cut(&pool(300), &Present::default())), [128, 128, 44]);
        let mut tainted = pool(200);
        tainted.devices[130].taints = vec![DeviceTaint::default()];
        assert_eq!(sizes(&cut(&tainted, &Present::default())), [128, 64, 8]);
        let mut counted = pool(1);
        counted.counter_sets = vec![CounterSet::default(); 9];
        assert_eq!(sizes(&cut(&counted, &Present::default())), [8, 1, 1]);
    }

    #[test]
    fn a_device_that_comes_or_goes_moves_no_other() {
        let mut wanted = pool(300);
        let before = cut(&wanted, &Present::default());
        wanted.devices.remove(5);
        assert_eq!(sizes(&cut(&wanted, &present(&before))), [127, 128, 44]);
        let new = Device { name: "new".to_owned(), ..Device::default() };
        wanted.devices.push(new.clone());
        assert_eq!(sizes(&cut(&wanted, &present(&before))), [127, 128, 45]);
        wanted.devices.insert(0, new);
        assert_eq!(sizes(&cut(&wanted, &present(&before))), [128, 128, 45]);
    }

    #[test]
    fn when_the_number_of_slices_changes_everything_is_packed_anew() {
        let mut wanted = pool(300);
        let before = cut(&wanted, &Present::default());
        wanted.devices.drain(0..128);
        assert_eq!(sizes(&cut(&wanted, &present(&before))), [128, 44]);
        let mut wanted = pool(256);
        let before = cut(&wanted, &Present::default());
        wanted.devices[0].taints = vec![DeviceTaint::default()];
        assert_eq!(sizes(&cut(&wanted, &present(&before))), [64, 128, 64]);
    }
}
