//! What holds which device.
//!
//! Invariant: the ledger is a set of holdings. Taking adds one and giving back removes that one, so the two are exact
//! inverses in any order. Sums are kept as integers beside the holdings and never drift from them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use model::allocation::Grant;
use model::claim::ClaimId;
use model::device::{DeviceId, PoolId};
use model::identity::PodUid;
use model::pod::{Pod, PodId};
use model::quantity::{NANOS_MAX, Quantity};

use crate::shared_map::SharedMap;

/// Tells the shares of a device apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ShareId(pub Arc<str>);

/// What holds a device.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Holder {
    /// A claim.
    Claim(ClaimId),
    /// The claim that is to be made for what a pod asks for by name.
    Made(PodRef),
    /// A pod for which room is being made, with what it will have then.
    Nominee(PodRef),
    /// A claim, as if it had devices: while a place is looked for.
    Assumed(ClaimId),
    /// Nothing: the device failed for a pod before, and is kept from it while a place is looked for.
    FailedFor(PodRef),
}

/// A pod by name and uid.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PodRef {
    /// Its name.
    pub id: PodId,
    /// Its uid.
    pub uid: PodUid,
}

impl From<&Pod> for PodRef {
    fn from(pod: &Pod) -> PodRef {
        PodRef { id: pod.id.clone(), uid: pod.uid.clone() }
    }
}

impl Holder {
    /// The namespace of the claim or the pod.
    #[must_use]
    pub fn namespace(&self) -> &Arc<str> {
        match self {
            Holder::Claim(id) | Holder::Assumed(id) => &id.namespace,
            Holder::Made(pod) | Holder::Nominee(pod) | Holder::FailedFor(pod) => &pod.id.namespace,
        }
    }

    /// The claim, if it is one.
    #[must_use]
    pub fn claim(&self) -> Option<&ClaimId> {
        match self {
            Holder::Claim(id) => Some(id),
            Holder::Made(_) | Holder::Nominee(_) | Holder::Assumed(_) | Holder::FailedFor(_) => None,
        }
    }
}

impl From<ClaimId> for Holder {
    fn from(id: ClaimId) -> Holder {
        Holder::Claim(id)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Claim(id) | Holder::Assumed(id) => write!(out, "{id}"),
            Holder::Made(pod) => write!(out, "pod {}", pod.id),
            Holder::Nominee(pod) => write!(out, "nominated pod {}", pod.id),
            Holder::FailedFor(pod) => write!(out, "nothing, it failed for pod {}", pod.id),
        }
    }
}

/// One device, or one share of it, in the hands of a claim.
#[derive(Clone, PartialEq, Debug)]
pub struct Holding {
    /// What holds it.
    pub holder: Holder,
    /// The groups that the device declared when it was allocated, by counter set; empty if it declared none, or if they were
    /// not noted. Then those count that it declares now.
    pub groups: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// Of a share: how much of each capacity.
    pub consumed: BTreeMap<Arc<str>, Quantity>,
}

/// What is taken of one device.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Holdings {
    /// Claims that hold it alone. More than one is a mistake of another client, and is kept as found.
    dedicated: BTreeMap<Holder, Holding>,
    shares: BTreeMap<(ShareId, Holder), Holding>,
    /// The sum of what the shares consume, in billionths.
    consumed: BTreeMap<Arc<str>, i128>,
}

impl Holdings {
    /// Whether some claim holds the device alone.
    #[must_use]
    pub fn is_dedicated(&self) -> bool {
        !self.dedicated.is_empty()
    }

