//! The devices that a claim or a pod holds by an allocation, as the ledger counts them.

use std::sync::Arc;

use cluster::claims::{Allocated, Held};
use cluster::ledger::{Holder, Holding, ShareId};
use model::allocation::Allocation;
use model::device::DeviceId;

/// What is held by an allocation, and the ids of its shares in the order of grants. The ids follow from a uid that is the claim's
/// alone.
pub fn held(holder: &Holder, uid: &str, allocation: &Allocation) -> (Allocated, Vec<Arc<str>>) {
    let mut held = Vec::new();
    let mut shares = Vec::new();
    for grant in &allocation.grants {
        let share = grant.share.is_some().then(|| share_id(uid, &grant.device, shares.len()));
        shares.extend(share.clone());
        if grant.admin_access {
            continue;
        }
        let holding = Holding {
            holder: holder.clone(),
            groups: grant.groups.clone(),
            consumed: grant.share.clone().unwrap_or_default(),
        };
        let tolerations = grant.tolerations.clone();
        held.push(Held { device: grant.device.clone(), share: share.map(ShareId), holding, tolerations });
    }
    (Allocated { nodes: allocation.nodes.clone(), held }, shares)
}

/// The id of a share: a UUID that follows from the claim, the device and the place of the share in the claim, so that no
/// randomness is needed and a repetition is recognised.
fn share_id(claim: &str, device: &DeviceId, place: usize) -> Arc<str> {
    let mix = |seed: u64| {
        let text = format!("{claim}/{device}/{place}");
        // FNV-1a: the parts are unique by the claim's uid already, so nothing depends on how well it mixes.
        text.bytes().fold(seed, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    };
    let (high, low) = (mix(0xcbf2_9ce4_8422_2325), mix(0x8422_2325_cbf2_9ce4));
    // Version 8 is for ids that are made in a way of one's own.
    format!(
        "{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        (low >> 48) & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
    .into()
}
