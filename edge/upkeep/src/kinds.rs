//! Kinds that can be followed: what paths call them, and by what their objects are found.
//!
//! A controller names those that it needs; whatever several of them need is followed once.

use client::{Event, Readers, Resource, SomeObject};
use controllers::claimants::{Claimant, claim_names, group_of};
use controllers::own_workloads::workload_of;
use objects::Object;
use objects::batch::Job;
use objects::coordination::Lease;
use objects::core::kinds::{Namespace, PersistentVolume, PersistentVolumeClaim};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use objects::resource::class::{DeviceClass, DeviceTaintRule};
use objects::resource::slice::ResourceSlice;
use objects::scheduling::pod_group::PodGroup;
use objects::scheduling::workload::Workload;
use objects::storage::{CSINode, StorageClass};
use objects::supercargo::device_attachment::DeviceAttachment;
use objects::supercargo::node_topology::NodeTopology;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use objects::supercargo::workload::Workload as OwnWorkload;

use crate::follow::{Heard, heard};
use crate::volumes::claims_of;
use crate::world::{Name, World};

/// A kind that can be followed.
pub(crate) trait Followed: Object + Send + Sync + 'static {
    /// Such as `pods`.
    const PLURAL: &'static str;

    /// By what it is found, besides its name and its owners.
    fn marks(&self) -> Vec<Mark> {
        Vec::new()
    }
}

/// Something by which objects are found.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Mark {
    /// Those that have an owner of this uid.
    Owner(String),
    /// Those that use a claim.
    Claim(Name),
    /// Those that name a template of claims.
    Template(Name),
    /// Those that are on a node.
    Node(String),
    /// Those that belong to a group.
    Group(Name),
    /// Those that belong to a workload of our own kind.
    Workload(Name),
    /// Those that use a claim for a volume, or are for one.
    VolumeClaim(Name),
    /// Those that have to do with devices of a driver's pool.
    Pool(String, String),
}

/// What tells a kind from all others: its API version and its name.
pub(crate) type KindId = (&'static str, &'static str);

/// A kind, as controllers name it.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) id: KindId,
    pub(crate) plural: &'static str,
    pub(crate) readers: Readers,
    /// Notes that the server has it.
    pub(crate) serve: fn(&mut World),
    pub(crate) heard: fn(Event<SomeObject>) -> Option<Heard>,
}

/// Names a kind.
pub(crate) const fn kind<K: Followed>() -> Kind {
    let (readers, serve, heard) = (Readers::of::<K>(), World::serve::<K>, heard::<K>);
    Kind { id: id::<K>(), plural: K::PLURAL, readers, serve, heard }
}

/// What tells a kind from all others.
pub(crate) const fn id<K: Object>() -> KindId {
    (K::API_VERSION, K::KIND)
}

/// The kind's objects, in one namespace or, if that is empty, in all.
pub(crate) fn resource<K: Followed>(namespace: &str) -> Resource<K> {
    Resource::named(K::PLURAL).within(namespace)
}

/// Kinds whose objects are found by their names and owners alone.
macro_rules! followed {
    ($($kind:ty = $plural:literal),* $(,)?) => {
        $(impl Followed for $kind {
            const PLURAL: &'static str = $plural;
        })*
    };
}

followed! {
    CSINode = "csinodes",
    DeviceAttachment = "deviceattachments",
    DeviceClass = "deviceclasses",
    DeviceTaintRule = "devicetaintrules",
    Job = "jobs",
    Lease = "leases",
    Namespace = "namespaces",
    Node = "nodes",
    NodeTopology = "nodetopologies",
    PersistentVolumeClaim = "persistentvolumeclaims",
    PodSchedulingContext = "podschedulingcontexts",
    OwnWorkload = "workloads",
    ResourceClaimTemplate = "resourceclaimtemplates",
    StorageClass = "storageclasses",
    Workload = "workloads",
}

impl Followed for ResourceClaim {
    const PLURAL: &'static str = "resourceclaims";

    fn marks(&self) -> Vec<Mark> {
        let allocation = self.status.allocation.iter();
        let results = allocation.flat_map(|allocation| &allocation.devices.results);
        results.map(|result| Mark::Pool(result.driver.clone(), result.pool.clone())).collect()
    }
}

impl Followed for PersistentVolume {
    const PLURAL: &'static str = "persistentvolumes";

    fn marks(&self) -> Vec<Mark> {
        let owner = self.spec.claim_ref.iter();
        owner.map(|owner| Mark::VolumeClaim((owner.namespace.clone(), owner.name.clone()))).collect()
    }
}

impl Followed for ResourceSlice {
    const PLURAL: &'static str = "resourceslices";

    fn marks(&self) -> Vec<Mark> {
        vec![Mark::Pool(self.spec.driver.clone(), self.spec.pool.name.clone())]
    }
}

impl Followed for Pod {
    const PLURAL: &'static str = "pods";

    fn marks(&self) -> Vec<Mark> {
        let here = |name: &str| (self.metadata.namespace.clone(), name.to_owned());
        let extended = self.status.extended_resource_claim_status.iter();
        let extended = extended.map(|status| Mark::Claim(here(&status.resource_claim_name)));
        let node = Some(&self.spec.node_name).filter(|node| !node.is_empty());
        let node = node.map(|node| Mark::Node(node.clone()));
        let group = group_of(self).map(|group| Mark::Group(here(group)));
        let workload = workload_of(self).map(|(workload, _)| Mark::Workload(here(workload)));
        let volumes = claims_of(self).map(Mark::VolumeClaim);
        claim_marks(self).chain(extended).chain(node).chain(group).chain(workload).chain(volumes).collect()
    }
}

impl Followed for PodGroup {
    const PLURAL: &'static str = "podgroups";

    fn marks(&self) -> Vec<Mark> {
        claim_marks(self).collect()
    }
}

/// The claims and the templates that somebody names.
fn claim_marks<T: Claimant>(claimant: &T) -> impl Iterator<Item = Mark> {
    let here = |name: &str| (claimant.metadata().namespace.clone(), name.to_owned());
    let templates = claimant.entries().filter_map(|entry| entry.template);
    let templates = templates.map(move |name| Mark::Template(here(name)));
    claim_names(claimant).map(move |name| Mark::Claim(here(name))).chain(templates)
}
