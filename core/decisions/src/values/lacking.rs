//! What has to exist before a pod is looked at: its claims, its group, and enough pods of that.

use std::sync::Arc;

use model::claim::ClaimId;
use model::group::GroupId;

/// What a pod that is held back lacks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lacking {
    /// A claim that it names.
    Claim(ClaimId),
    /// A claim that is to be made from a template.
    Template {
        /// The namespace.
        namespace: Arc<str>,
        /// The template.
        template: Arc<str>,
    },
    /// It has scheduling gates, which have to be removed first.
    Gates,
    /// Its group.
    Group(GroupId),
    /// The workload of its group.
    Workload {
        /// The workload.
        workload: Arc<str>,
    },
    /// Its group, which the workload does not have.
    GroupOfWorkload {
        /// The workload.
        workload: Arc<str>,
        /// The group there.
        group: Arc<str>,
    },
    /// Its replica, which the group of the workload does not have.
    Replica {
        /// The workload.
        workload: Arc<str>,
        /// The group there.
        group: Arc<str>,
        /// The replica, as the pod writes it.
        replica: Arc<str>,
        /// How many there are.
        replicas: usize,
    },
    /// A composite group above its group.
    Composite {
        /// The group.
        group: GroupId,
        /// The composite group.
        composite: Arc<str>,
    },
    /// A composite group above its group that is not within itself.
    CompositeCycle {
        /// The group.
        group: GroupId,
        /// The composite group.
        composite: Arc<str>,
    },
    /// Another member of its gang is held back.
    Member {
        /// The pod's name.
        pod: Arc<str>,
        /// What that lacks.
        lacks: Box<Lacking>,
    },
    /// Enough members of its group.
    Members {
        /// The group.
        group: GroupId,
        /// How many have to be there.
        at_least: u32,
    },
    /// Enough groups of its composite group that have enough members.
    Groups {
        /// The composite group.
        composite: GroupId,
    },
}
