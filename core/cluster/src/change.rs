//! Facts that arrive from the API, one at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::claim::{ClaimId, Class};
use model::group::{Composite, Group, GroupId};
use model::identity::{ClaimUid, NodeName, PodUid};
use model::node::Node;
use model::pod::{LabelSelector, Owner, Pod, PodId};
use model::volume::{
    Attachment, StorageCapacity, StorageClass, StorageDriver, StorageNode, Volume, VolumeClaim, VolumeClaimId,
};
use model::workload::{Workload, WorkloadId};

use crate::budgets::DisruptionBudget;
use crate::claims::ClaimState;
use crate::companions::Labels;
use crate::contexts::PodContext;
use crate::published::Published;
use crate::taint_rules::TaintRule;
use crate::topologies::NodeTopology;

/// A fact that arrived. Names are those of the objects; a thing that is applied twice is the same as once.
#[derive(Clone, Debug)]
pub enum Change {
    /// A node is there, or is otherwise.
    NodeApplied(Box<Node>),
    /// A node went.
    NodeGone(NodeName),
    /// A pod is there, or is otherwise.
    PodApplied(Arc<Pod>),
    /// A pod went; the uid tells which.
    PodGone(PodUid),
    /// A slice is there, or is otherwise.
    SliceApplied(Arc<Published>),
    /// A slice went.
    SliceGone(Arc<str>),
    /// A rule that puts taints on devices is there, or is otherwise.
    TaintRuleApplied(TaintRule),
    /// A rule that puts taints on devices went.
    TaintRuleGone(Arc<str>),
    /// A class is there, or is otherwise.
    ClassApplied(Class),
    /// A class went.
    ClassGone(Arc<str>),
    /// A claim is there, or is otherwise. These are told in the order in which claims were written, and none is left out.
    ClaimApplied(Box<ClaimState>),
    /// A claim that is there, among all that are; there may have been others, and other states of it, since the last that was
    /// told.
    ClaimListed(Box<ClaimState>),
    /// A claim as it was read, or as the answer to a write shows it. It may overtake what else is told of claims.
    ClaimAnswered(Box<ClaimState>),
    /// A claim went.
    ClaimGone(ClaimId),
    /// The claim with this uid was looked for, and is not there. That it went has yet to be told in the order in which claims
    /// were written, and so may other states of it.
    ClaimMissing(ClaimId, ClaimUid),
    /// A namespace is there, or has other labels.
    NamespaceApplied(Arc<str>, BTreeMap<Arc<str>, Arc<str>>),
    /// A namespace went.
    NamespaceGone(Arc<str>),
    /// Something about volumes.
    Storage(StorageChange),
    /// Something about which pods belong together.
    Companions(CompanionChange),
    /// Something about groups of pods.
    Group(GroupChange),
    /// Something about what drivers' controllers are asked and answer.
    Negotiation(NegotiationChange),
    /// A disruption budget is there, or is otherwise.
    BudgetApplied(Box<DisruptionBudget>),
    /// A disruption budget went: its namespace and its name.
    BudgetGone(Arc<str>, Arc<str>),
}

/// A fact about groups of pods.
#[derive(Clone, Debug)]
pub enum GroupChange {
    /// A group is there, or is otherwise.
    Applied(Box<Group>),
    /// A group went.
    Gone(GroupId),
    /// A group of groups is there, or is otherwise.
    CompositeApplied(Box<Composite>),
    /// A group of groups went.
    CompositeGone(GroupId),
    /// A workload of our own kind is there, or is otherwise: all of its groups.
    WorkloadApplied(Box<Workload>),
    /// A workload of our own kind went.
    WorkloadGone(WorkloadId),
    /// A topology is there, or is otherwise.
    TopologyApplied(Box<NodeTopology>),
    /// A topology went.
    TopologyGone(Arc<str>),
}

impl Change {
    /// The same fact, if it comes from a list.
    #[must_use]
    pub fn listed(self) -> Change {
        match self {
            Change::ClaimApplied(state) => Change::ClaimListed(state),
            other => other,
        }
    }

    /// The same fact, if it comes from an answer.
    #[must_use]
    pub fn answered(self) -> Change {
        match self {
            Change::ClaimApplied(state) => Change::ClaimAnswered(state),
            Change::Storage(StorageChange::VolumeApplied(volume)) => {
                Change::Storage(StorageChange::VolumeAnswered(volume))
            }
            Change::Storage(StorageChange::VolumeClaimApplied(claim)) => {
                Change::Storage(StorageChange::VolumeClaimAnswered(claim))
            }
            other => other,
        }
    }
}

/// A fact about which pods belong together.
#[derive(Clone, Debug)]
pub enum CompanionChange {
    /// A service is there, or is otherwise: its namespace, its name, and the labels of its pods.
    ServiceApplied(Arc<str>, Arc<str>, Labels),
    /// A service went.
    ServiceGone(Arc<str>, Arc<str>),
    /// An owner of pods is there, or is otherwise: its namespace, and the pods that it picks.
    OwnerApplied(Arc<str>, Owner, LabelSelector),
    /// An owner of pods went.
    OwnerGone(Arc<str>, Owner),
}

/// A fact about volumes.
#[derive(Clone, Debug)]
pub enum StorageChange {
    /// A volume is there, or is otherwise.
    VolumeApplied(Box<Volume>),
    /// A volume as the answer to a write shows it. It may overtake what else is told of it.
    VolumeAnswered(Box<Volume>),
    /// A volume went.
    VolumeGone(Arc<str>),
    /// A claim for a volume is there, or is otherwise.
    VolumeClaimApplied(Box<VolumeClaim>),
    /// A claim for a volume as the answer to a write shows it. It may overtake what else is told of it.
    VolumeClaimAnswered(Box<VolumeClaim>),
    /// A claim for a volume went.
    VolumeClaimGone(VolumeClaimId),
    /// A class of storage is there, or is otherwise.
    StorageClassApplied(StorageClass),
    /// A class of storage went.
    StorageClassGone(Arc<str>),
    /// Drivers say something about a node, or something else.
    NodeApplied(StorageNode),
    /// Drivers say nothing about a node any more.
    NodeGone(NodeName),
    /// A storage driver is there, or is otherwise.
    DriverApplied(StorageDriver),
    /// A storage driver went.
    DriverGone(Arc<str>),
    /// It is known how much storage there is somewhere.
    CapacityApplied(Box<StorageCapacity>),
    /// It is not known any more: its namespace and its name.
    CapacityGone(Arc<str>, Arc<str>),
    /// A volume is attached to a node, or is to be.
    AttachmentApplied(Attachment),
    /// A volume is attached no more: the name of the attachment.
    AttachmentGone(Arc<str>),
}

/// A fact about negotiations.
#[derive(Clone, Debug)]
pub enum NegotiationChange {
    /// A context is there, or is otherwise. It may overtake others.
    Applied(Box<PodContext>),
    /// A context went: its pod, and its own uid if that is known.
    Gone(PodId, Arc<str>),
}
