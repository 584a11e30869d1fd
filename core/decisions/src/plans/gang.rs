//! Room that is being made for a gang.

use std::collections::BTreeSet;

use model::claim::ClaimId;
use model::identity::{ClaimUid, PodUid};

/// What is being made free for a gang.
#[derive(Clone, Debug, Default)]
pub struct GangPlan {
    /// The pods that are preempted, by uid.
    pub victims: BTreeSet<PodUid>,
    /// The claims that then give devices back, with their uids.
    pub freeing: Vec<(ClaimId, ClaimUid)>,
}
