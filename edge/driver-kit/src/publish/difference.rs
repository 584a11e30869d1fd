//! What is different between a slice as it is wanted and as the server has it.
//!
//! Invariant: nothing counts as different that the server added by itself: the time of a taint belongs to the server
//! unless the driver names one.

use std::collections::BTreeMap;

use objects::Time;
use objects::resource::slice::{Device, DeviceTaint, ResourceSlice, ResourceSliceSpec};

/// How a slice on the server differs from the wanted one, generations aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    None,
    /// Only taints differ. Each is a fact about one device, so nobody needs to see several of them change together.
    Taints,
    /// Anything else.
    Content,
}

/// When each taint of a pool was added.
pub(crate) struct Added(BTreeMap<(String, String, String, String), Time>);

impl Added {
    /// The times that the server has.
    pub(crate) fn of<'s>(slices: impl Iterator<Item = &'s ResourceSlice>) -> Self {
        let mut times = BTreeMap::new();
        for device in slices.flat_map(|slice| slice.spec.devices.iter().flatten()) {
            for taint in &device.taints {
                times.extend(taint.time_added.map(|time| (key(device, taint), time)));
            }
        }
        Self(times)
    }

    /// Gives taints that are not new the time that they have, and cuts other times as the server does.
    pub(crate) fn keep(&self, devices: &mut [Device]) {
        for device in devices {
            let mut taints = std::mem::take(&mut device.taints);
            for taint in &mut taints {
                taint.time_added = match taint.time_added {
                    Some(time) => Some(Time(time.0.to_seconds())),
                    None => self.0.get(&key(device, taint)).copied(),
                };
            }
            device.taints = taints;
        }
    }
}

fn key(device: &Device, taint: &DeviceTaint) -> (String, String, String, String) {
    (device.name.clone(), taint.key.clone(), taint.value.clone(), taint.effect.clone())
}

/// Compares what is wanted, with the times of its taints kept, to what is there.
pub(crate) fn between(wanted: &ResourceSliceSpec, there: &ResourceSliceSpec) -> Difference {
    let mut there = there.clone();
    there.pool.generation = wanted.pool.generation;
    if *wanted == there {
        return Difference::None;
    }
    let mut wanted = wanted.clone();
    for device in wanted.devices.iter_mut().chain(&mut there.devices).flatten() {
        device.taints.clear();
    }
    if wanted == there { Difference::Taints } else { Difference::Content }
}
