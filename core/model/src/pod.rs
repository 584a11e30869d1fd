//! Pods as far as their placement cares.
//!
//! What decides where a pod can go is its [`Shape`], shared by all pods that are alike in it: answers about a shape hold
//! for all of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::claim::ClaimId;
use crate::disk::Disk;
use crate::group::GroupName;
use crate::identity::{NodeName, PodUid};
use crate::node::{NodeSelector, NodeTerm, Operator};
use crate::timestamp::Timestamp;

/// A pod by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PodId {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
}

impl fmt::Display for PodId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.namespace, self.name)
    }
}

/// The pods with which a pod is bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Together {
    /// When the youngest of them was made; the same for all of them.
    pub youngest: Timestamp,
    /// Others of the gang that waited then and were not bound with them, by uid.
    pub left_out: Arc<[PodUid]>,
}

/// How a pod was bound together with others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Landing {
    /// The pods with which it was bound.
    pub together: Together,
    /// It is to go, as another could not be bound.
    pub is_over: bool,
}

/// A pod.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Pod {
    /// Which pod it is.
    pub id: PodId,
    /// Tells it from others that had or will have its name.
    pub uid: PodUid,
    /// The scheduler that it asks for.
    pub scheduler: Arc<str>,
    /// The node that it is bound to.
    pub node: Option<NodeName>,
    /// The node that is being made free for it.
    pub nominated_node: Option<NodeName>,
    /// Its containers run, so that its node has its devices ready.
    pub running: bool,
    /// It will not run any more.
    pub finished: bool,
    /// It is being deleted.
    pub deleting: bool,
    /// More important pods come first.
    pub priority: i32,
    /// Whether it may displace less important pods.
    pub preempts: bool,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// When it began to run.
    pub started: Option<Timestamp>,
    /// What other controllers have to do before it may be placed.
    pub gates: Vec<Arc<str>>,
    /// Claims for devices, in order.
    pub claims: Vec<PodClaim>,
    /// The group that it belongs to.
    pub group: Option<GroupName>,
    /// How it was bound, if that was together with others of its gang that are let go unless all are.
    pub landing: Option<Landing>,
    /// What decides where it can go.
    pub shape: Arc<Shape>,
}

/// What an API server writes to the condition of a pod that has scheduling gates.
pub const SCHEDULING_GATED: &str = "Scheduling is blocked due to non-empty scheduling gates";

impl Pod {
    /// The claims that it names.
    pub fn claim_ids(&self) -> impl Iterator<Item = ClaimId> {
        self.claims.iter().filter_map(|claim| self.claim_id(claim))
    }

    /// The claim that an entry of it names.
    #[must_use]
    pub fn claim_id(&self, claim: &PodClaim) -> Option<ClaimId> {
        match &claim.source {
            ClaimSource::Named(name) | ClaimSource::Generated(name) => {
                Some(ClaimId { namespace: self.id.namespace.clone(), name: name.clone() })
            }
            ClaimSource::ToBeGenerated { .. } | ClaimSource::NotNeeded | ClaimSource::Unknown => None,
        }
    }
}

/// A claim that a pod names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodClaim {
    /// Its name in the pod.
    pub name: Arc<str>,
    /// The claim.
    pub source: ClaimSource,
}

/// Which claim a pod means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimSource {
    /// This one.
    Named(Arc<str>),
    /// One that was made for the pod.
    Generated(Arc<str>),
    /// One that is yet to be made.
    ToBeGenerated {
        /// The template that it is made from.
        template: Arc<str>,
    },
    /// None: it turned out that the pod needs no claim.
    NotNeeded,
    /// It names nothing that we know.
    Unknown,
}

