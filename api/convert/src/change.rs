//! Objects as facts: what the engine is told when one is there, is otherwise, or is gone.
//!
//! Invariant: the same object gives the same fact, and a fact says nothing that its object does not.

use std::sync::Arc;

use cluster::budgets::DisruptionBudget;
use cluster::change::{Change, GroupChange};
use cluster::claims::{Allocated, ClaimState, Held};
use cluster::published::Published;
use objects::Object;
use objects::core::kinds::Namespace;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::policy::PodDisruptionBudget;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::{DeviceClass, DeviceTaintRule};
use objects::resource::slice::ResourceSlice;
use objects::scheduling::composite_pod_group::CompositePodGroup;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::node_topology::NodeTopology;
use objects::supercargo::workload::Workload;
use selector::SliceRevision;
use serde_json::Value;

use crate::claim::{claim, claim_id};
use crate::class::class;
use crate::error::{ConvertError, named};
use crate::followed::{FOLLOWED, FollowedKind};
use crate::group::{composite, group, group_id};
use crate::label_selector::label_selector;
use crate::negotiation::{claim_control, class_control};
use crate::node::{node, node_selector};
use crate::pod::pod;
use crate::preparation::preparation;
use crate::slice::slice;
use crate::taint::taint_rule;
use crate::taken::taken;
use crate::text::shared_map;
use crate::workload::{node_topology, workload, workload_id};

/// Keeps a claim that has devices from vanishing.
pub const CLAIM_FINALIZER: &str = "resource.kubernetes.io/delete-protection";

/// Says of a claim that it was made for resources that its pod asks for by name.
pub const EXTENDED_ANNOTATION: &str = "resource.kubernetes.io/extended-resource-claim";

/// The fact that an object is there as it is, or nothing if its kind does not matter to the engine. The revision is that
/// of its last write, and no two writes have the same.
///
/// # Errors
/// The object is not what its kind says, or something in it has no name.
pub fn applied(object: &Value, revision: u64) -> Result<Option<Change>, ConvertError> {
    fact(object, |reader| reader.applied(revision))
}

/// The fact that an object is gone, or nothing if its kind does not matter to the engine.
///
/// # Errors
/// The object is not what its kind says.
pub fn gone(object: &Value) -> Result<Option<Change>, ConvertError> {
    fact(object, |reader| Ok(reader.gone()))
}

/// A kind that the engine is told about.
pub trait Fact {
    /// It is there, as it is.
    ///
    /// # Errors
    /// Something in it has no name, or means nothing.
    fn applied(&self, revision: u64) -> Result<Change, ConvertError>;

    /// It is gone.
    fn gone(&self) -> Change;
}

fn fact(
    object: &Value,
    tell: impl FnOnce(&dyn Fact) -> Result<Change, ConvertError>,
) -> Result<Option<Change>, ConvertError> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let is_its = |row: &&FollowedKind| row.api_version == api_version && row.kind == kind;
    let Some(row) = FOLLOWED.iter().find(is_its) else { return Ok(None) };
    tell(&*(row.read)(object)?).map(Some)
}

fn own_name(object: &impl Object) -> Arc<str> {
    object.metadata().name.as_str().into()
}

fn check_name(object: &impl Object) -> Result<Arc<str>, ConvertError> {
    named(object, &object.metadata().name, || "metadata.name".to_owned())
}

impl Fact for Node {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        check_name(self)?;
        Ok(Change::NodeApplied(Box::new(node(self))))
    }

    fn gone(&self) -> Change {
        Change::NodeGone(own_name(self).into())
    }
}

impl Fact for Pod {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::PodApplied(Arc::new(pod(self)?)))
    }

    fn gone(&self) -> Change {
        Change::PodGone(self.metadata.uid.as_str().into())
    }
}

impl Fact for Namespace {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::NamespaceApplied(check_name(self)?, shared_map(&self.metadata.labels)))
    }

    fn gone(&self) -> Change {
        Change::NamespaceGone(own_name(self))
    }
}

