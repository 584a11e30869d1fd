//! From an inventory to a pool of devices, as a driver of real ones would describe them.
//!
//! A GPU is one counter set with its memory and its seven compute slices. The whole GPU draws all of it, a MIG partition a
//! part, and the vGPU, which many claims can share, all of it again: so no memory is given twice. Partitions and vGPU are
//! in different compatibility groups, because a GPU is cut in one way at a time.

use std::collections::BTreeSet;

use driver_kit::api::{CapacityRequestPolicy, CapacityRequestPolicyRange, Device};
use driver_kit::{Describe, NotAQuantity, Pool, counter_set, quantity};

use crate::inventory::{Fpga, Gpu, Inventory, Nic, Profile};

/// The taint of a device that is not well.
const UNHEALTHY: &str = "example.com/unhealthy";

/// How many compute slices a GPU has.
const COMPUTE: u32 = 7;

/// The smallest part of a vGPU's memory that a claim can have.
const SHARE: &str = "1Gi";

/// The pool of a node, in which some devices are not well.
pub(crate) fn pool(
    node: &str,
    inventory: &Inventory,
    unhealthy: &BTreeSet<String>,
) -> Result<Pool, NotAQuantity> {
    let mut pool = Pool { name: node.to_owned(), ..Pool::default() };
    for gpu in &inventory.gpus {
        for at in 0..gpu.count {
            add_gpu(&mut pool, gpu, at)?;
        }
    }
    for nic in &inventory.nics {
        for at in 0..nic.count {
            pool.devices.push(interface(nic, at)?);
        }
    }
    for fpga in &inventory.fpgas {
        pool.devices.extend((0..fpga.count).map(|at| array(fpga, at)));
    }
    for device in pool.devices.iter_mut().filter(|device| unhealthy.contains(&device.name)) {
        *device = device.clone().taint(UNHEALTHY, "", "NoExecute");
    }
    Ok(pool)
}

fn add_gpu(pool: &mut Pool, gpu: &Gpu, at: usize) -> Result<(), NotAQuantity> {
    let name = format!("{}-{at}", gpu.name.value);
    let memory = &*gpu.memory.value;
    let compute = COMPUTE.to_string();
    let all = [("memory", memory), ("compute", &*compute)];
    pool.counter_sets.push(counter_set(&name, &all)?);
    let described = |device: Device, kind: &str| {
        device.attribute("kind", kind).attribute("model", &*gpu.model).attribute("gpu", &*name)
    };
    let whole = described(Device::named(&name), "gpu").capacity("memory", memory)?;
    pool.devices.push(whole.draws(&name, &all)?);
    for profile in &gpu.mig {
        let Some(Profile { compute, gib }) = Profile::parse(&profile.value) else { continue };
        let (compute_text, memory_text) = (compute.to_string(), format!("{gib}Gi"));
        let part = [("memory", &*memory_text), ("compute", &*compute_text)];
        let fits = |count: u32| {
            let taken = quantity(&format!("{}Gi", u64::from(gib) * u64::from(count)))?;
            Ok(count * compute <= COMPUTE && taken.0 <= quantity(memory)?.0)
        };
        for nth in 0..COMPUTE {
            if !fits(nth + 1)? {
                break;
            }
            let device = Device::named(format!("{name}-mig-{compute}g-{gib}gb-{nth}"));
            let device = described(device, "mig").attribute("profile", &*profile.value);
            let device = device.capacity("memory", &memory_text)?.draws(&name, &part)?;
            pool.devices.push(in_group(device, "mig"));
        }
    }
    if gpu.vgpu {
        let mut device = described(Device::named(format!("{name}-vgpu")), "vgpu");
        device = device.capacity("memory", memory)?.draws(&name, &all)?;
        device.allow_multiple_allocations = Some(true);
        let share = quantity(SHARE)?;
        let range = CapacityRequestPolicyRange {
            min: Some(share.clone()),
            step: Some(share.clone()),
            ..CapacityRequestPolicyRange::default()
        };
        let policy = CapacityRequestPolicy {
            default: Some(share),
            valid_range: Some(range),
            ..CapacityRequestPolicy::default()
        };
        for capacity in device.capacity.values_mut() {
            capacity.request_policy = Some(Box::new(policy.clone()));
        }
        pool.devices.push(in_group(device, "vgpu"));
    }
    Ok(())
}

fn in_group(mut device: Device, group: &str) -> Device {
    for draw in &mut device.consumes_counters {
        draw.compatibility_groups = vec![group.to_owned()];
    }
    device
}

fn interface(nic: &Nic, at: usize) -> Result<Device, NotAQuantity> {
    let device = Device::named(format!("{}-{at}", nic.name.value)).attribute("kind", "nic");
    device.capacity("bandwidth", &nic.bandwidth.value)
}

fn array(fpga: &Fpga, at: usize) -> Device {
    let device = Device::named(format!("{}-{at}", fpga.name.value));
    device.attribute("kind", "fpga").attribute("family", &*fpga.family)
}
