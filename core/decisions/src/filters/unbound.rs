//! Claims that get a volume once it is known where their pod goes: a volume that is there, or one that is provisioned.
//!
//! Invariant: what is found for a pod on a node takes no volume twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::volumes::{VolumeChoice, VolumePlan, Volumes};
use model::identity::NodeName;
use model::node::Node;
use model::quantity::Quantity;
use model::volume::{StorageCapacity, StorageClass, Volume, VolumeClaim};

use crate::filters::reach::reaches_volume;
use crate::values::node_refusal::VolumeLack;

/// The claims of a pod that have no volume yet, in the order in which volumes are looked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnboundClaims {
    /// Those for which a volume is to be provisioned for a node, and then the smallest first.
    claims: Vec<Unbound>,
}

/// A claim that has no volume yet.
#[derive(Clone, Debug)]
pub(crate) struct Unbound {
    pub(crate) claim: Arc<VolumeClaim>,
    class: Arc<StorageClass>,
    /// The node for which a volume is to be provisioned.
    pub(crate) node: Option<NodeName>,
    /// A volume that is for this claim already.
    pub(crate) own: Option<Arc<Volume>>,
    /// Volumes that it could take, the smallest first.
    pub(crate) free: Arc<[Arc<Volume>]>,
    /// It is about to take a volume for another pod, and gets no other.
    pub(crate) is_taking: bool,
}

/// What claims get on a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct VolumesFound {
    pub(crate) found: Vec<(Arc<VolumeClaim>, VolumeFound)>,
}

/// What a claim gets on a node.
#[derive(Clone, Debug)]
pub(crate) enum VolumeFound {
    /// This volume.
    There(Arc<Volume>),
    /// One that is provisioned, from this storage if that is counted.
    Provisioned(Option<Arc<StorageCapacity>>),
}

impl Unbound {
    /// Looks up the volumes that a claim could take.
    pub(crate) fn new(claim: &Arc<VolumeClaim>, class: &Arc<StorageClass>, volumes: &Volumes) -> Unbound {
        let suits = |volume: &&Arc<Volume>| volume.suits(&claim.wish);
        let is_its = |volume: &&Arc<Volume>| {
            let is_planned =
                matches!(volumes.planned(&claim.id), Some(VolumeChoice::Take(name)) if *name == volume.name);
            (is_planned || volume.is_for(claim)) && volume.class == class.name
        };
        let own = volumes.owned_by(claim).find(|volume| is_its(volume) && suits(volume)).cloned();
        let is_free = |volume: &&Arc<Volume>| suits(volume) && volume.is_free_for(&claim.wish);
        let mut free: Vec<Arc<Volume>> = volumes.free(&class.name).filter(is_free).cloned().collect();
        free.sort_by(|one, other| (&one.capacity, &one.name).cmp(&(&other.capacity, &other.name)));
        let node = volumes.selected_node(claim).cloned();
        let is_taking = matches!(volumes.planned(&claim.id), Some(VolumeChoice::Take(_)));
        Unbound { claim: claim.clone(), class: class.clone(), node, own, free: free.into(), is_taking }
    }

    /// The volume that it takes on a node, but for some.
    fn volume_on(&self, node: &Node, but_for: &[Arc<str>]) -> Option<&Arc<Volume>> {
        let reaches = |volume: &&Arc<Volume>| reaches_volume(node, volume);
        match &self.own {
            Some(own) => Some(own).filter(reaches),
            None => self.free.iter().filter(|volume| !but_for.contains(&volume.name)).find(reaches),
        }
    }

    /// Whether it may take a volume that is there, or storage that is counted.
    pub(crate) fn may_take_or_count(&self, volumes: &Volumes) -> bool {
        self.own.is_some()
            || !self.free.is_empty()
            || volumes.driver(&self.class.provisioner).is_some_and(|driver| driver.tells_capacity)
    }

    /// Whether a volume can be provisioned for a node, and from which storage if that is counted.
    pub(crate) fn provision(
        &self,
        node: &Node,
        volumes: &Volumes,
    ) -> Result<Option<Arc<StorageCapacity>>, VolumeLack> {
        let claim = self.claim.id.name.clone();
        if !self.class.provisions() || !self.class.reaches(&node.labels) {
            return Err(VolumeLack::NoMatch { claim });
        }
        let Some(size) = &self.claim.wish.size else { return Ok(None) };
        if !volumes.driver(&self.class.provisioner).is_some_and(|driver| driver.tells_capacity) {
            return Ok(None);
        }
        let suffices = |capacity: &&Arc<StorageCapacity>| {
            capacity.limit().is_some_and(|limit| limit >= size.value()) && capacity.nodes.picks(&node.labels)
        };
        match volumes.capacities(&self.class.name).find(suffices) {
            Some(capacity) => Ok(Some(capacity.clone())),
            None => Err(VolumeLack::NoSpace { claim }),
        }
    }
}

