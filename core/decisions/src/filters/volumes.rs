//! The volumes of a pod: they must exist, be within reach of the node or be had there, and be no more than the node takes.

use std::sync::Arc;

use cluster::nodes::NodeState;
use cluster::volumes::{VolumePlan, Volumes};
use model::node::{Node, NodeSelector};
use model::pod::Shape;
use model::volume::{Volume, VolumeClaim};

use crate::filters::attachments::Attachments;
use crate::filters::disks;
use crate::filters::node::node_of;
use crate::filters::reach::picks;
use crate::filters::settings::FilterSettings;
use crate::filters::unbound::{Unbound, UnboundClaims};
use crate::values::filter_set::Filter;
use crate::values::node_refusal::{NodeRefusal, VolumeLack, VolumeRefusal};

/// Labels of volumes and nodes that tell zones and regions, each with the one that replaced it.
const ZONES: [(&str, &str); 4] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("topology.kubernetes.io/region", "topology.kubernetes.io/region"),
];

/// The volumes of a pod, looked up once for many nodes.
#[derive(Clone, Debug, Default)]
pub struct Mounts {
    mounts: Vec<Mount>,
    unbound: UnboundClaims,
    /// What it attaches to a node, if that is counted.
    attachments: Option<Attachments>,
    /// Its own disks count, if it has some.
    disks: Option<Arc<Shape>>,
}

#[derive(Clone, Debug)]
struct Mount {
    volume: Arc<str>,
    /// Where it can be reached; nothing if that does not count.
    reach: Reach,
    /// Labels of which a node that knows zones must have one of the values.
    zones: Vec<(usize, Vec<Arc<str>>)>,
}

#[derive(Clone, Debug)]
enum Reach {
    Everywhere,
    From(NodeSelector),
    /// There is no such volume.
    Nowhere,
}

impl Mounts {
    /// Looks up the volumes of a pod.
    ///
    /// # Errors
    /// They cannot be had on any node.
    pub fn new(
        shape: &Arc<Shape>,
        volumes: &Volumes,
        settings: &FilterSettings,
    ) -> Result<Mounts, NodeRefusal> {
        if !shape.has_volumes() {
            return Ok(Mounts::default());
        }
        let attachments = settings.has(Filter::VolumeLimits).then(|| Attachments::new(shape, volumes));
        let attachments = attachments.filter(|attachments| attachments.matter(volumes));
        let has_disks = settings.has(Filter::ExclusiveVolumes) && !shape.disks.is_empty();
        let mut mounts = Mounts { attachments, disks: has_disks.then(|| shape.clone()), ..Mounts::default() };
        let asks_zones = settings.has(Filter::VolumeZones);
        if settings.has(Filter::Volumes) {
            mounts.look_up(shape, volumes, settings).map_err(NodeRefusal::Volume)?;
        } else if asks_zones {
            // Nothing else about volumes is asked.
            let claims = shape.volume_claims.iter().filter(|name| !is_own(shape, name));
            let claims = claims.filter_map(|name| volumes.claim(&shape.namespace, name));
            let known = claims.filter_map(|claim| volumes.volume(claim.volume.as_ref()?));
            mounts.mounts = known.map(|volume| Mount::new(volume, false, true)).collect();
        }
        Ok(mounts)
    }

