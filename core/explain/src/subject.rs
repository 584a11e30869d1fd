//! What may be explained: a pod, a claim, a pod group, or a workload with its groups.

use cluster::groups::Root;
use decisions::considering::Snapshot;
use model::claim::ClaimId;
use model::group::GroupId;
use model::pod::PodId;
use model::workload::WorkloadId;

use crate::audience::Audience;
use crate::claim::{ClaimExplanation, explain_claim};
use crate::effort::Effort;
use crate::group::{GroupExplanation, explain_group};
use crate::pod::{PodExplanation, explain_pod};

/// What is to be explained.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A pod.
    Pod(PodId),
    /// A claim.
    Claim(ClaimId),
    /// A pod group, or a composite pod group. A pod group of a tree is explained with its tree, since it is placed with it.
    Group(GroupId),
    /// A workload: all of its groups.
    Workload(WorkloadId),
}

/// What is to be said of a subject. As a text it is what `supercargo explain` prints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Explanation {
    /// Of a pod.
    Pod(Box<PodExplanation>),
    /// Of a claim.
    Claim(ClaimExplanation),
    /// Of a group.
    Group(GroupExplanation),
    /// Of the groups of a workload; none if there is no such workload.
    Workload(WorkloadId, Vec<GroupExplanation>),
}

/// Explains a subject from what is known at a moment. It never names objects of namespaces that the audience may not see, and does no
/// more than the effort allows.
#[must_use]
pub fn explain(snapshot: &Snapshot, subject: &Subject, audience: &Audience, effort: Effort) -> Explanation {
    let groups = &snapshot.facts.groups;
    match subject {
        Subject::Pod(id) if !audience.sees(&id.namespace) => {
            Explanation::Pod(Box::new(PodExplanation::NotFound(id.clone())))
        }
        Subject::Pod(id) => Explanation::Pod(Box::new(explain_pod(snapshot, id, audience, effort))),
        Subject::Claim(id) => Explanation::Claim(explain_claim(snapshot, id, audience)),
        Subject::Group(id) if !audience.sees(&id.namespace) => {
            Explanation::Group(GroupExplanation::NotFound(id.clone()))
        }
        Subject::Group(id) => {
            let root = match groups.get(id) {
                Some(_) => groups.root_or_self(id),
                None => Root::Composite(id.clone()),
            };
            Explanation::Group(explain_group(snapshot, &root, audience, effort))
        }
        Subject::Workload(id) => {
            let known = groups.of_workload(id).filter(|_| audience.sees(&id.namespace)).unwrap_or_default();
            let share = effort.share(known.len());
            let of_group =
                |group: &GroupId| explain_group(snapshot, &Root::Group(group.clone()), audience, share);
            Explanation::Workload(id.clone(), known.iter().map(of_group).collect())
        }
    }
}
