//! Resource slices: pools, devices, counters.

use std::collections::BTreeMap;

use gates::Gate;
use objects::resource::slice::{
    CounterSet, Device, DeviceCounterConsumption, ResourceSlice, ResourceSliceSpec,
};
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context, Gated, strip};
use crate::kinds::capacity;
use crate::kinds::device_attribute;
use crate::kinds::device_names::{
    self, binding_conditions, binding_timeout, driver_name, pool_name, qualified_name, skip_node_operations,
};
use crate::kinds::device_taint;
use crate::kinds::node_allocatable;
use crate::names;
use crate::rejection::Rejection;
use crate::selectors::node_selector;

const DEVICES_MAX: usize = 128;
/// Slices whose devices have taints, counters or list attributes are larger, so fewer devices fit.
const DEVICES_MAX_WITH_EXTRAS: usize = 64;
const COUNTER_SETS_MAX: usize = 8;
const COUNTERS_MAX: usize = 32;
const CONSUMPTIONS_MAX: usize = 2;
const GROUPS_MAX: usize = 2;
const TAINTS_MAX: usize = 16;
const ATTRIBUTES_AND_CAPACITIES_MAX: usize = 32;
const ATTRIBUTE_VALUES_MAX: usize = 48;

impl Admit for ResourceSlice {
    const COUNTS_GENERATIONS: bool = true;

    fn set_defaults(&mut self, context: &Context<'_>) {
        for taint in self.devices_mut().flat_map(|device| device.taints.iter_mut()) {
            taint.time_added.get_or_insert(context.time());
        }
    }

    fn prepare_create(&mut self, context: &Context<'_>) {
        strip(GATED, self, None, context);
    }

    fn prepare_update(&mut self, old: &Self, context: &Context<'_>) {
        strip(GATED, self, Some(old), context);
    }

    fn validate(&self, context: &Context<'_>, causes: &mut Causes) {
        validate_spec(&self.spec, None, context, causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        validate_spec(&self.spec, Some(&old.spec), context, causes);
    }

    fn consent(&self, context: &Context<'_>) -> Result<(), Rejection> {
        node_allocatable::nodes_must_declare(&self.spec, context)
    }

    fn same_spec(&self, old: &Self) -> bool {
        self.spec == old.spec
    }

    fn warnings(&self) -> Vec<String> {
        let driver = &self.spec.driver;
        let upper = driver.chars().any(char::is_uppercase);
        upper.then(|| format!("spec.driver: {driver:?} should be lower case")).into_iter().collect()
    }
}

/// What belongs to features: who uses it, and how it is cleared.
const GATED: &[Gated<ResourceSlice>] = &[
    Gated {
        gates: &[Gate::DRADeviceTaints],
        in_use: |slice| slice.devices().any(|device| !device.taints.is_empty()),
        clear: |slice| slice.devices_mut().for_each(|device| device.taints.clear()),
    },
    Gated {
        gates: &[Gate::DRAPartitionableDevices],
        in_use: |slice| {
            slice.spec.shared_counters.as_ref().is_some_and(|sets| !sets.is_empty())
                || slice.spec.per_device_node_selection.is_some()
                || slice.devices().any(|device| {
                    !device.consumes_counters.is_empty()
                        || device.node_name.is_some()
                        || device.node_selector.is_some()
                        || device.all_nodes.is_some()
                })
        },
        clear: |slice| {
            slice.spec.shared_counters = None;
            slice.spec.per_device_node_selection = None;
            for device in slice.devices_mut() {
                device.consumes_counters.clear();
                device.node_name = None;
                device.node_selector = None;
                device.all_nodes = None;
            }
        },
    },
    Gated {
        gates: &[Gate::DRADeviceBindingConditions, Gate::DRAResourceClaimDeviceStatus],
        in_use: |slice| {
            slice.devices().any(|device| {
                device.binds_to_node.is_some()
                    || device.binding_timeout.is_some()
                    || !device.binding_conditions.is_empty()
                    || !device.binding_failure_conditions.is_empty()
            })
        },
        clear: |slice| {
            for device in slice.devices_mut() {
                device.binds_to_node = None;
                device.binding_timeout = None;
                device.binding_conditions.clear();
                device.binding_failure_conditions.clear();
            }
        },
    },
    Gated {
        gates: &[Gate::DRAConsumableCapacity],
        in_use: |slice| {
            slice.devices().any(|device| {
                device.allow_multiple_allocations.is_some()
                    || device.capacity.values().any(|capacity| capacity.request_policy.is_some())
            })
        },
        clear: |slice| {
            for device in slice.devices_mut() {
                device.allow_multiple_allocations = None;
                device.capacity.values_mut().for_each(|capacity| capacity.request_policy = None);
            }
        },
    },
    Gated {
        gates: &[Gate::DRADeviceCompatibilityGroups],
        in_use: |slice| slice.consumptions().any(|consumption| !consumption.compatibility_groups.is_empty()),
        clear: |slice| {
            for device in slice.devices_mut() {
                device.consumes_counters.iter_mut().for_each(|each| each.compatibility_groups.clear());
            }
        },
    },
    Gated {
        gates: &[Gate::DRANodeAllocatableResources],
        in_use: |slice| slice.devices().any(|device| !device.node_allocatable_resources.is_empty()),
        clear: |slice| slice.devices_mut().for_each(|device| device.node_allocatable_resources.clear()),
    },
    Gated {
        gates: &[Gate::DRAListTypeAttributes],
        in_use: |slice| slice.devices().any(device_attribute::has_lists),
        clear: |slice| slice.devices_mut().for_each(device_attribute::clear_lists),
    },
    Gated {
        gates: &[Gate::DRAPartitionableDevicesType],
        in_use: |slice| slice.spec.partition_type_attribute.is_some(),
        clear: |slice| slice.spec.partition_type_attribute = None,
    },
    Gated {
        gates: &[Gate::DRAOptionalNodeOperations],
        in_use: |slice| !slice.spec.skip_node_operations.is_empty(),
        clear: |slice| slice.spec.skip_node_operations.clear(),
    },
];

/// Shorthands for walking a slice.
trait Walk {
    fn devices(&self) -> impl Iterator<Item = &Device>;
    fn devices_mut(&mut self) -> impl Iterator<Item = &mut Device>;
    fn consumptions(&self) -> impl Iterator<Item = &DeviceCounterConsumption>;
}

impl Walk for ResourceSlice {
    fn devices(&self) -> impl Iterator<Item = &Device> {
        self.spec.devices.iter().flatten()
    }