    /// Whether some claims share the device.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        !self.shares.is_empty()
    }

    /// How much of a capacity the shares consume together, in billionths.
    #[must_use]
    pub fn consumed(&self, capacity: &str) -> i128 {
        self.consumed.get(capacity).copied().unwrap_or(0)
    }

    /// All holdings, of the whole device first.
    pub fn iter(&self) -> impl Iterator<Item = &Holding> {
        self.dedicated.values().chain(self.shares.values())
    }

    /// Other claims that hold the device although that leaves nothing for this one, which holds it alone or as a share.
    pub fn rivals_of(&self, holder: &ClaimId, as_share: bool) -> impl Iterator<Item = &ClaimId> {
        let shares = self.shares.values().filter(move |_| !as_share);
        let others = self.dedicated.values().chain(shares).filter_map(|holding| holding.holder.claim());
        others.filter(move |other| *other != holder)
    }

    fn is_empty(&self) -> bool {
        self.dedicated.is_empty() && self.shares.is_empty()
    }

    fn count(&mut self, holding: &Holding, sign: i128) {
        for (name, amount) in &holding.consumed {
            // An amount beyond all bounds fills the device; no sum of others reaches it again.
            let nanos = amount.nanos().unwrap_or(NANOS_MAX);
            let sum = self.consumed.entry(name.clone()).or_default();
            *sum += sign * nanos;
            if *sum == 0 {
                self.consumed.remove(name);
            }
        }
    }
}

/// What holds which device.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ledger {
    devices: SharedMap<DeviceId, Holdings>,
    /// Devices of which some holding recorded groups, by pool.
    grouped: BTreeMap<PoolId, BTreeSet<Arc<str>>>,
}

impl Ledger {
    /// What is taken of a device.
    #[must_use]
    pub fn holdings(&self, device: &DeviceId) -> Option<&Holdings> {
        self.devices.get(device)
    }

    /// How many devices are taken, wholly or in part.
    #[must_use]
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    /// Whether nothing is taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// What is taken of devices of a pool that declared groups when they were allocated, whether or not they are still
    /// published.
    pub fn grouped(&self, pool: &PoolId) -> impl Iterator<Item = &Holdings> {
        let names = self.grouped.get(pool).into_iter().flatten();
        names.filter_map(|name| {
            let PoolId { driver, pool } = pool.clone();
            self.devices.get(&DeviceId { driver, pool, device: name.clone() })
        })
    }

    /// Takes a device for a claim, or one share of it. What was held under the same claim or share is given back.
    pub fn take(&mut self, device: &DeviceId, share: Option<ShareId>, holding: Holding) {
        self.give_back(device, share.as_ref(), &holding.holder);
        if !holding.groups.is_empty() {
            self.grouped.entry(device.pool_id()).or_default().insert(device.device.clone());
        }
        let holdings = self.devices.or_insert_with(device.clone(), Holdings::default);
        match share {
            None => {
                holdings.dedicated.insert(holding.holder.clone(), holding);
            }
            Some(share) => {
                holdings.count(&holding, 1);
                holdings.shares.insert((share, holding.holder.clone()), holding);
            }
        }
    }

    /// Gives back what a claim holds of a device, and says whether it held it.
    pub fn give_back(&mut self, device: &DeviceId, share: Option<&ShareId>, holder: &Holder) -> bool {
        let Some(holdings) = self.devices.get_mut(device) else { return false };
        let removed = match share {
            None => holdings.dedicated.remove(holder),
            Some(share) => holdings.shares.remove(&(share.clone(), holder.clone())),
        };
        if let (Some(holding), Some(_)) = (&removed, share) {
            holdings.count(holding, -1);
        }
        let grouped = holdings.iter().any(|holding| !holding.groups.is_empty());
        if holdings.is_empty() {
            self.devices.remove(device);
        }
        if !grouped && removed.as_ref().is_some_and(|holding| !holding.groups.is_empty()) {
            self.forget_groups(device);
        }
        removed.is_some()
    }

    fn forget_groups(&mut self, device: &DeviceId) {
        let pool = device.pool_id();
        if let Some(names) = self.grouped.get_mut(&pool) {
            names.remove(&device.device);
            if names.is_empty() {
                self.grouped.remove(&pool);
            }
        }
    }

    /// Takes what was granted to a claim; for looking after a device nothing is taken.
    pub fn take_grant(&mut self, holder: &ClaimId, grant: &Grant, share: Option<ShareId>) {
        if grant.admin_access {
            return;
        }
        let consumed = grant.share.clone().unwrap_or_default();
        let holding = Holding { holder: holder.clone().into(), groups: grant.groups.clone(), consumed };
        self.take(&grant.device, share, holding);
    }
}
