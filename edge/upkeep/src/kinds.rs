//! Kinds that can be followed: what paths call them, and by what their objects are found.
//!
//! A controller names those that it needs; whatever several of them need is followed once.

use client::{Connection, Resource};
use objects::Object;
use objects::batch::Job;
use objects::coordination::Lease;
use objects::core::kinds::Namespace;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use objects::resource::class::{DeviceClass, DeviceTaintRule};
use objects::resource::slice::ResourceSlice;
use objects::scheduling::pod_group::PodGroup;
use objects::scheduling::workload::Workload;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;

use crate::follow::{Heard, follow};
use crate::world::Name;

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
}

/// What tells a kind from all others: its API version and its name.
pub(crate) type KindId = (&'static str, &'static str);

/// A kind, as controllers name it.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) id: KindId,
    pub(crate) follow: fn(&Connection, Sender<Heard>, &mut JoinSet<()>),
}

/// Names a kind.
pub(crate) const fn kind<K: Followed>() -> Kind {
    Kind { id: id::<K>(), follow: follow::<K> }
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
    DeviceClass = "deviceclasses",
    DeviceTaintRule = "devicetaintrules",
    Job = "jobs",
    Lease = "leases",
    Namespace = "namespaces",
    Node = "nodes",
    PodSchedulingContext = "podschedulingcontexts",
    ResourceClaim = "resourceclaims",
    ResourceClaimTemplate = "resourceclaimtemplates",
    ResourceSlice = "resourceslices",
    Workload = "workloads",
}

impl Followed for Pod {
    const PLURAL: &'static str = "pods";

    fn marks(&self) -> Vec<Mark> {
        let here = |name: &String| (self.metadata.namespace.clone(), name.clone());
        let entries = &self.spec.resource_claims;
        let named = entries.iter().filter_map(|entry| entry.resource_claim_name.as_ref());
        let noted = self.status.resource_claim_statuses.iter();
        let noted = noted.filter_map(|status| status.resource_claim_name.as_ref());
        let extended = self.status.extended_resource_claim_status.iter();
        let extended = extended.map(|status| &status.resource_claim_name);
        let claims = named.chain(noted).chain(extended).map(|name| Mark::Claim(here(name)));
        let templates = entries.iter().filter_map(|entry| entry.resource_claim_template_name.as_ref());
        let node = Some(&self.spec.node_name).filter(|node| !node.is_empty());
        let group = self.spec.scheduling_group.as_ref().and_then(|group| group.pod_group_name.as_ref());
        claims
            .chain(templates.map(|name| Mark::Template(here(name))))
            .chain(node.map(|node| Mark::Node(node.clone())))
            .chain(group.map(|group| Mark::Group(here(group))))
            .collect()
    }
}

impl Followed for PodGroup {
    const PLURAL: &'static str = "podgroups";

    fn marks(&self) -> Vec<Mark> {
        let here = |name: &String| (self.metadata.namespace.clone(), name.clone());
        let entries = &self.spec.resource_claims;
        let named = entries.iter().filter_map(|entry| entry.resource_claim_name.as_ref());
        let noted = self.status.resource_claim_statuses.iter();
        let noted = noted.filter_map(|status| status.resource_claim_name.as_ref());
        let templates = entries.iter().filter_map(|entry| entry.resource_claim_template_name.as_ref());
        let claims = named.chain(noted).map(|name| Mark::Claim(here(name)));
        claims.chain(templates.map(|name| Mark::Template(here(name)))).collect()
    }
}
