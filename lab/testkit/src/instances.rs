//! Small instances of allocation: a node, pools of devices, claims, and what others hold already.
//!
//! There are at most five devices in use, two claims and two requests in each, so that every assignment can be tried.
//! An instance has what allocation has rules for, and much of it at once. It is made of objects that admission would
//! let in, except that a pool may be left incomplete or contradict itself, as pools do while a driver updates them.
//! What others hold does not exceed what there is.

mod claims;
mod devices;
mod holders;
mod pools;

use gates::{Gate, Gates};
use objects::core::node::Node;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::resource::slice::ResourceSlice;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::choices::Choices;

/// The drivers of the pools, in order.
const DRIVERS: [&str; 2] = ["gpu.example.com", "nic.example.com"];

/// Bytes enough for every decision that an instance takes.
const BYTES: usize = 512;

/// Gates that an instance may have off; the others change nothing about allocation.
const SWITCHED: [Gate; 9] = [
    Gate::DRAAdminAccess,
    Gate::DRAConsumableCapacity,
    Gate::DRADerivedAttributes,
    Gate::DRADeviceBindingConditions,
    Gate::DRADeviceCompatibilityGroups,
    Gate::DRADeviceTaints,
    Gate::DRAListTypeAttributes,
    Gate::DRAPartitionableDevices,
    Gate::DRAPrioritizedList,
];

/// A question to an allocator.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The features that are on.
    pub gates: Gates,
    /// The node to allocate for.
    pub node: Node,
    /// All slices of the cluster.
    pub slices: Vec<ResourceSlice>,
    /// All classes.
    pub classes: Vec<DeviceClass>,
    /// The claims that want devices, together.
    pub claims: Vec<ResourceClaim>,
    /// Claims that have devices already.
    pub holders: Vec<ResourceClaim>,
}

impl Instance {
    /// The instance that the bytes make. Fewer bytes make a plainer instance.
    pub fn new(bytes: &[u8]) -> Self {
        let mut choices = Choices::new(bytes);
        let mut gates = Gates::all_on();
        if choices.one_in(5) {
            gates = gates.with(SWITCHED[choices.below(SWITCHED.len())], false);
        }
        let pools = pools::pools(&mut choices);
        let classes = [class(&mut choices, "any", ""), class(&mut choices, "gpu", DRIVERS[0])];
        let count = 1 + usize::from(choices.one_in(3));
        let claims: Vec<Value> = (0..count).map(|at| claims::claim(&mut choices, at)).collect();
        let holders = holders::holders(&mut choices, &pools);
        let mut node = json!({"metadata": {"name": "node-1", "labels": {"zone": "a"}}});
        if !choices.one_in(4) {
            node["status"] = json!({"declaredFeatures": ["DRAOptionalNodeOperations"]});
        }
        Self {
            gates,
            node: decode(node),
            slices: pools.into_iter().flat_map(|pool| pool.slices).map(decode).collect(),
            classes: classes.into_iter().map(decode).collect(),
            claims: claims.into_iter().map(decode).collect(),
            holders: holders.into_iter().map(decode).collect(),
        }
    }

    /// The instance of a number; the same on every machine.
    pub fn seeded(seed: u64) -> Self {
        // After Steele, Lea and Flood (splitmix64).
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (mixed ^ (mixed >> 31)).to_le_bytes()
        };
        let bytes: Vec<u8> = (0..BYTES / 8).flat_map(|_| next()).collect();
        Self::new(&bytes)
    }
}

fn class(choices: &mut Choices<'_>, name: &str, driver: &str) -> Value {
    let mut class = json!({"metadata": {"name": name}, "spec": {}});
    if !driver.is_empty() {
        let expression = format!("device.driver == \"{driver}\"");
        class["spec"]["selectors"] = json!([{"cel": {"expression": expression}}]);
    }
    if choices.one_in(3) {
        class["spec"]["config"] = json!([{"opaque": {"driver": DRIVERS[0], "parameters": {"from": name}}}]);
    }
    class
}

pub(crate) fn decode<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("an instance is made of objects")
}

#[cfg(test)]
mod tests {
    use super::Instance;

    #[test]
    fn without_bytes_there_is_one_plain_claim_for_one_device() {
        let instance = Instance::new(&[]);
        assert_eq!((instance.slices.len(), instance.claims.len(), instance.holders.len()), (1, 1, 0));
        let devices = instance.slices[0].spec.devices.as_deref().unwrap_or_default();
        assert!(devices.iter().all(|device| device.taints.is_empty() && device.capacity.is_empty()));
        let requests = &instance.claims[0].spec.devices.requests;
        assert!(
            requests.len() == 1 && requests[0].exactly.as_ref().is_some_and(|exactly| exactly.count == 1)
        );
    }

    #[test]
    fn an_instance_stays_small() {
        for seed in 0..500 {
            let instance = Instance::seeded(seed);
            let current = instance.slices.iter().filter(|slice| slice.spec.pool.generation == 2);
            let names = current.flat_map(|slice| {
                let devices = slice.spec.devices.as_deref().unwrap_or_default().iter();
                devices.map(|device| (slice.spec.driver.clone(), device.name.clone()))
            });
            let devices = names.collect::<std::collections::BTreeSet<_>>().len();
            assert!((1..=5).contains(&devices), "seed {seed} has {devices} devices");
            assert!(instance.claims.len() <= 2, "seed {seed}");
            let requests = instance.claims.iter().map(|claim| claim.spec.devices.requests.len());
            assert!(requests.max() <= Some(2), "seed {seed}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_instance_every_time() {
        let shown = |seed| format!("{:?}", Instance::seeded(seed));
        assert_eq!(shown(7), shown(7));
        assert_ne!(shown(7), shown(8));
    }
}