impl UnboundClaims {
    /// Puts the claims of a pod in order.
    pub(crate) fn new(mut claims: Vec<Unbound>) -> UnboundClaims {
        claims.sort_by(|one, other| {
            let key = |unbound: &Unbound| unbound.node.is_none();
            key(one).cmp(&key(other)).then_with(|| match one.node {
                Some(_) => std::cmp::Ordering::Equal,
                None => one.claim.wish.size.cmp(&other.claim.wish.size),
            })
        });
        UnboundClaims { claims }
    }

    /// Whether all claims have their volumes.
    pub(crate) fn are_none(&self) -> bool {
        self.claims.is_empty()
    }

    /// The claims, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Unbound> {
        self.claims.iter()
    }

    /// What the claims get on a node, or what they lack there.
    pub(crate) fn find(&self, node: &Node, volumes: &Volumes) -> Result<VolumesFound, VolumeLack> {
        let is_elsewhere =
            |unbound: &&Unbound| unbound.node.as_ref().is_some_and(|other| *other != node.name);
        if let Some(unbound) = self.claims.iter().find(is_elsewhere) {
            return Err(VolumeLack::NoMatch { claim: unbound.claim.id.name.clone() });
        }
        let mut taken: Vec<Arc<str>> = Vec::new();
        let mut found = Vec::new();
        let mut to_provision = Vec::new();
        for unbound in &self.claims {
            let there = unbound.node.is_none().then(|| unbound.volume_on(node, &taken)).flatten();
            match there {
                Some(volume) => {
                    taken.push(volume.name.clone());
                    found.push((unbound.claim.clone(), VolumeFound::There(volume.clone())));
                }
                None if unbound.is_taking => {
                    return Err(VolumeLack::NoMatch { claim: unbound.claim.id.name.clone() });
                }
                None => to_provision.push(unbound),
            }
        }
        for unbound in to_provision {
            let from = unbound.provision(node, volumes)?;
            found.push((unbound.claim.clone(), VolumeFound::Provisioned(from)));
        }
        Ok(VolumesFound { found })
    }
}

impl VolumesFound {
    /// How much is asked for of how much there is, for each class: of the volumes that are taken, or if there are none, of the storage
    /// that others come from.
    pub(crate) fn storage_used(&self) -> Vec<(i64, i64)> {
        let size = |claim: &VolumeClaim| claim.wish.size.as_ref().map_or(0, Quantity::value);
        let mut taken: BTreeMap<&Arc<str>, (i64, i64)> = BTreeMap::new();
        let mut provisioned: BTreeMap<&Arc<str>, (i64, i64)> = BTreeMap::new();
        for (claim, found) in &self.found {
            match found {
                VolumeFound::There(volume) => {
                    let (requested, capacity) = taken.entry(&volume.class).or_default();
                    *requested = requested.saturating_add(size(claim));
                    *capacity = capacity.saturating_add(volume.capacity.value());
                }
                VolumeFound::Provisioned(Some(from)) => {
                    let (requested, capacity) = provisioned.entry(&from.class).or_default();
                    *requested = requested.saturating_add(size(claim));
                    // Claims of a class share what there is.
                    *capacity = from.capacity.unwrap_or(0);
                }
                VolumeFound::Provisioned(None) => {}
            }
        }
        if taken.is_empty() { provisioned.into_values().collect() } else { taken.into_values().collect() }
    }

    /// What is to be done for it.
    pub(crate) fn plans(self, node: &Node) -> Vec<VolumePlan> {
        let plan = |(claim, found): (Arc<VolumeClaim>, VolumeFound)| {
            let choice = match found {
                VolumeFound::There(volume) => VolumeChoice::Take(volume.name.clone()),
                VolumeFound::Provisioned(_) => VolumeChoice::Provision(node.name.clone()),
            };
            VolumePlan { claim, choice }
        };
        self.found.into_iter().map(plan).collect()
    }
}
