//! Our own workloads: groups of pods that join by label, and what their placement is to be like.
//!
//! Each replica of a group is a [`Group`] of its own. Its name is a [`Replica`], which is never taken for the name of an object.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::group::{BindingFailure, Disruption, Group, GroupId, GroupName};
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
                let name = GroupName::from(Replica {
                    workload: self.id.name.clone(),
                    group: group.name.clone(),
                    number: number.to_string().into(),
                });
                let id = GroupId { namespace: self.id.namespace.clone(), name };
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

/// Which replica of a group of a workload: what the name of such a group is made of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Replica {
    /// The name of the workload.
    pub workload: Arc<str>,
    /// The name of its group.
    pub group: Arc<str>,
    /// The number of the replica, as pods say it: there may be no such replica.
    pub number: Arc<str>,
}

impl Replica {
    /// Whether both are of one group of one workload.
    #[must_use]
    pub fn is_sibling(&self, other: &Replica) -> bool {
        self.workload == other.workload && self.group == other.group
    }

    /// What comes before all replicas of the same group, and behind all that come before those.
    #[must_use]
    pub fn before_siblings(&self) -> Replica {
        Replica { number: Arc::default(), ..self.clone() }
    }

    /// The bytes of its text.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = u8> {
        let slash = || std::iter::once(b'/');
        self.workload
            .bytes()
            .chain(slash())
            .chain(self.group.bytes())
            .chain(slash())
            .chain(self.number.bytes())
    }
}

impl fmt::Display for Replica {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}/{}", self.workload, self.group, self.number)
    }
}

impl From<Replica> for GroupName {
    fn from(replica: Replica) -> GroupName {
        GroupName::Replica(Arc::new(replica))
    }
}

impl Ord for Replica {
    fn cmp(&self, other: &Replica) -> Ordering {
        if self.is_sibling(other) {
            return self.number.cmp(&other.number);
        }
        // A slash comes behind some of what names are made of, so that the order of the parts is not that of the texts.
        let parts = || (&self.workload, &self.group).cmp(&(&other.workload, &other.group));
        self.bytes().cmp(other.bytes()).then_with(parts)
    }
}

impl PartialOrd for Replica {
    fn partial_cmp(&self, other: &Replica) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