    fn look_up(
        &mut self,
        shape: &Shape,
        volumes: &Volumes,
        settings: &FilterSettings,
    ) -> Result<(), VolumeRefusal> {
        let mut names: Vec<&Arc<str>> = shape.volume_claims.iter().collect();
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        if settings.has(Filter::ExclusiveVolumes) {
            // How claims may be used is asked first.
            let is_missing =
                |name: &&&Arc<str>| !is_own(shape, name) && volumes.claim(&shape.namespace, name).is_none();
            if let Some(claim) = names.iter().find(is_missing) {
                return Err(VolumeRefusal::NoClaim { claim: (*claim).clone() });
            }
        }
        let claims: Vec<&Arc<VolumeClaim>> =
            names.iter().map(|name| usable(shape, name, volumes)).collect::<Result<_, _>>()?;
        let mut unbound = Vec::new();
        for claim in claims.iter().filter(|claim| !claim.bound) {
            match claim.class.as_ref().and_then(|class| volumes.class(class)) {
                Some(class) if class.waits_for_pod && claim.volume.is_none() => {
                    unbound.push(Unbound::new(claim, class, volumes));
                }
                _ => return Err(VolumeRefusal::Unbound { claim: claim.id.name.clone() }),
            }
        }
        self.unbound = UnboundClaims::new(unbound);
        let asks_zones = settings.has(Filter::VolumeZones);
        for claim in claims.into_iter().filter(|claim| claim.bound) {
            let Some(name) = &claim.volume else { continue };
            let in_zones = asks_zones && !is_own(shape, &claim.id.name);
            self.mounts.push(match volumes.volume(name) {
                Some(volume) => Mount::new(volume, true, in_zones),
                None if in_zones => return Err(VolumeRefusal::NoVolume { volume: name.clone() }),
                None => Mount { volume: name.clone(), reach: Reach::Nowhere, zones: Vec::new() },
            });
        }
        Ok(())
    }

    /// Whether every node will do, whatever is on it.
    #[must_use]
    pub fn is_everywhere(&self) -> bool {
        self.mounts.iter().all(|mount| matches!(mount.reach, Reach::Everywhere) && mount.zones.is_empty())
            && self.unbound.are_none()
            && self.attachments.is_none()
            && self.disks.is_none()
    }

    /// Whether it depends on what else is on a node whether it will do.
    pub(crate) fn heed_what_is_on_nodes(&self) -> bool {
        self.attachments.is_some() || self.disks.is_some()
    }

    /// Whether no other pod on a node uses disks that the pod names itself.
    ///
    /// # Errors
    /// A pod does.
    pub fn check_disks(&self, state: &NodeState) -> Result<(), NodeRefusal> {
        let clashes = |shape: &Arc<Shape>| state.pods.values().any(|pod| disks::clash(shape, &pod.shape));
        if self.disks.as_ref().is_some_and(clashes) { Err(NodeRefusal::DiskInUse) } else { Ok(()) }
    }

    /// Whether a node takes as many volumes, and the volumes can be reached from it or be had there.
    ///
    /// # Errors
    /// One of them cannot, or they are too many.
    pub fn check(&self, state: &NodeState, volumes: &Volumes) -> Result<(), NodeRefusal> {
        self.check_use(state, volumes)?;
        self.check_reach(node_of(state), volumes)
    }

    /// Whether what is on a node leaves room for the volumes.
    ///
    /// # Errors
    /// It does not.
    pub fn check_use(&self, state: &NodeState, volumes: &Volumes) -> Result<(), NodeRefusal> {
        self.check_disks(state)?;
        self.attachments.as_ref().map_or(Ok(()), |attachments| attachments.check(state, volumes))
    }

    /// Whether the volumes can be reached from a node, or be had there.
    ///
    /// # Errors
    /// One of them cannot.
    pub fn check_reach(&self, node: &Node, volumes: &Volumes) -> Result<(), NodeRefusal> {
        let lack = self.mounts.iter().find_map(|mount| mount.lack(node));
        let (missing, elsewhere): (Vec<_>, Vec<_>) =
            lack.into_iter().partition(|lack| matches!(lack, VolumeLack::Missing { .. }));
        let unbound = self.unbound.find(node, volumes).err();
        let lacks: Vec<VolumeLack> = elsewhere.into_iter().chain(unbound).chain(missing).collect();
        if !lacks.is_empty() {
            return Err(NodeRefusal::Volumes(lacks));
        }
        let knows_zones = ZONES.iter().any(|(key, _)| node.labels.contains_key(*key));
        match self.mounts.iter().find(|mount| knows_zones && !mount.is_in_zone(node)) {
            Some(mount) => Err(NodeRefusal::VolumeZone { volume: mount.volume.clone() }),
            None => Ok(()),
        }
    }

