//! Resource slices: the devices that drivers offer.

use std::collections::BTreeMap;

use crate::core::affinity::NodeSelector;
use crate::meta::ObjectMeta;
use crate::value::{Quantity, Time};
use crate::wire::wire;

wire! {
    /// A part of a pool of devices.
    pub object ResourceSlice of "resource.k8s.io/v1" {
        metadata: ObjectMeta = "metadata",
        spec: ResourceSliceSpec = "spec",
    }
}

wire! {
    /// The pool, where it can be reached, and its devices or counters.
    pub struct ResourceSliceSpec {
        all_nodes: Option<bool> = "allNodes",
        devices: Option<Vec<Device>> = "devices",
        driver: String = "driver",
        node_name: Option<String> = "nodeName",
        node_selector: Option<NodeSelector> = "nodeSelector",
        partition_type_attribute: Option<String> = "partitionTypeAttribute",
        per_device_node_selection: Option<bool> = "perDeviceNodeSelection",
        pool: ResourcePool = "pool",
        shared_counters: Option<Vec<CounterSet>> = "sharedCounters",
        skip_node_operations: Vec<String> = "skipNodeOperations",
    }
}

wire! {
    /// The pool that the slice is part of.
    pub struct ResourcePool {
        generation: i64 = "generation",
        name: String = "name",
        resource_slice_count: i64 = "resourceSliceCount",
    }
}

wire! {
    /// Amounts that several devices draw from.
    pub struct CounterSet {
        counters: BTreeMap<String, Counter> = "counters",
        name: String = "name",
    }
}

wire! {
    /// One amount.
    pub struct Counter {
        value: Quantity = "value",
    }
}

wire! {
    /// A device that a driver offers.
    pub struct Device {
        all_nodes: Option<bool> = "allNodes",
        allow_multiple_allocations: Option<bool> = "allowMultipleAllocations",
        attributes: BTreeMap<String, DeviceAttribute> = "attributes",
        binding_conditions: Vec<String> = "bindingConditions",
        binding_failure_conditions: Vec<String> = "bindingFailureConditions",
        binding_timeout: Option<String> = "bindingTimeout",
        binds_to_node: Option<bool> = "bindsToNode",
        capacity: BTreeMap<String, DeviceCapacity> = "capacity",
        consumes_counters: Vec<DeviceCounterConsumption> = "consumesCounters",
        name: String = "name",
        node_allocatable_resources: BTreeMap<String, NodeAllocatableResource> = "nodeAllocatableResources",
        node_name: Option<String> = "nodeName",
        node_selector: Option<NodeSelector> = "nodeSelector",
        taints: Vec<DeviceTaint> = "taints",
    }
}

wire! {
    /// A property of a device: exactly one value is set.
    pub struct DeviceAttribute {
        bool: Option<bool> = "bool",
        bools: Option<Vec<bool>> = "bools",
        int: Option<i64> = "int",
        ints: Option<Vec<i64>> = "ints",
        string: Option<String> = "string",
        strings: Option<Vec<String>> = "strings",
        version: Option<String> = "version",
        versions: Option<Vec<String>> = "versions",
    }
}

wire! {
    /// An amount that a device has, and how it may be asked for.
    pub struct DeviceCapacity {
        request_policy: Option<Box<CapacityRequestPolicy>> = "requestPolicy",
        value: Quantity = "value",
    }
}

wire! {
    /// Which parts of a capacity may be asked for.
    pub struct CapacityRequestPolicy {
        default: Option<Quantity> = "default",
        valid_range: Option<CapacityRequestPolicyRange> = "validRange",
        valid_values: Option<Vec<Quantity>> = "validValues",
    }
}

wire! {
    /// A range of amounts, with a step.
    pub struct CapacityRequestPolicyRange {
        max: Option<Quantity> = "max",
        min: Option<Quantity> = "min",
        step: Option<Quantity> = "step",
    }
}

wire! {
    /// What a device draws from a counter set.
    pub struct DeviceCounterConsumption {
        compatibility_groups: Vec<String> = "compatibilityGroups",
        counter_set: String = "counterSet",
        counters: BTreeMap<String, Counter> = "counters",
    }
}

wire! {
    /// Node resources that a device stands for.
    pub struct NodeAllocatableResource {
        mapping: Option<NodeAllocatableMapping> = "mapping",
        overhead: Option<NodeAllocatableOverhead> = "overhead",
    }
}

wire! {
    /// How much of the resource a device is.
    pub struct NodeAllocatableMapping {
        capacity_key: Option<String> = "capacityKey",
        capacity_multiplier: Option<Quantity> = "capacityMultiplier",
        device_multiplier: Option<Quantity> = "deviceMultiplier",
    }
}

wire! {
    /// How much of the resource using the device costs.
    pub struct NodeAllocatableOverhead {
        per_container: Option<Quantity> = "perContainer",
        per_pod: Option<Quantity> = "perPod",
    }
}

wire! {
    /// A reason to keep claims off a device.
    pub struct DeviceTaint {
        effect: String = "effect",
        key: String = "key",
        time_added: Option<Time> = "timeAdded",
        value: String = "value",
    }
}
