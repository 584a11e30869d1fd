//! What was found for a claim, as it is written into the claim's status.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::allocation::{Allocation, ConfigSource, Grant, GrantedConfig};
use objects::Quantity;
use objects::resource::allocation::{
    AllocationResult, DeviceAllocationConfiguration, DeviceAllocationResult, DeviceRequestAllocationResult,
};
use objects::resource::claim::{OpaqueDeviceConfiguration, ResourceClaim};
use objects::resource::class::DeviceClass;

use crate::error::{ConvertError, ObjectName};
use crate::node::node_selector_object;
use crate::taint::toleration_object;
use crate::text::owned;

/// An allocation, as it is written. Configuration is copied from the claim and from the classes that it was found in;
/// `share_id` makes a fresh id for each share of a device.
///
/// # Errors
/// Configuration is not where it was when the allocation was made.
pub fn allocation<'c>(
    allocation: &Allocation,
    claim: &ResourceClaim,
    class: &dyn Fn(&str) -> Option<&'c DeviceClass>,
    share_id: &mut dyn FnMut() -> String,
) -> Result<AllocationResult, ConvertError> {
    let configs = allocation.configs.iter().map(|granted| config(granted, claim, class));
    let config = configs.collect::<Result<_, _>>()?;
    let results = allocation.grants.iter().map(|grant| result(grant, share_id)).collect();
    Ok(AllocationResult {
        devices: DeviceAllocationResult { config, results, ..Default::default() },
        node_selector: allocation.nodes.as_ref().map(node_selector_object),
        ..Default::default()
    })
}

/// Whether devices that were found are those that were written, as far as a server keeps what is said of them: one that does not
/// know fields of ours drops them.
#[must_use]
pub fn is_kept(written: &DeviceAllocationResult, found: &DeviceAllocationResult) -> bool {
    let upstream = |devices: &DeviceAllocationResult| {
        let mut devices = devices.clone();
        for result in &mut devices.results {
            (result.compatibility_groups, result.binding_timeout) = (BTreeMap::new(), None);
        }
        devices
    };
    upstream(written) == upstream(found)
}

fn result(grant: &Grant, share_id: &mut dyn FnMut() -> String) -> DeviceRequestAllocationResult {
    let consumed = grant.share.iter().flatten();
    let groups = grant.groups.iter();
    DeviceRequestAllocationResult {
        admin_access: grant.admin_access.then_some(true),
        binding_conditions: owned(&grant.binding.conditions),
        binding_failure_conditions: owned(&grant.binding.failures),
        binding_timeout: grant.binding.timeout.as_ref().map(|timeout| timeout.to_string()),
        compatibility_groups: groups.map(|(set, groups)| (set.to_string(), owned(groups))).collect(),
        consumed_capacity: consumed
            .map(|(name, amount)| (name.to_string(), Quantity(amount.clone())))
            .collect(),
        device: grant.device.device.to_string(),
        driver: grant.device.driver.to_string(),
        pool: grant.device.pool.to_string(),
        request: grant.request.to_string(),
        share_id: grant.share.is_some().then(share_id),
        skip_node_operations: owned(&grant.skip_node_operations),
        tolerations: grant.tolerations.iter().map(toleration_object).collect(),
        ..Default::default()
    }
}

fn config<'c>(
    granted: &GrantedConfig,
    claim: &ResourceClaim,
    class: &dyn Fn(&str) -> Option<&'c DeviceClass>,
) -> Result<DeviceAllocationConfiguration, ConvertError> {
    let (source, opaque) = match &granted.source {
        ConfigSource::Class { class: name, index } => ("FromClass", from_class(name, *index, class)?),
        ConfigSource::Claim(index) => ("FromClaim", from_claim(claim, *index)?),
    };
    Ok(DeviceAllocationConfiguration {
        opaque,
        requests: owned(&granted.requests),
        source: source.to_owned(),
        ..Default::default()
    })
}

fn from_class<'c>(
    name: &Arc<str>,
    index: usize,
    class: &dyn Fn(&str) -> Option<&'c DeviceClass>,
) -> Result<Option<OpaqueDeviceConfiguration>, ConvertError> {
    let config = class(name).and_then(|class| class.spec.config.get(index));
    let gone = || ConvertError::Gone {
        object: ObjectName::named::<DeviceClass>(name),
        field: format!("spec.config[{index}]"),
    };
    config.map(|config| config.opaque.clone()).ok_or_else(gone)
}

fn from_claim(
    claim: &ResourceClaim,
    index: usize,
) -> Result<Option<OpaqueDeviceConfiguration>, ConvertError> {
    let config = claim.spec.devices.config.get(index);
    let gone = || ConvertError::Gone {
        object: ObjectName::of(claim),
        field: format!("spec.devices.config[{index}]"),
    };
    config.map(|config| config.opaque.clone()).ok_or_else(gone)
}
