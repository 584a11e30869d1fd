//! Claims that a group uses in its members' stead: they are reserved for the group, whichever member comes first, and let go with
//! the last member that is on a node or on its way to one.

use model::claim::ClaimId;
use model::pod::Pod;

use crate::engine::Engine;
use crate::write::{Consumer, GroupUser};

impl Engine {
    /// The consumer of a claim of a pod: the pod, or its group instead of the pod.
    pub(crate) fn consumer(&self, pod: &Pod, claim: &ClaimId) -> Consumer {
        let group = self
            .facts
            .group_user(pod, claim)
            .map(|group| GroupUser { name: group.id.name.clone(), uid: group.uid.clone() });
        Consumer { name: pod.id.name.clone(), uid: pod.uid.clone(), group }
    }
}
