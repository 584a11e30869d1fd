//! What may be said of a claim: its allocation, its users and the state of its devices.

use std::collections::BTreeSet;

use objects::resource::allocation::{
    AllocatedDeviceStatus, AllocationResult, DeviceAllocationConfiguration, DeviceRequestAllocationResult,
    NetworkDeviceData, ResourceClaimConsumerReference, ResourceHandle,
};
use objects::resource::claim::ResourceClaim;
use objects::supercargo::control;
use schema::Path;

use crate::addresses;
use crate::cause::{ANY_NUMBER, Causes};
use crate::conditions;
use crate::kinds::claim_spec::{RequestNames, json_object, validate_configuration};
use crate::kinds::device_names::{
    binding_conditions, binding_timeout, driver_name, pool_name, skip_node_operations,
};
use crate::kinds::device_taint::validate_toleration;
use crate::kinds::resource_claim::{DeviceKey, result_key, status_key};
use crate::names;
use crate::selectors::node_selector;

const CONSUMERS_MAX: usize = 256;
const RESULTS_MAX: usize = 32;
const CONFIGS_MAX: usize = 64;
const CONDITIONS_MAX: usize = 8;
const STATUS_BYTES_MAX: usize = 10 * 1024;
const INTERFACE_BYTES_MAX: usize = 256;
const HARDWARE_ADDRESS_BYTES_MAX: usize = 128;
const ADDRESSES_MAX: usize = 16;
const HANDLES_MAX: usize = 32;
/// What a control-plane controller may leave for a node's plugin.
const HANDLE_BYTES_MAX: usize = 16 * 1024;
const COUNTER_SETS_MAX: usize = 2;
const GROUPS_MAX: usize = 2;

/// The rules for a change of a claim's status.
pub(crate) fn validate(
    claim: &ResourceClaim,
    old: &ResourceClaim,
    names: &RequestNames<'_>,
    causes: &mut Causes,
) {
    let (status, before) = (&claim.status, &old.status);
    let path = Path::ROOT.field("status");
    let consumers = path.field("reservedFor");
    causes.each_once(
        &status.reserved_for,
        CONSUMERS_MAX,
        &consumers,
        |consumer| consumer.uid.clone(),
        validate_consumer,
    );
    let allocated: BTreeSet<DeviceKey<'_>> =
        status.allocation.iter().flat_map(|allocation| &allocation.devices.results).map(result_key).collect();
    let devices = path.field("devices");
    causes.each_once(
        &status.devices,
        ANY_NUMBER,
        &devices,
        |device| owned(status_key(device)),
        |causes, device, path| {
            validate_device(device, &allocated, path, causes);
        },
    );
    if !status.reserved_for.is_empty() {
        // A list that was stored is short.
        let added = || status.reserved_for.iter().any(|consumer| !before.reserved_for.contains(consumer));
        if status.allocation.is_none() {
            causes.forbidden(&consumers, "a claim that is not allocated cannot be reserved");
        } else if (claim.metadata.deletion_timestamp.is_some() || status.deallocation_requested) && added() {
            causes.forbidden(
                &consumers,
                "no user can be added to a claim that is being deleted or deallocated",
            );
        } else if status.reserved_for.len() > 1 && control::is_for_one(claim) && added() {
            causes.forbidden(&consumers, "the driver allocated the claim for one user");
        }
    }
    validate_deallocation(claim, old, &path, causes);
    match (&before.allocation, &status.allocation) {
        (Some(before), Some(now)) => causes.immutable(&path.field("allocation"), now, before),
        (None, Some(now)) => validate_allocation(now, names, &path.field("allocation"), causes),
        (_, None) => {}
    }
}

fn owned((driver, pool, device, share): DeviceKey<'_>) -> (String, String, String, Option<String>) {
    (driver.to_owned(), pool.to_owned(), device.to_owned(), share.map(str::to_owned))
}

/// A request for deallocation is taken back only by the driver, together with the allocation.
fn validate_deallocation(claim: &ResourceClaim, old: &ResourceClaim, path: &Path<'_>, causes: &mut Causes) {
    let path = path.field("deallocationRequested");
    let (status, before) = (&claim.status, &old.status);
    if status.deallocation_requested {
        if status.allocation.is_none() {
            causes.forbidden(&path, "a claim that is not allocated cannot be deallocated");
        } else if !status.reserved_for.is_empty() {
            causes.forbidden(&path, "a claim that is in use cannot be deallocated");
        }
    } else if before.deallocation_requested && status.allocation.is_some() {
        causes.forbidden(&path, "can be cleared only together with the allocation");
    }
}

fn validate_consumer(causes: &mut Causes, consumer: &ResourceClaimConsumerReference, path: &Path<'_>) {
    for (name, value) in [("resource", &consumer.resource), ("name", &consumer.name), ("uid", &consumer.uid)]
    {
        if value.is_empty() {
            causes.required(&path.field(name), "must be set");
        }
    }
}

