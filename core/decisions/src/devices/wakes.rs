//! Which changes could help a pod whose claims have no devices.
//!
//! Invariant: drivers are named only if no device of another can be given to any of the claims, and only if that was all that was
//! wrong. If an error or a limit kept devices from being found, every slice and every claim may matter.

use model::identity::NodeName;
use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::facts::Facts;
use cluster::users::asks;

use crate::caches::Caches;
use crate::caches::scopes::Selector;
use crate::cycle::Cycle;
use crate::values::pod_claims::PodClaims;
use crate::values::reason::DeviceReason;
use crate::values::wake::{Object, Wake, Wakes};

/// What could help a gang whose claims have no devices, if no more is known.
pub(crate) const DEVICES: Wakes = Wakes::of(&[
    Wake::NodeAdded,
    Wake::NodeLabels,
    Wake::NodeAllocatable,
    Wake::Claim,
    Wake::Class,
    Wake::Slice,
    Wake::OwnClaims,
]);

/// What of nodes could help a gang whose claims have no devices.
pub(crate) const NODES: Wakes = Wakes::of(&[Wake::NodeAdded, Wake::NodeLabels, Wake::NodeAllocatable]);

/// What could help wherever it happens.
const ANYWHERE: Wakes = Wakes::of(&[Wake::Class, Wake::OwnClaims]);

/// What of the node could help.
const HERE: [Wake; 2] = [Wake::NodeLabels, Wake::NodeAllocatable];

/// What of the node could help besides where devices take room of it.
const ROOM: [Wake; 2] = [Wake::PodRemoved, Wake::PodShrunk];

/// Which devices and claims matter to a pod that has no devices on a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Breadth {
    /// Those of drivers that its claims ask for.
    OwnDrivers,
    /// All of them.
    All,
}

impl DeviceReason {
    /// Which devices and claims could undo it.
    pub(crate) fn breadth(&self) -> Breadth {
        match self {
            DeviceReason::ClaimElsewhere
            | DeviceReason::Insufficient
            | DeviceReason::InvalidPools
            | DeviceReason::ShortForDevices(_)
            | DeviceReason::NotSharedByCapacity { .. }
            | DeviceReason::RequestTooSmall { .. } => Breadth::OwnDrivers,
            DeviceReason::ExcludedByClass
            | DeviceReason::ExcludedByDriver
            | DeviceReason::LimitReached
            | DeviceReason::SliceSelector(_)
            | DeviceReason::Question(_) => Breadth::All,
        }
    }
}

/// Adds what of a node could help claims that have no devices there.
pub(crate) fn add_node(wakes: &mut Wakes, node: &NodeName, claims: &PodClaims) {
    let object = Object::Node(node.clone());
    HERE.into_iter().for_each(|kind| wakes.add(kind, &object));
    if claims.footing.is_some() {
        ROOM.into_iter().for_each(|kind| wakes.add(kind, &object));
        wakes.extend(&Wake::OwnRequests.into());
    }
}

impl Cycle<'_> {
    /// The changes to devices, claims and classes that could give these claims devices.
    pub(crate) fn device_wakes(&mut self, claims: &PodClaims, breadth: Breadth) -> Wakes {
        let drivers = self.drivers_for(claims).filter(|_| breadth == Breadth::OwnDrivers);
        let Some(drivers) = drivers else { return ANYWHERE.or(Wakes::of(&[Wake::Claim, Wake::Slice])) };
        let mut wakes = ANYWHERE;
        for driver in drivers {
            let driver = Object::Driver(driver);
            wakes.add(Wake::Claim, &driver);
            wakes.add(Wake::Slice, &driver);
        }
        for state in claims.settled.iter().chain(&claims.open) {
            wakes.add(Wake::Claim, &Object::Claim(state.wish.id.clone()));
        }
        wakes
    }

    /// The drivers whose devices these claims have or can get, if that is certain.
    fn drivers_for(&mut self, claims: &PodClaims) -> Option<BTreeSet<Arc<str>>> {
        if !claims.pending.is_empty() {
            return None;
        }
        let held = |state: &Arc<ClaimState>| state.allocation.clone();
        let held = claims.settled.iter().filter_map(held).flat_map(|allocated| allocated.held.clone());
        let mut drivers: BTreeSet<Arc<str>> = held.map(|held| held.device.driver).collect();
        let open = claims.open.iter().map(|state| &*state.wish).flat_map(asks);
        for ask in open {
            drivers.insert(self.driver_for(&ask.class, &ask.selectors)?);
        }
        let named = claims.named.iter().flat_map(|shape| self.facts.resources.classes_of(shape));
        for class in named.cloned().collect::<Vec<_>>() {
            drivers.insert(self.driver_for(&class, &[])?);
        }
        Some(drivers)
    }

    /// The only driver whose devices a class and selectors can pick, if one of them says so.
    fn driver_for(&mut self, class: &str, selectors: &[Selector]) -> Option<Arc<str>> {
        let (Facts { classes, .. }, Caches { expressions, .. }) = (&*self.facts, &mut *self.caches);
        let of_class = &classes.get(class)?.selectors;
        of_class.iter().chain(selectors).flatten().find_map(|selector| expressions.driver(selector))
    }
}
