//! Resource claims and their templates.

use gates::Gate;
use std::collections::BTreeSet;

use objects::resource::allocation::{AllocatedDeviceStatus, DeviceRequestAllocationResult};
use objects::resource::claim::{DeviceRequest, ResourceClaim, ResourceClaimTemplate};
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context, Gated, strip};
use crate::kinds::claim_control;
use crate::kinds::claim_spec::{self, RequestNames};
use crate::kinds::claim_status;
use crate::metadata;

/// The label that lets a namespace's claims use devices that others have.
const ADMIN_LABEL: &str = "resource.kubernetes.io/admin-access";

impl Admit for ResourceClaim {
    fn set_defaults(&mut self, _context: &Context<'_>) {
        claim_spec::set_defaults(&mut self.spec);
    }

    fn prepare_create(&mut self, context: &Context<'_>) {
        self.status = Default::default();
        strip(claim_spec::GATED, &mut self.spec, None, context);
    }

    fn prepare_update(&mut self, old: &Self, context: &Context<'_>) {
        self.status.clone_from(&old.status);
        strip(claim_spec::GATED, &mut self.spec, Some(&old.spec), context);
    }

    fn prepare_status(&mut self, old: &Self, context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
        strip(STATUS_GATED, self, Some(old), context);
        drop_statuses_of_freed_devices(self, old);
    }

    fn validate(&self, context: &Context<'_>, causes: &mut Causes) {
        admin_requests(&self.spec.devices.requests, &self.metadata.namespace, context, causes);
        claim_spec::validate(&self.spec, &Path::ROOT.field("spec"), context, causes);
    }

    fn validate_update(&self, old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        causes.immutable(&Path::ROOT.field("spec"), &self.spec, &old.spec);
    }

    fn validate_status(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        admin_results(self, old, context, causes);
        let names = RequestNames::of(&self.spec.devices);
        claim_status::validate(self, old, &names, causes);
        if context.gates.enabled(Gate::DRAControlPlaneController) {
            claim_control::validate(self, old, context, causes);
        }
    }
}

impl Admit for ResourceClaimTemplate {
    fn set_defaults(&mut self, _context: &Context<'_>) {
        claim_spec::set_defaults(&mut self.spec.spec);
    }

    fn prepare_create(&mut self, context: &Context<'_>) {
        strip(claim_spec::GATED, &mut self.spec.spec, None, context);
    }

    fn prepare_update(&mut self, old: &Self, context: &Context<'_>) {
        strip(claim_spec::GATED, &mut self.spec.spec, Some(&old.spec.spec), context);
    }

