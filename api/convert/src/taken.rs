//! What an allocated claim holds, for the ledger.

use cluster::ledger::{Holding, Ledger, ShareId};
use model::claim::Toleration;
use model::device::DeviceId;
use objects::resource::allocation::DeviceRequestAllocationResult;
use objects::resource::claim::ResourceClaim;
use objects::supercargo::noted_groups::NotedGroups;

use crate::claim::claim_id;
use crate::taint::toleration;
use crate::text::shared;

/// A device, or a share of it, that a claim holds.
#[derive(Clone, PartialEq, Debug)]
pub struct Taken {
    /// The device.
    pub device: DeviceId,
    /// Which share of it; the whole device if none.
    pub share: Option<ShareId>,
    /// What is held of it, and by whom.
    pub holding: Holding,
    /// Taints that its request bears.
    pub tolerations: Vec<Toleration>,
}

/// What a claim holds. Devices that it only looks after are not held.
pub fn taken(claim: &ResourceClaim) -> impl Iterator<Item = Taken> {
    let holder = claim_id(claim);
    let noted = NotedGroups::of(claim);
    let results = claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results);
    results.filter(|result| result.admin_access != Some(true)).map(move |result| {
        let share = share(result);
        let amounts = result.consumed_capacity.iter().filter(|_| share.is_some());
        let groups = noted.groups(result).iter();
        let holding = Holding {
            holder: holder.clone().into(),
            groups: groups.map(|(set, groups)| (set.as_str().into(), shared(groups))).collect(),
            consumed: amounts.map(|(name, amount)| (name.as_str().into(), amount.0.clone())).collect(),
        };
        let tolerations = result.tolerations.iter().map(toleration).collect();
        Taken { device: device(result), share, holding, tolerations }
    })
}

/// Takes what a claim holds.
pub fn take_into(ledger: &mut Ledger, claim: &ResourceClaim) {
    for Taken { device, share, holding, .. } in taken(claim) {
        ledger.take(&device, share, holding);
    }
}

/// Gives back what a claim held.
pub fn give_back_from(ledger: &mut Ledger, claim: &ResourceClaim) {
    for Taken { device, share, holding, .. } in taken(claim) {
        ledger.give_back(&device, share.as_ref(), &holding.holder);
    }
}

fn device(result: &DeviceRequestAllocationResult) -> DeviceId {
    DeviceId {
        driver: result.driver.as_str().into(),
        pool: result.pool.as_str().into(),
        device: result.device.as_str().into(),
    }
}

fn share(result: &DeviceRequestAllocationResult) -> Option<ShareId> {
    result.share_id.as_deref().map(|id| ShareId(id.into()))
}
