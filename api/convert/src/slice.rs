//! Resource slices: what drivers publish.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::device::{
    Allowed, Attribute, Binding, Capacity, CounterSet, Device, Draw, NodeShare, Part, PoolId, Reach,
    RequestPolicy, Slice,
};
use model::quantity::Quantity;
use objects::core::affinity::NodeSelector;
use objects::resource::slice::{
    CapacityRequestPolicy, Counter, DeviceAttribute, DeviceCapacity, DeviceCounterConsumption,
    NodeAllocatableResource, ResourceSlice,
};

use crate::dialect;
use crate::error::{ConvertError, named};
use crate::node::node_selector;
use crate::taint::taint;
use crate::text::shared;

/// What core knows of a slice.
///
/// # Errors
/// Something in the slice has no name.
pub fn slice(object: &ResourceSlice) -> Result<Slice, ConvertError> {
    let spec = &object.spec;
    let per_device = spec.per_device_node_selection == Some(true);
    let timeouts = dialect::binding_timeouts(object)?;
    let devices = spec.devices.iter().flatten().enumerate().map(|(at, one)| {
        let mut device = device(object, at, one)?;
        let timeout = &mut device.binding.timeout;
        *timeout = timeout.take().or_else(|| timeouts.get(&one.name).map(|text| text.as_str().into()));
        Ok(device)
    });
    let sets = spec.shared_counters.iter().flatten().enumerate().map(|(at, set)| {
        let name = named(object, &set.name, || format!("spec.sharedCounters[{at}].name"))?;
        Ok(CounterSet { name, counters: counters(&set.counters) })
    });
    Ok(Slice {
        name: named(object, &object.metadata.name, || "metadata.name".to_owned())?,
        pool: PoolId {
            driver: named(object, &spec.driver, || "spec.driver".to_owned())?,
            pool: named(object, &spec.pool.name, || "spec.pool.name".to_owned())?,
        },
        generation: spec.pool.generation,
        slices_in_pool: spec.pool.resource_slice_count,
        reach: reach(spec.node_name.as_deref(), spec.all_nodes, spec.node_selector.as_ref(), per_device),
        devices: devices.collect::<Result<_, _>>()?,
        counter_sets: sets.collect::<Result<_, _>>()?,
        skip_node_operations: shared(&spec.skip_node_operations),
    })
}

/// The first of the ways to say it that is used.
fn reach(
    node_name: Option<&str>,
    all_nodes: Option<bool>,
    selector: Option<&NodeSelector>,
    per_device: bool,
) -> Reach {
    match (node_name, all_nodes, selector) {
        (Some(name), _, _) if !name.is_empty() => Reach::Node(name.into()),
        (_, Some(true), _) => Reach::Everywhere,
        (_, _, Some(selector)) => Reach::Matching(node_selector(selector)),
        _ if per_device => Reach::PerDevice,
        _ => Reach::Unsaid,
    }
}

fn device(
    slice: &ResourceSlice,
    at: usize,
    object: &objects::resource::slice::Device,
) -> Result<Device, ConvertError> {
    let draws = object.consumes_counters.iter().enumerate().map(|(draw_at, draw)| {
        let DeviceCounterConsumption { counter_set, compatibility_groups, .. } = draw;
        let field = || format!("spec.devices[{at}].consumesCounters[{draw_at}].counterSet");
        Ok(Draw {
            counter_set: named(slice, counter_set, field)?,
            counters: counters(&draw.counters),
            groups: shared(compatibility_groups),
        })
    });
    Ok(Device {
        name: named(slice, &object.name, || format!("spec.devices[{at}].name"))?,
        attributes: by_name(&object.attributes, attribute),
        capacity: by_name(&object.capacity, capacity),
        draws: draws.collect::<Result<_, _>>()?,
        reach: reach(object.node_name.as_deref(), object.all_nodes, object.node_selector.as_ref(), false),
        taints: object.taints.iter().map(taint).collect(),
        binding: Binding {
            conditions: shared(&object.binding_conditions),
            failures: shared(&object.binding_failure_conditions),
            timeout: object.binding_timeout.as_deref().map(Arc::from),
        },
        binds_to_node: object.binds_to_node == Some(true),
        shareable: object.allow_multiple_allocations == Some(true),
        node_resources: by_name(&object.node_allocatable_resources, node_share),
    })
}

fn node_share(object: &NodeAllocatableResource) -> NodeShare {
    let amount = |amount: &Option<objects::Quantity>| amount.as_ref().map(|amount| amount.0.clone());
    let part = object.mapping.as_ref().and_then(|mapping| {
        let key = mapping.capacity_key.as_deref().filter(|key| !key.is_empty());
        match (key, amount(&mapping.device_multiplier)) {
            (Some(key), _) => {
                Some(Part::Capacity { key: key.into(), factor: amount(&mapping.capacity_multiplier) })
            }
            (None, Some(each)) => Some(Part::Device(each)),
            (None, None) => None,
        }
    });
    let overhead = object.overhead.as_ref();
    NodeShare {
        part,
        per_pod: overhead.and_then(|overhead| amount(&overhead.per_pod)),
        per_container: overhead.and_then(|overhead| amount(&overhead.per_container)),
    }
}

fn by_name<T, U>(objects: &BTreeMap<String, T>, convert: fn(&T) -> U) -> BTreeMap<Arc<str>, U> {
    objects.iter().map(|(name, object)| (name.as_str().into(), convert(object))).collect()
}

fn counters(objects: &BTreeMap<String, Counter>) -> BTreeMap<Arc<str>, Quantity> {
    by_name(objects, |counter| counter.value.0.clone())
}

/// The value of an attribute. Where several are set, which no API server lets through, selectors look at lists first.
fn attribute(object: &DeviceAttribute) -> Attribute {
    if let Some(values) = &object.ints {
        Attribute::Ints(values.clone())
    } else if let Some(values) = &object.bools {
        Attribute::Bools(values.clone())
    } else if let Some(values) = &object.strings {
        Attribute::Strings(shared(values))
    } else if let Some(values) = &object.versions {
        Attribute::Versions(shared(values))
    } else if let Some(value) = object.int {
        Attribute::Int(value)
    } else if let Some(value) = object.bool {
        Attribute::Bool(value)
    } else if let Some(text) = &object.string {
        Attribute::String(text.as_str().into())
    } else if let Some(text) = &object.version {
        Attribute::Version(text.as_str().into())
    } else {
        Attribute::Missing
    }
}

fn capacity(object: &DeviceCapacity) -> Capacity {
    Capacity {
        value: object.value.0.clone(),
        policy: object.request_policy.as_deref().map(|one| Box::new(policy(one))),
    }
}

fn policy(object: &CapacityRequestPolicy) -> RequestPolicy {
    let amount = |amount: &Option<objects::Quantity>| amount.as_ref().map(|amount| amount.0.clone());
    let allowed = match (&object.valid_range, &object.valid_values) {
        (Some(range), _) => {
            Allowed::Range { min: amount(&range.min), max: amount(&range.max), step: amount(&range.step) }
        }
        (None, Some(values)) if !values.is_empty() => {
            Allowed::Values(values.iter().map(|value| value.0.clone()).collect())
        }
        (None, _) => Allowed::Any,
    };
    RequestPolicy { default: amount(&object.default), allowed }
}