/// What decides where a pod can go.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Shape {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its labels, which other pods' rules look at.
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    /// What it needs of the node.
    pub requests: Resources,
    /// The same for scores, where a container that asks for no processor or memory counts as asking for a little.
    pub scored: Resources,
    /// Labels that the node must have.
    pub node_labels: BTreeMap<Arc<str>, Arc<str>>,
    /// Nodes that will do.
    pub node_affinity: Option<NodeSelector>,
    /// Nodes that would be better, by how much.
    pub preferred_nodes: Vec<(i32, NodeTerm)>,
    /// Node taints that it bears.
    pub tolerations: Vec<NodeToleration>,
    /// Ports of the node that it takes.
    pub ports: Vec<HostPort>,
    /// How it is to be spread.
    pub spread: Vec<Spread>,
    /// Pods that it must be near.
    pub near: Vec<PodTerm>,
    /// Pods that it must not be near.
    pub apart: Vec<PodTerm>,
    /// Pods that it had better be near, or if negative had better not.
    pub preferred_pods: Vec<(i32, PodTerm)>,
    /// Images that it runs.
    pub images: Vec<Arc<str>>,
    /// How many containers it has, with those that run before it starts.
    pub containers: usize,
    /// Volume claims that it uses.
    pub volume_claims: Vec<Arc<str>>,
    /// Those of them that are made for the pod and live as long as it does.
    pub own_volume_claims: Vec<OwnVolumeClaim>,
    /// Disks that it names itself.
    pub disks: Vec<Disk>,
    /// Features that its node must declare.
    pub required_features: Vec<Arc<str>>,
    /// What keeps it and others like it alive, if that is of a kind by which pods are spread.
    pub owner: Option<Owner>,
    /// Containers that ask for resources that devices may stand for.
    pub device_containers: Vec<ContainerWish>,
    /// For each claim that it names, the containers that use it.
    pub claim_containers: Vec<Vec<Arc<str>>>,
    /// For each claim that it names, the template that the claim is made from, if it is.
    pub claim_templates: Vec<Option<Arc<str>>>,
    /// Resources that it asks for as a whole, and how much of that its containers do not ask for.
    pub spare: Vec<(Arc<str>, i64)>,
}

impl Shape {
    /// Whether it uses volumes that decide where it can go.
    #[must_use]
    pub fn has_volumes(&self) -> bool {
        !(self.volume_claims.is_empty() && self.disks.is_empty())
    }
}

/// A volume claim that is made for a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnVolumeClaim {
    /// Its name.
    pub claim: Arc<str>,
    /// The name of the pod.
    pub pod: Arc<str>,
    /// The uid of the pod, which owns it.
    pub pod_uid: PodUid,
}

/// What keeps a number of pods alive, in their namespace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Owner {
    /// Its kind.
    pub kind: OwnerKind,
    /// Its name.
    pub name: Arc<str>,
}

/// Kinds of owners by which pods are spread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OwnerKind {
    /// A ReplicationController.
    ReplicationController,
    /// A ReplicaSet.
    ReplicaSet,
    /// A StatefulSet.
    StatefulSet,
}

/// A container that asks for resources that devices may stand for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContainerWish {
    /// Its name.
    pub name: Arc<str>,
    /// Its place among the pod's containers, of which those that run before the others come first.
    pub place: usize,
    /// It ends before the next begins.
    pub passes: bool,
    /// By resource: its place among all that the container asks for, in the order of names, and how many.
    pub amounts: BTreeMap<Arc<str>, (usize, i64)>,
}

/// Amounts of resources: processor in thousandths, the rest in whole units.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resources {
    /// Processor, in thousandths.
    pub cpu_milli: i64,
    /// Memory, in bytes.
    pub memory: i64,
    /// Local storage, in bytes.
    pub ephemeral_storage: i64,
    /// Everything else by name.
    pub others: BTreeMap<Arc<str>, i64>,
}

impl Resources {
    /// Adds other amounts, or takes them away if the sign is negative.
    pub fn add(&mut self, other: &Resources, sign: i64) {
        self.cpu_milli = self.cpu_milli.saturating_add(sign * other.cpu_milli);
        self.memory = self.memory.saturating_add(sign * other.memory);
        self.ephemeral_storage = self.ephemeral_storage.saturating_add(sign * other.ephemeral_storage);
        for (name, amount) in &other.others {
            let sum = self.others.entry(name.clone()).or_default();
            *sum = sum.saturating_add(sign * amount);
            if *sum == 0 {
                self.others.remove(name);
            }
        }
    }

