//! The objects that allocations are judged by, and what they say is taken already.

use std::collections::BTreeMap;

use gates::{Gate, Gates};
use objects::Quantity;
use objects::resource::allocation::AllocationResult;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::resource::slice::ResourceSlice;
use objects::supercargo::noted_groups::{Groups, NotedGroups};

use crate::names::{ClaimName, DeviceName};

/// The objects that allocations are judged by.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'o> {
    /// The features that are on.
    pub gates: Gates,
    /// All slices; taints by rule are on their devices already, see [`with_taint_rules`](crate::with_taint_rules).
    pub slices: &'o [ResourceSlice],
    /// All classes.
    pub classes: &'o [DeviceClass],
    /// All claims; those with an allocation hold their devices.
    pub claims: &'o [ResourceClaim],
    /// Where the compatibility groups of allocated devices are read.
    pub groups: GroupsFrom,
}

/// Where the compatibility groups of allocated devices are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupsFrom {
    /// From what every allocation must have noted of them, in its results or on its claim; from the slices where nobody did.
    Results,
    /// From the slices as they are now, because Kubernetes notes no groups in results.
    Slices,
}

/// An allocation that was made for a claim.
#[derive(Clone, Copy, Debug)]
pub struct Made<'o> {
    /// The claim; an allocation in its own status is not looked at.
    pub claim: &'o ResourceClaim,
    /// What was allocated.
    pub allocation: &'o AllocationResult,
}

/// A device that an allocation holds.
#[derive(Clone, Debug)]
pub(crate) struct Held<'o> {
    pub(crate) claim: ClaimName,
    pub(crate) device: DeviceName,
    /// The share, if the device is held as one of several shares.
    pub(crate) share: Option<&'o str>,
    pub(crate) consumed: &'o BTreeMap<String, Quantity>,
    /// The groups that were noted of it; empty if none were.
    pub(crate) groups: Groups,
}

impl<'o> Evidence<'o> {
    /// What allocations hold, except those of some claims. Admin access holds nothing.
    pub(crate) fn held(&self, except: &[ClaimName]) -> Vec<Held<'o>> {
        let mut held = Vec::new();
        for claim in self.claims {
            let name = ClaimName::of(claim);
            let Some(allocation) = &claim.status.allocation else { continue };
            if except.contains(&name) {
                continue;
            }
            let noted = NotedGroups::of(claim);
            for result in &allocation.devices.results {
                if result.admin_access == Some(true) {
                    continue;
                }
                // Without the feature a share is like any other allocation: the device is gone.
                let shares = self.gates.enabled(Gate::DRAConsumableCapacity);
                held.push(Held {
                    claim: name.clone(),
                    device: DeviceName::in_result(result),
                    share: result.share_id.as_deref().filter(|_| shares),
                    consumed: &result.consumed_capacity,
                    groups: noted.groups(result).clone(),
                });
            }
        }
        held
    }

    pub(crate) fn class(&self, name: &str) -> Option<&'o DeviceClass> {
        self.classes.iter().find(|class| class.metadata.name == name)
    }

    /// Binding conditions are reported in the status of devices, so they need both features.
    pub(crate) fn binding_conditions(&self) -> bool {
        self.gates.enabled(Gate::DRADeviceBindingConditions)
            && self.gates.enabled(Gate::DRAResourceClaimDeviceStatus)
    }
}