    fn devices_mut(&mut self) -> impl Iterator<Item = &mut Device> {
        self.spec.devices.iter_mut().flatten()
    }

    fn consumptions(&self) -> impl Iterator<Item = &DeviceCounterConsumption> {
        self.devices().flat_map(|device| &device.consumes_counters)
    }
}

fn validate_spec(
    spec: &ResourceSliceSpec,
    old: Option<&ResourceSliceSpec>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let path = Path::ROOT.field("spec");
    driver_name(&spec.driver, &path.field("driver"), causes);
    let pool = path.field("pool");
    pool_name(&spec.pool.name, &pool.field("name"), causes);
    if spec.pool.resource_slice_count <= 0 {
        causes.invalid(&pool.field("resourceSliceCount"), "must be greater than zero");
    }
    if spec.pool.generation < 0 {
        causes.invalid(&pool.field("generation"), "must not be negative");
    }
    if let Some(old) = old {
        causes.immutable(&pool.field("name"), &spec.pool.name, &old.pool.name);
        causes.immutable(&path.field("driver"), &spec.driver, &old.driver);
        causes.immutable(&path.field("nodeName"), &spec.node_name, &old.node_name);
    }
    validate_node_selection(spec, &path, causes);
    if spec.shared_counters.is_some() && spec.devices.is_some() {
        causes.invalid(&path, "a slice has devices or shared counters, not both");
    }
    validate_devices(spec, old, &path, context, causes);
    let counters = spec.shared_counters.as_deref().unwrap_or_default();
    let sets = path.field("sharedCounters");
    causes.each_once(counters, COUNTER_SETS_MAX, &sets, |set| set.name.clone(), validate_counter_set);
    validate_partition_type(spec, &path, causes);
    skip_node_operations(&spec.skip_node_operations, &path.field("skipNodeOperations"), causes);
}

fn validate_devices(
    spec: &ResourceSliceSpec,
    old: Option<&ResourceSliceSpec>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let devices = spec.devices.as_deref().unwrap_or_default();
    let large = |device: &Device| {
        !device.taints.is_empty()
            || !device.consumes_counters.is_empty()
            || device_attribute::has_lists(device)
    };
    let most = if devices.iter().any(large) { DEVICES_MAX_WITH_EXTRAS } else { DEVICES_MAX };
    let before: BTreeMap<&str, &Device> = old
        .iter()
        .flat_map(|old| old.devices.iter().flatten())
        .rev()
        .map(|device| (device.name.as_str(), device))
        .collect();
    let per_device = spec.per_device_node_selection == Some(true);
    causes.each_once(
        devices,
        most,
        &path.field("devices"),
        |device| device.name.clone(),
        |causes, device, path| {
            validate_device(device, before.get(device.name.as_str()).copied(), path, context, causes);
            validate_device_selection(device, per_device, path, causes);
        },
    );
}

fn validate_node_selection(spec: &ResourceSliceSpec, path: &Path<'_>, causes: &mut Causes) {
    let mut set = 0;
    match spec.node_name.as_deref() {
        None => {}
        Some("") => causes.invalid(&path.field("nodeName"), "must be unset or the name of a node"),
        Some(name) => {
            set += 1;
            causes.malformed(&path.field("nodeName"), name, names::dns_subdomain(name));
        }
    }
    if let Some(selector) = &spec.node_selector {
        set += 1;
        let path = path.field("nodeSelector");
        node_selector(selector, &path, causes);
        if selector.node_selector_terms.len() != 1 {
            causes.invalid(
                &path.field("nodeSelectorTerms"),
                "must have exactly one term, so that selectors of several slices can be joined",
            );
        }
    }
    for (name, value) in
        [("allNodes", spec.all_nodes), ("perDeviceNodeSelection", spec.per_device_node_selection)]
    {
        match value {
            Some(true) => set += 1,
            Some(false) => causes.invalid(&path.field(name), "must be unset or true"),
            None => {}
        }
    }
    match set {
        0 => causes
            .required(path, "one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection must be set"),
        1 => {}
        _ => causes.invalid(
            path,
            "only one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection can be set",
        ),
    }
}

fn validate_device(
    device: &Device,
    old: Option<&Device>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    causes.malformed(&path.field("name"), &device.name, names::dns_label(&device.name));
    if device.attributes.len() + device.capacity.len() > ATTRIBUTES_AND_CAPACITIES_MAX {
        causes.invalid(
            path,
            format!("attributes and capacities together can be at most {ATTRIBUTES_AND_CAPACITIES_MAX}"),
        );
    }
    if device_attribute::count_values(device) > ATTRIBUTE_VALUES_MAX {
        causes.invalid(path, format!("attributes can have at most {ATTRIBUTE_VALUES_MAX} values together"));
    }
    let attributes = path.field("attributes");
    for (name, attribute) in &device.attributes {
        qualified_name(name, &attributes, causes);
        device_attribute::validate(attribute, &attributes.key(&device_names::shown_key(name)), causes);
    }
    if old.is_none_or(|old| old.capacity != device.capacity) {
        let shared = device.allow_multiple_allocations == Some(true);
        let capacities = path.field("capacity");
        for (name, capacity) in &device.capacity {
            qualified_name(name, &capacities, causes);
            let shown = device_names::shown_key(name);
            capacity::validate_policy(capacity, shared, &capacities.key(&shown), context, causes);
        }
    }
    if old.is_none_or(|old| old.taints != device.taints) {
        causes.each(&device.taints, TAINTS_MAX, &path.field("taints"), |causes, taint, path| {
            device_taint::validate(taint, None, path, causes);
        });
        if device.taints.len() > TAINTS_MAX {
            let list = path.field("taints");
            let taints = device.taints.iter().enumerate();
            taints.for_each(|(at, taint)| device_taint::validate_effect(taint, &list.index(at), causes));
        }
    }
    let consumptions = path.field("consumesCounters");
    causes.each_once(
        &device.consumes_counters,
        CONSUMPTIONS_MAX,
        &consumptions,
        |consumption| consumption.counter_set.clone(),
        validate_consumption,
    );
    binding_conditions(&device.binding_conditions, &device.binding_failure_conditions, path, causes);
    binding_timeout(device.binding_timeout.as_deref(), path, causes);
    for (name, resource) in &device.node_allocatable_resources {
        let resources = path.field("nodeAllocatableResources");
        node_allocatable::validate(name, resource, device, &resources.key(name), causes);
    }
}

fn validate_device_selection(device: &Device, per_device: bool, path: &Path<'_>, causes: &mut Causes) {
    if !per_device {
        if device.node_name.is_some() || device.node_selector.is_some() || device.all_nodes.is_some() {
            causes.invalid(
                path,
                "a device says where it can be reached only if the slice has perDeviceNodeSelection",
            );
        }
        return;
    }
    let mut set = 0;
    match device.node_name.as_deref() {
        None => {}
        Some("") => causes.invalid(&path.field("nodeName"), "must be unset or the name of a node"),
        Some(name) => {
            set += 1;
            causes.malformed(&path.field("nodeName"), name, names::dns_subdomain(name));
        }
    }
    if let Some(selector) = &device.node_selector {
        set += 1;
        node_selector(selector, &path.field("nodeSelector"), causes);
    }
    match device.all_nodes {
        Some(true) => set += 1,
        Some(false) => causes.invalid(&path.field("allNodes"), "must be unset or true"),
        None => {}
    }
    match set {
        0 => causes.required(path, "one of nodeName, nodeSelector and allNodes must be set, because the slice has perDeviceNodeSelection"),
        1 => {}
        _ => causes.invalid(path, "only one of nodeName, nodeSelector and allNodes can be set"),
    }
}

fn validate_counter_set(causes: &mut Causes, set: &CounterSet, path: &Path<'_>) {
    if set.name.is_empty() {
        causes.required(&path.field("name"), "must be set");
    } else {
        causes.malformed(&path.field("name"), &set.name, names::dns_label(&set.name));
    }
    validate_counters(set.counters.keys(), &path.field("counters"), causes);
}

fn validate_consumption(causes: &mut Causes, consumption: &DeviceCounterConsumption, path: &Path<'_>) {
    if consumption.counter_set.is_empty() {
        causes.required(&path.field("counterSet"), "must name a counter set of the pool");
    } else {
        causes.malformed(
            &path.field("counterSet"),
            &consumption.counter_set,
            names::dns_label(&consumption.counter_set),
        );
    }
    validate_counters(consumption.counters.keys(), &path.field("counters"), causes);
    let groups = path.field("compatibilityGroups");
    causes.each_once(
        &consumption.compatibility_groups,
        GROUPS_MAX,
        &groups,
        Clone::clone,
        |causes, group, path| {
            causes.malformed(path, group, names::dns_label(group));
        },
    );
}

fn validate_counters<'a>(
    counters: impl ExactSizeIterator<Item = &'a String>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    match counters.len() {
        0 => causes.required(path, "must have at least one counter"),
        have if have > COUNTERS_MAX => causes.too_many(path, have, COUNTERS_MAX),
        _ => {}
    }
    counters.for_each(|name| causes.malformed(path, name, names::dns_label(name)));
}