impl Fact for ResourceSlice {
    fn applied(&self, revision: u64) -> Result<Change, ConvertError> {
        // No two writes share a revision, so that of the write tells slices apart as well as their states.
        let revision = SliceRevision { slice: revision, revision };
        Ok(Change::SliceApplied(Arc::new(Published::new(slice(self)?, revision))))
    }

    fn gone(&self) -> Change {
        Change::SliceGone(own_name(self))
    }
}

impl Fact for DeviceTaintRule {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::TaintRuleApplied(taint_rule(self)?))
    }

    fn gone(&self) -> Change {
        Change::TaintRuleGone(own_name(self))
    }
}

impl Fact for DeviceClass {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        check_name(self)?;
        class_control(self)?;
        Ok(Change::ClassApplied(class(self)))
    }

    fn gone(&self) -> Change {
        Change::ClassGone(own_name(self))
    }
}

impl Fact for ResourceClaim {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::ClaimApplied(Box::new(claim_state(self)?)))
    }

    fn gone(&self) -> Change {
        Change::ClaimGone(claim_id(self))
    }
}

impl Fact for PodGroup {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::Group(GroupChange::Applied(Box::new(group(self)?))))
    }

    fn gone(&self) -> Change {
        Change::Group(GroupChange::Gone(group_id(self)))
    }
}

impl Fact for Workload {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::Group(GroupChange::WorkloadApplied(Box::new(workload(self)?))))
    }

    fn gone(&self) -> Change {
        Change::Group(GroupChange::WorkloadGone(workload_id(self)))
    }
}

impl Fact for NodeTopology {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::Group(GroupChange::TopologyApplied(Box::new(node_topology(self)?))))
    }

    fn gone(&self) -> Change {
        Change::Group(GroupChange::TopologyGone(own_name(self)))
    }
}

impl Fact for CompositePodGroup {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::Group(GroupChange::CompositeApplied(Box::new(composite(self)?))))
    }

    fn gone(&self) -> Change {
        Change::Group(GroupChange::CompositeGone(group_id(self)))
    }
}

impl Fact for PodDisruptionBudget {
    fn applied(&self, _: u64) -> Result<Change, ConvertError> {
        Ok(Change::BudgetApplied(Box::new(DisruptionBudget {
            namespace: self.metadata.namespace.as_str().into(),
            name: check_name(self)?,
            selector: label_selector(self.spec.selector.as_ref()),
            allowed: self.status.disruptions_allowed,
            disrupted: self.status.disrupted_pods.keys().map(|name| name.as_str().into()).collect(),
        })))
    }

    fn gone(&self) -> Change {
        Change::BudgetGone(self.metadata.namespace.as_str().into(), own_name(self))
    }
}

/// A claim as the API has it.
///
/// # Errors
/// Something in the claim has no name, or it asks for less than no device.
pub fn claim_state(object: &ResourceClaim) -> Result<ClaimState, ConvertError> {
    let (meta, status) = (&object.metadata, &object.status);
    let held = || {
        taken(object).map(|one| Held {
            device: one.device,
            share: one.share,
            holding: one.holding,
            tolerations: one.tolerations,
        })
    };
    let allocation = status.allocation.as_ref().map(|allocation| Allocated {
        nodes: allocation.node_selector.as_ref().map(node_selector),
        held: held().collect(),
    });
    let owner = meta.owner_references.iter().find(|owner| owner.controller == Some(true));
    Ok(ClaimState {
        uid: named(object, &meta.uid, || "metadata.uid".to_owned())?.into(),
        version: meta.resource_version.as_str().into(),
        wish: Arc::new(claim(object)?),
        allocation: allocation.map(Arc::new),
        reserved_for: status.reserved_for.iter().map(|consumer| consumer.uid.as_str().into()).collect(),
        owner: owner.map(|owner| owner.uid.as_str().into()),
        extended: meta.annotations.get(EXTENDED_ANNOTATION).is_some_and(|value| value == "true"),
        deleting: meta.deletion_timestamp.is_some(),
        protected: meta.finalizers.iter().any(|one| one == CLAIM_FINALIZER),
        preparation: preparation(status),
        control: claim_control(object),
    })
}