fn validate_allocation(
    allocation: &AllocationResult,
    names: &RequestNames<'_>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    let devices = path.field("devices");
    causes.each(
        &allocation.devices.results,
        RESULTS_MAX,
        &devices.field("results"),
        |causes, result, path| {
            validate_result(result, names, path, causes);
        },
    );
    causes.each(&allocation.devices.config, CONFIGS_MAX, &devices.field("config"), |causes, config, path| {
        validate_config(config, names, path, causes);
    });
    if let Some(selector) = &allocation.node_selector {
        node_selector(selector, &path.field("nodeSelector"), causes);
    }
    let handles = path.field("resourceHandles");
    causes.each(
        &allocation.resource_handles,
        HANDLES_MAX,
        &handles,
        |causes, handle: &ResourceHandle, path| {
            driver_name(&handle.driver_name, &path.field("driverName"), causes);
            if handle.data.len() > HANDLE_BYTES_MAX {
                causes.too_long(&path.field("data"), HANDLE_BYTES_MAX);
            }
        },
    );
}

fn validate_result(
    result: &DeviceRequestAllocationResult,
    names: &RequestNames<'_>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    names.check(&result.request, &path.field("request"), causes);
    driver_name(&result.driver, &path.field("driver"), causes);
    pool_name(&result.pool, &path.field("pool"), causes);
    causes.malformed(&path.field("device"), &result.device, names::dns_label(&result.device));
    binding_conditions(&result.binding_conditions, &result.binding_failure_conditions, path, causes);
    binding_timeout(result.binding_timeout.as_deref(), path, causes);
    for (index, toleration) in result.tolerations.iter().enumerate() {
        validate_toleration(toleration, &path.field("tolerations").index(index), causes);
    }
    if result.share_id.as_deref().is_some_and(|share| !names::is_uuid(share)) {
        causes.invalid(&path.field("shareID"), "must be a UUID in lower case");
    }
    skip_node_operations(&result.skip_node_operations, &path.field("skipNodeOperations"), causes);
    validate_groups(result, &path.field("compatibilityGroups"), causes);
}

/// The groups that the device had on each of its counter sets when it was chosen.
fn validate_groups(result: &DeviceRequestAllocationResult, path: &Path<'_>, causes: &mut Causes) {
    if result.compatibility_groups.len() > COUNTER_SETS_MAX {
        causes.too_many(path, result.compatibility_groups.len(), COUNTER_SETS_MAX);
        return;
    }
    for (set, groups) in &result.compatibility_groups {
        causes.malformed(path, set, names::dns_label(set));
        causes.each_once(groups, GROUPS_MAX, &path.key(set), Clone::clone, |causes, group, path| {
            causes.malformed(path, group, names::dns_label(group));
        });
    }
}

fn validate_config(
    config: &DeviceAllocationConfiguration,
    names: &RequestNames<'_>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    match config.source.as_str() {
        "" => causes.required(&path.field("source"), "must be FromClaim or FromClass"),
        "FromClaim" | "FromClass" => {}
        other => causes.not_supported(&path.field("source"), other, &["FromClaim", "FromClass"]),
    }
    names.check_list(&config.requests, &path.field("requests"), causes);
    validate_configuration(config.opaque.as_ref(), true, path, causes);
}

fn validate_device(
    device: &AllocatedDeviceStatus,
    allocated: &BTreeSet<DeviceKey<'_>>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    driver_name(&device.driver, &path.field("driver"), causes);
    pool_name(&device.pool, &path.field("pool"), causes);
    causes.malformed(&path.field("device"), &device.device, names::dns_label(&device.device));
    if device.share_id.as_deref().is_some_and(|share| !names::is_uuid(share)) {
        causes.invalid(&path.field("shareID"), "must be a UUID in lower case");
    }
    if !allocated.contains(&status_key(device)) {
        causes.invalid(path, "must be one of the devices that are allocated to the claim");
    }
    let list = path.field("conditions");
    if device.conditions.len() > CONDITIONS_MAX {
        causes.too_many(&list, device.conditions.len(), CONDITIONS_MAX);
    }
    conditions::validate(&device.conditions, &list, causes);
    if device.data.is_some() {
        json_object(device.data.as_ref(), STATUS_BYTES_MAX, &path.field("data"), causes);
    }
    if let Some(network) = &device.network_data {
        validate_network(network, &path.field("networkData"), causes);
    }
}

fn validate_network(network: &NetworkDeviceData, path: &Path<'_>, causes: &mut Causes) {
    if network.interface_name.len() > INTERFACE_BYTES_MAX {
        causes.too_long(&path.field("interfaceName"), INTERFACE_BYTES_MAX);
    }
    if network.hardware_address.len() > HARDWARE_ADDRESS_BYTES_MAX {
        causes.too_long(&path.field("hardwareAddress"), HARDWARE_ADDRESS_BYTES_MAX);
    }
    causes.each_once(
        &network.ips,
        ADDRESSES_MAX,
        &path.field("ips"),
        Clone::clone,
        |causes, address, path| {
            if let Err(fault) = addresses::interface(address) {
                causes.invalid(path, format!("{address:?}: {fault}"));
            }
        },
    );
}