/// A slice that names a partition type needs devices that draw from counters, and each of them must say its type.
fn validate_partition_type(spec: &ResourceSliceSpec, path: &Path<'_>, causes: &mut Causes) {
    let Some(name) = spec.partition_type_attribute.as_deref() else { return };
    let type_path = path.field("partitionTypeAttribute");
    device_names::fully_qualified_name(name, &type_path, causes);
    let devices = spec.devices.as_deref().unwrap_or_default();
    if devices.iter().all(|device| device.consumes_counters.is_empty()) {
        causes.invalid(&type_path, "needs devices that draw from counters");
        return;
    }
    if !device_names::is_fully_qualified(name) {
        return;
    }
    let own = name.strip_prefix(&format!("{}/", spec.driver)).unwrap_or_default();
    let list = path.field("devices");
    for (index, device) in
        devices.iter().enumerate().filter(|(_, device)| !device.consumes_counters.is_empty())
    {
        let device_path = list.index(index);
        let attributes = device_path.field("attributes");
        let path = attributes.key(name);
        match device.attributes.get(name).or_else(|| device.attributes.get(own)) {
            None => causes
                .required(&path, "a device that draws from counters must have the partition type attribute"),
            Some(attribute) if attribute.string.is_none() => {
                causes.invalid(&path, "a partition type must be text")
            }
            Some(_) => {}
        }
    }
}
