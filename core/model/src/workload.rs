//! Our own workloads: groups of pods that join by label, and what their placement is to be like.
//!
//! Each replica of a group is a [`Group`] of its own. Its name has slashes, which no name of a Kubernetes object has, so that it
//! is never taken for another's.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::group::{BindingFailure, Disruption, Group, GroupId};
use crate::identity::GroupUid;

/// Groups of pods that are described together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload {
    /// Which workload it is.
    pub id: WorkloadId,
    /// Tells it from others that had or will have its name.
    pub uid: GroupUid,
    /// Its groups.
    pub groups: Vec<WorkloadGroup>,
}

/// A workload by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WorkloadId {
    /// Its namespace, which is that of its pods.
    pub namespace: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
}

/// One group of a workload, as often as it is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadGroup {
    /// Its name in the workload.
    pub name: Arc<str>,
    /// How many pods of a replica have to be placed at once.
    pub at_least: u32,
    /// How many there are.
    pub replicas: u32,
    /// What becomes of a replica if a pod of it cannot be bound; nothing if that is left to the scheduler.
    pub binding_failure: Option<BindingFailure>,
    /// What each replica's placement is to be like.
    pub terms: Arc<Terms>,
}

/// What the placement of a group is to be like.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    /// Levels of the topology at which pods stay together.
    pub levels: Vec<LevelTerm>,
    /// Claims whose devices are together.
    pub devices: Vec<DeviceTerm>,
}

/// All pods in one domain of a level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LevelTerm {
    /// The name of a level, or the key of a node label.
    pub level: Arc<str>,
    /// The place of a wish among those that are tried one after the other; nothing if it must be met.
    pub rank: Option<u32>,
}

/// All devices of some claims in one set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceTerm {
    /// The claims.
    pub claims: TermClaims,
    /// What makes devices a set.
    pub together: Together,
}

/// Which claims of pods are meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TermClaims {
    /// The one of this name.
    Named(Arc<str>),
    /// Those that are made from this template.
    Template(Arc<str>),
}

/// What makes devices a set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Together {
    /// They are in one pool.
    Pool,
    /// They have one value of this attribute.
    Attribute(Arc<str>),
}

impl Workload {
    /// Every replica of every group, with what its placement is to be like.
    pub fn replicas(&self) -> impl Iterator<Item = (Group, &Arc<Terms>)> {
        self.groups.iter().flat_map(move |group| {
            (0..group.replicas).map(move |number| {
                let id = GroupId {
                    namespace: self.id.namespace.clone(),
                    name: replica_name(&self.id.name, &group.name, &number.to_string()),
                };
                let replica = Group {
                    id,
                    uid: self.uid.clone(),
                    at_least: group.at_least,
                    levels: Vec::new(),
                    // It adds nothing to the priorities of its pods.
                    priority: i32::MIN,
                    disruption: Disruption::Single,
                    preempts: true,
                    claims: BTreeMap::new(),
                    parent: None,
                    created: None,
                    was_placed: false,
                    binding_failure: group.binding_failure,
                };
                (replica, &group.terms)
            })
        })
    }
}

/// The name of a replica of a group of a workload.
#[must_use]
pub fn replica_name(workload: &str, group: &str, replica: &str) -> Arc<str> {
    format!("{workload}/{group}/{replica}").into()
}

/// Whether a name is that of a replica.
#[must_use]
pub fn is_replica(name: &str) -> bool {
    name.contains('/')
}

/// The workload, the group and the number that the name of a replica is made of.
#[must_use]
pub fn replica_parts(name: &str) -> Option<(&str, &str, &str)> {
    let (workload, rest) = name.split_once('/')?;
    let (group, replica) = rest.split_once('/')?;
    Some((workload, group, replica))
}

/// What all replicas of a group have in common in their names.
#[must_use]
pub fn family(replica: &str) -> Option<&str> {
    replica.rsplit_once('/').map(|(family, _)| family)
}
