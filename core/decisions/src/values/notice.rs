//! What is told of a pod that no node refused: why it waits all the same, or what else people have to know of it.

use std::sync::Arc;

use model::group::GroupName;
use model::identity::NodeName;
use model::timestamp::Timestamp;

use crate::values::driver_wait::Wait;
use crate::values::not_ready::{Awaited, Unready};

/// What is told of a pod that no node refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// It waits on its node for its devices.
    DevicesPending {
        /// The node.
        node: NodeName,
        /// The device that is not ready.
        awaited: Awaited,
        /// When its time is over.
        until: Timestamp,
    },
    /// Its devices are ready, and those of other members of its gang are not.
    MembersPending {
        /// The node.
        node: NodeName,
    },
    /// Its devices are not ready, and it was on its node before it got them.
    CannotWait {
        /// The node.
        node: NodeName,
        /// What of them is not ready.
        unready: Unready,
    },
    /// It is on its node, and a claim that was written for it does not have its devices any more, or is not reserved for it.
    ClaimLost,
    /// It is not decided yet where it goes.
    Undecided,
    /// It could not be decided.
    SearchFailed {
        /// What went wrong.
        why: String,
    },
    /// It has all that it needs, and another member of its gang waits for drivers' controllers.
    MemberWaits {
        /// The name of the other pod.
        member: Arc<str>,
        /// What that waits for.
        wait: Wait,
    },
    /// Its group is ignored, since the feature is off.
    GroupIgnored {
        /// The group.
        group: GroupName,
    },
}
