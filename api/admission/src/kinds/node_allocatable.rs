//! Devices that stand for resources of their node, such as processors.

use gates::Gate;
use objects::Quantity;
use objects::core::node::Node;
use objects::resource::slice::{
    Device, NodeAllocatableMapping, NodeAllocatableOverhead, NodeAllocatableResource, ResourceSliceSpec,
};
use schema::Path;

use crate::cause::Causes;
use crate::kind::Context;
use crate::rejection::Rejection;

/// What a node declares when it can count such devices.
const FEATURE: &str = "DRANodeAllocatableResources";

/// One resource of a device.
pub(crate) fn validate(
    name: &str,
    resource: &NodeAllocatableResource,
    device: &Device,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    if !(matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")) {
        causes.invalid(path, "must be cpu, memory or hugepages of a size");
    }
    if resource.mapping.is_none() && resource.overhead.is_none() {
        causes.required(path, "mapping or overhead must be set");
    }
    if let Some(mapping) = &resource.mapping {
        validate_mapping(mapping, device, &path.field("mapping"), causes);
    }
    if let Some(overhead) = &resource.overhead {
        validate_overhead(overhead, &path.field("overhead"), causes);
    }
}

fn validate_mapping(mapping: &NodeAllocatableMapping, device: &Device, path: &Path<'_>, causes: &mut Causes) {
    match (&mapping.capacity_key, &mapping.device_multiplier) {
        (None, None) => causes.invalid(path, "capacityKey or deviceMultiplier must be set"),
        (Some(_), Some(_)) => causes.invalid(path, "only one of capacityKey and deviceMultiplier can be set"),
        _ => {}
    }
    if let Some(key) = &mapping.capacity_key {
        let path = path.field("capacityKey");
        if key.is_empty() {
            causes.invalid(&path, "must not be empty");
        } else if !device.capacity.contains_key(key) {
            causes.not_found(&path, key);
        }
    }
    let positive = |causes: &mut Causes, name: &str, value: &Option<Quantity>| {
        if value.as_ref().is_some_and(|value| value.0.signum() <= 0) {
            causes.invalid(&path.field(name), "must be greater than zero");
        }
    };
    match (&mapping.capacity_key, &mapping.capacity_multiplier) {
        (Some(_), None) => {
            causes.required(&path.field("capacityMultiplier"), "must be set together with capacityKey")
        }
        (None, Some(_)) => {
            causes.required(&path.field("capacityKey"), "must be set together with capacityMultiplier")
        }
        (Some(_), Some(_)) => positive(causes, "capacityMultiplier", &mapping.capacity_multiplier),
        (None, None) => {}
    }
    positive(causes, "deviceMultiplier", &mapping.device_multiplier);
}

fn validate_overhead(overhead: &NodeAllocatableOverhead, path: &Path<'_>, causes: &mut Causes) {
    if overhead.per_pod.is_none() && overhead.per_container.is_none() {
        causes.invalid(path, "perPod or perContainer must be set");
    }
    for (name, value) in [("perPod", &overhead.per_pod), ("perContainer", &overhead.per_container)] {
        if value.as_ref().is_some_and(|value| value.0.signum() < 0) {
            causes.invalid(&path.field(name), "must not be negative");
        }
    }
}

/// Every node from which such a device can be reached must be able to count it.
pub(crate) fn nodes_must_declare(spec: &ResourceSliceSpec, context: &Context<'_>) -> Result<(), Rejection> {
    if !context.has(Gate::DRANodeAllocatableResources) {
        return Ok(());
    }
    for device in spec.devices.iter().flatten().filter(|device| !device.node_allocatable_resources.is_empty())
    {
        let (name, selector, all) = if spec.per_device_node_selection == Some(true) {
            (&device.node_name, &device.node_selector, device.all_nodes)
        } else {
            (&spec.node_name, &spec.node_selector, spec.all_nodes)
        };
        let reached = |node: &Node| match (name.as_deref(), selector) {
            (Some(name), _) => node.metadata.name == name,
            (None, Some(selector)) => selector.picks(node),
            (None, None) => all == Some(true),
        };
        let nodes = context.surroundings.nodes(&reached);
        if let Some(name) = name
            && nodes.is_empty()
        {
            return Err(Rejection::Forbidden(format!(
                "device {:?} maps to resources of node {name:?}, which does not exist",
                device.name
            )));
        }
        let silent = |node: &&Node| !node.status.declared_features.iter().any(|feature| feature == FEATURE);
        if let Some(node) = nodes.iter().find(silent) {
            return Err(Rejection::Forbidden(format!(
                "device {:?} maps to resources of node {:?}, which does not declare {FEATURE}",
                device.name, node.metadata.name
            )));
        }
    }
    Ok(())
}