    /// The amount of a resource by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> i64 {
        match name {
            "cpu" => self.cpu_milli,
            "memory" => self.memory,
            "ephemeral-storage" => self.ephemeral_storage,
            other => self.others.get(other).copied().unwrap_or(0),
        }
    }
}

/// Leave to ignore node taints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeToleration {
    /// The taint's key; any if empty.
    pub key: Arc<str>,
    /// How values are compared.
    pub operator: TolerationOperator,
    /// The value.
    pub value: Arc<str>,
    /// The effect; any if empty.
    pub effect: Arc<str>,
}

/// How a toleration compares values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TolerationOperator {
    /// Any value will do.
    Exists,
    /// The same value.
    Equal,
    /// The taint's value is a whole number above ours.
    Gt,
    /// The taint's value is a whole number below ours.
    Lt,
    /// Something that we do not know.
    Unknown(Arc<str>),
}

impl TolerationOperator {
    /// Whether a toleration with the value covers a taint with that one. `compares` says whether numbers may be compared.
    #[must_use]
    pub fn covers(&self, value: &str, taint: &str, compares: bool) -> bool {
        let numbers = || Some((whole_number(taint)?, whole_number(value)?)).filter(|_| compares);
        match self {
            Self::Exists => true,
            Self::Equal => value == taint,
            Self::Gt => numbers().is_some_and(|(taint, bound)| taint > bound),
            Self::Lt => numbers().is_some_and(|(taint, bound)| taint < bound),
            Self::Unknown(_) => false,
        }
    }
}

/// A whole number in its one proper form: no plus, no needless zeros.
fn whole_number(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// A port of the node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostPort {
    /// The address; `0.0.0.0` for all.
    pub address: Arc<str>,
    /// The protocol.
    pub protocol: Arc<str>,
    /// The port.
    pub port: i32,
}

/// How pods are to be spread over places.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spread {
    /// By how much places may differ.
    pub max_skew: i32,
    /// The node label that tells places apart.
    pub key: Arc<str>,
    /// Whether a node that would break it is out of the question, or only worse.
    pub required: bool,
    /// Which pods are counted.
    pub selector: LabelSelector,
    /// Over at least how many places.
    pub min_domains: i32,
    /// Whether nodes that the pod's node affinity excludes are left out of the count.
    pub honor_affinity: bool,
    /// Whether nodes with taints that the pod does not bear are left out of the count.
    pub honor_taints: bool,
}

/// Pods near which, or away from which, a pod is to be.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PodTerm {
    /// Which pods.
    pub selector: LabelSelector,
    /// In which namespaces by name.
    pub namespaces: Vec<Arc<str>>,
    /// In which namespaces by label; `None` adds none.
    pub namespace_selector: Option<LabelSelector>,
    /// The node label that tells places apart.
    pub key: Arc<str>,
}

/// Picks objects by labels.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LabelSelector {
    /// None of them.
    Nothing,
    /// Those that meet all requirements; without any, all of them.
    All(Vec<crate::node::Requirement>),
}

impl LabelSelector {
    /// Whether it picks an object with these labels. A requirement that cannot be judged picks nothing.
    #[must_use]
    pub fn picks(&self, labels: &BTreeMap<Arc<str>, Arc<str>>) -> bool {
        match self {
            LabelSelector::Nothing => false,
            LabelSelector::All(requirements) => requirements
                .iter()
                .all(|requirement| requirement.holds(labels.get(&requirement.key)).unwrap_or(false)),
        }
    }

    /// A label that all objects have that it picks, with its value, if it asks for one.
    #[must_use]
    pub fn demanded(&self) -> Option<(&Arc<str>, &Arc<str>)> {
        let LabelSelector::All(requirements) = self else { return None };
        requirements.iter().find_map(|requirement| match (&requirement.operator, &requirement.values[..]) {
            (Operator::In, [value]) => Some((&requirement.key, value)),
            _ => None,
        })
    }

    /// Whether it picks every object.
    #[must_use]
    pub fn picks_all(&self) -> bool {
        matches!(self, LabelSelector::All(requirements) if requirements.is_empty())
    }
}