    fn validate(&self, context: &Context<'_>, causes: &mut Causes) {
        admin_requests(&self.spec.spec.devices.requests, &self.metadata.namespace, context, causes);
        let path = Path::ROOT.field("spec");
        metadata::validate_template(&self.spec.metadata, &path.field("metadata"), causes);
        claim_spec::validate(&self.spec.spec, &path.field("spec"), context, causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        self.validate(context, causes);
        causes.immutable(&Path::ROOT.field("spec"), &self.spec, &old.spec);
    }
}

fn results(claim: &ResourceClaim) -> &[DeviceRequestAllocationResult] {
    claim.status.allocation.as_ref().map_or(&[], |allocation| &allocation.devices.results)
}

fn results_mut(claim: &mut ResourceClaim) -> impl Iterator<Item = &mut DeviceRequestAllocationResult> {
    claim.status.allocation.iter_mut().flat_map(|allocation| &mut allocation.devices.results)
}

const STATUS_GATED: &[Gated<ResourceClaim>] = &[
    Gated {
        gates: &[Gate::DRAResourceClaimDeviceStatus],
        in_use: |claim| !claim.status.devices.is_empty(),
        clear: |claim| claim.status.devices.clear(),
    },
    Gated {
        gates: &[Gate::DRAAdminAccess],
        in_use: |claim| {
            let requests = claim.spec.devices.requests.iter().filter_map(|request| request.exactly.as_ref());
            requests.into_iter().any(|exactly| exactly.admin_access.is_some())
                || results(claim).iter().any(|result| result.admin_access.is_some())
        },
        clear: |claim| results_mut(claim).for_each(|result| result.admin_access = None),
    },
    Gated {
        gates: &[Gate::DRAConsumableCapacity],
        in_use: |claim| {
            claim_spec::GATED.iter().any(|field| {
                field.gates.contains(&Gate::DRAConsumableCapacity) && (field.in_use)(&claim.spec)
            }) || results(claim)
                .iter()
                .any(|result| result.share_id.is_some() || !result.consumed_capacity.is_empty())
                || claim.status.devices.iter().any(|device| device.share_id.is_some())
        },
        clear: |claim| {
            for result in results_mut(claim) {
                result.share_id = None;
                result.consumed_capacity.clear();
            }
            claim.status.devices.iter_mut().for_each(|device| device.share_id = None);
        },
    },
    Gated {
        gates: &[Gate::DRADeviceBindingConditions],
        in_use: |claim| {
            results(claim).iter().any(|result| {
                result.binding_timeout.is_some()
                    || !result.binding_conditions.is_empty()
                    || !result.binding_failure_conditions.is_empty()
            })
        },
        clear: |claim| {
            for result in results_mut(claim) {
                result.binding_timeout = None;
                result.binding_conditions.clear();
                result.binding_failure_conditions.clear();
            }
        },
    },
    Gated {
        gates: &[Gate::DRAOptionalNodeOperations],
        in_use: |claim| results(claim).iter().any(|result| !result.skip_node_operations.is_empty()),
        clear: |claim| results_mut(claim).for_each(|result| result.skip_node_operations.clear()),
    },
    Gated {
        gates: &[Gate::DRADeviceCompatibilityGroups],
        in_use: |claim| results(claim).iter().any(|result| !result.compatibility_groups.is_empty()),
        clear: |claim| results_mut(claim).for_each(|result| result.compatibility_groups.clear()),
    },
    Gated {
        gates: &[Gate::DRAControlPlaneController],
        in_use: |claim| {
            let status = &claim.status;
            let handles = |allocation: &objects::resource::allocation::AllocationResult| {
                allocation.shareable || !allocation.resource_handles.is_empty()
            };
            !status.controller_name.is_empty()
                || status.deallocation_requested
                || status.allocation.as_ref().is_some_and(handles)
        },
        clear: |claim| {
            claim.status.controller_name.clear();
            claim.status.deallocation_requested = false;
            if let Some(allocation) = &mut claim.status.allocation {
                allocation.shareable = false;
                allocation.resource_handles.clear();
            }
        },
    },
];

/// The device and the share of it, which together make an allocation unique.
pub(crate) type DeviceKey<'a> = (&'a str, &'a str, &'a str, Option<&'a str>);

pub(crate) fn result_key(result: &DeviceRequestAllocationResult) -> DeviceKey<'_> {
    (&result.driver, &result.pool, &result.device, result.share_id.as_deref())
}

pub(crate) fn status_key(status: &AllocatedDeviceStatus) -> DeviceKey<'_> {
    (&status.driver, &status.pool, &status.device, status.share_id.as_deref())
}

/// A device that is no longer allocated has no status either.
fn drop_statuses_of_freed_devices(claim: &mut ResourceClaim, old: &ResourceClaim) {
    let before: BTreeSet<DeviceKey<'_>> = results(old).iter().map(result_key).collect();
    let now: BTreeSet<DeviceKey<'_>> = results(claim).iter().map(result_key).collect();
    let stays = |status: &AllocatedDeviceStatus| {
        let key = status_key(status);
        !before.contains(&key) || now.contains(&key)
    };
    let kept = claim.status.devices.iter().filter(|status| stays(status)).cloned().collect();
    claim.status.devices = kept;
}

fn may_have_admin_access(namespace: &str, context: &Context<'_>) -> bool {
    let labels = context.surroundings.namespace_labels(namespace).unwrap_or_default();
    labels.get(ADMIN_LABEL).is_some_and(|value| value == "true")
}

const ADMIN_MESSAGE: &str =
    "admin access needs the label resource.kubernetes.io/admin-access: \"true\" on the namespace";

fn admin_requests(requests: &[DeviceRequest], namespace: &str, context: &Context<'_>, causes: &mut Causes) {
    let wants = |request: &DeviceRequest| {
        request.exactly.as_ref().is_some_and(|exactly| exactly.admin_access == Some(true))
    };
    if let Some(index) = requests.iter().position(wants)
        && !may_have_admin_access(namespace, context)
    {
        let spec = Path::ROOT.field("spec");
        let devices = spec.field("devices");
        let list = devices.field("requests");
        causes.forbidden(&list.index(index).field("adminAccess"), ADMIN_MESSAGE);
    }
}

fn admin_results(claim: &ResourceClaim, old: &ResourceClaim, context: &Context<'_>, causes: &mut Causes) {
    let admin = |result: &DeviceRequestAllocationResult| result.admin_access == Some(true);
    if results(old).iter().any(admin) {
        return;
    }
    if let Some(index) = results(claim).iter().position(admin)
        && !may_have_admin_access(&claim.metadata.namespace, context)
    {
        let status = Path::ROOT.field("status");
        let allocation = status.field("allocation");
        let devices = allocation.field("devices");
        let list = devices.field("results");
        causes.forbidden(&list.index(index).field("adminAccess"), ADMIN_MESSAGE);
    }
}