    /// How much of the storage on a node its volumes would take that are yet to be bound, by class.
    pub(crate) fn storage_used(&self, node: &Node, volumes: &Volumes) -> Vec<(i64, i64)> {
        self.unbound.find(node, volumes).map(|found| found.storage_used()).unwrap_or_default()
    }

    /// The claims that have no volume yet.
    pub(crate) fn unbound(&self) -> impl Iterator<Item = &Unbound> {
        self.unbound.iter()
    }

    /// How claims without a volume get one on a node that will do.
    #[must_use]
    pub fn plans(&self, node: &Node, volumes: &Volumes) -> Vec<VolumePlan> {
        self.unbound.find(node, volumes).map(|found| found.plans(node)).unwrap_or_default()
    }
}

fn is_own(shape: &Shape, claim: &str) -> bool {
    shape.own_volume_claims.iter().any(|own| *own.claim == *claim)
}

/// A claim that exists and is there to stay.
fn usable<'a>(
    shape: &Shape,
    name: &Arc<str>,
    volumes: &'a Volumes,
) -> Result<&'a Arc<VolumeClaim>, VolumeRefusal> {
    let own = shape.own_volume_claims.iter().find(|own| own.claim == *name);
    let Some(claim) = volumes.claim(&shape.namespace, name) else {
        let claim = name.clone();
        return Err(if own.is_some() {
            VolumeRefusal::NotMade { claim }
        } else {
            VolumeRefusal::NoClaim { claim }
        });
    };
    if claim.lost {
        let volume = claim.volume.clone().unwrap_or_default();
        return Err(VolumeRefusal::Lost { claim: name.clone(), volume });
    }
    if claim.deleting {
        return Err(VolumeRefusal::Deleting { claim: name.clone() });
    }
    match own {
        Some(own) if claim.owner.as_deref() != Some(&*own.pod_uid) => Err(VolumeRefusal::NotOwn {
            namespace: shape.namespace.clone(),
            claim: name.clone(),
            pod: own.pod.clone(),
        }),
        _ => Ok(claim),
    }
}

impl Mount {
    fn new(volume: &Volume, asks_nodes: bool, asks_zones: bool) -> Mount {
        let zones = ZONES
            .iter()
            .enumerate()
            .filter(|_| asks_zones)
            .filter_map(|(at, (key, _))| Some((at, zones(volume.labels.get(*key)?)?)));
        let reach = volume.nodes.clone().filter(|_| asks_nodes).map_or(Reach::Everywhere, Reach::From);
        Mount { volume: volume.name.clone(), reach, zones: zones.collect() }
    }

    fn lack(&self, node: &Node) -> Option<VolumeLack> {
        let volume = self.volume.clone();
        match &self.reach {
            Reach::Everywhere => None,
            Reach::From(nodes) => (!picks(nodes, node)).then_some(VolumeLack::Elsewhere { volume }),
            Reach::Nowhere => Some(VolumeLack::Missing { volume }),
        }
    }

    fn is_in_zone(&self, node: &Node) -> bool {
        self.zones.iter().all(|(at, zones)| {
            let (old, new) = ZONES[*at];
            node.labels.get(old).or_else(|| node.labels.get(new)).is_some_and(|zone| zones.contains(zone))
        })
    }
}

/// The zones that a label lists; a list with an empty name in it says nothing.
fn zones(label: &str) -> Option<Vec<Arc<str>>> {
    let zones: Vec<Arc<str>> = label.split("__").map(|zone| zone.trim().into()).collect();
    (!zones.iter().any(|zone| zone.is_empty())).then_some(zones)
}

#[cfg(test)]
mod tests;
