//! Our own workloads and topologies, and the labels by which pods join.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::topologies::{Level, NodeTopology};
use model::group::{BindingFailure, GroupName};
use model::pod::LabelSelector;
use model::workload::{
    DeviceTerm, LevelTerm, Replica, TermClaims, Terms, Together, Workload, WorkloadGroup, WorkloadId,
};
use objects::supercargo::annotations::{POD_GROUP_LABEL, REPLICA_LABEL, WORKLOAD_LABEL};
use objects::supercargo::node_topology;
use objects::supercargo::workload::{self, DRAConstraint, GangPolicy, PodGroup, TopologyConstraint};

use crate::error::{ConvertError, named};
use crate::label_selector::label_selector;

/// How many replicas of a group there may be; the API refuses more.
const REPLICAS_MAX: u32 = 1_000;

/// A workload of our own kind.
///
/// # Errors
/// The workload or one of its groups has no name.
pub fn workload(object: &workload::Workload) -> Result<Workload, ConvertError> {
    named(object, &object.metadata.name, || "metadata.name".to_owned())?;
    let group = |(at, group): (usize, &PodGroup)| {
        let name = named(object, &group.name, || format!("spec.podGroups[{at}].name"))?;
        let count = |number: i32| u32::try_from(number).unwrap_or(1).max(1);
        let constraints = group.scheduling_constraints.as_ref();
        let levels = constraints.map_or(&[][..], |constraints| &constraints.topology_constraints);
        let devices = constraints.map_or(&[][..], |constraints| &constraints.dra_constraints);
        Ok(WorkloadGroup {
            name,
            at_least: group.policy.gang.as_ref().map_or(1, |gang| count(gang.min_count)),
            replicas: count(group.replicas.unwrap_or(1)).min(REPLICAS_MAX),
            binding_failure: group.policy.gang.as_ref().and_then(binding_failure),
            terms: Arc::new(Terms {
                levels: levels.iter().map(level_term).collect(),
                devices: devices.iter().filter_map(device_term).collect(),
            }),
        })
    };
    Ok(Workload {
        id: workload_id(object),
        uid: object.metadata.uid.as_str().into(),
        groups: object.spec.pod_groups.iter().enumerate().map(group).collect::<Result<_, _>>()?,
    })
}

/// A workload by name.
#[must_use]
pub fn workload_id(object: &workload::Workload) -> WorkloadId {
    let meta = &object.metadata;
    WorkloadId { namespace: meta.namespace.as_str().into(), name: meta.name.as_str().into() }
}

fn binding_failure(gang: &GangPolicy) -> Option<BindingFailure> {
    match gang.binding_failure_policy.as_deref()? {
        "Replace" => Some(BindingFailure::Replace),
        "Release" => Some(BindingFailure::Release),
        _ => None,
    }
}

fn level_term(constraint: &TopologyConstraint) -> LevelTerm {
    let rank = u32::try_from(constraint.rank).unwrap_or(0);
    LevelTerm {
        level: constraint.level.as_str().into(),
        rank: (constraint.mode == "Preferred").then_some(rank),
    }
}

fn device_term(constraint: &DRAConstraint) -> Option<DeviceTerm> {
    let claims = match (&constraint.resource_claim_name, &constraint.resource_claim_template_name) {
        (Some(name), _) => TermClaims::Named(name.as_str().into()),
        (None, Some(template)) => TermClaims::Template(template.as_str().into()),
        (None, None) => return None,
    };
    let attribute = constraint.match_attribute.as_deref();
    let together = attribute.map_or(Together::Pool, |attribute| Together::Attribute(attribute.into()));
    Some(DeviceTerm { claims, together })
}

/// How nodes are grouped.
///
/// # Errors
/// The topology has no name.
pub fn node_topology(object: &node_topology::NodeTopology) -> Result<NodeTopology, ConvertError> {
    let name = named(object, &object.metadata.name, || "metadata.name".to_owned())?;
    let level = |level: &node_topology::TopologyLevel| Level {
        name: level.name.as_str().into(),
        key: level.node_label.as_str().into(),
    };
    let nodes = match &object.spec.node_selector {
        None => LabelSelector::All(Vec::new()),
        selector => label_selector(selector.as_ref()),
    };
    Ok(NodeTopology { name, levels: object.spec.levels.iter().map(level).collect(), nodes })
}

/// The replica that a pod belongs to by its labels: that of a group of a workload, the first if it does not say which.
pub(crate) fn replica_of(labels: &BTreeMap<String, String>) -> Option<GroupName> {
    let label = |key: &str| labels.get(key).map(String::as_str).filter(|value| !value.is_empty());
    let number = label(REPLICA_LABEL).unwrap_or("0").into();
    let (workload, group) = (label(WORKLOAD_LABEL)?.into(), label(POD_GROUP_LABEL)?.into());
    Some(Replica { workload, group, number }.into())
}
