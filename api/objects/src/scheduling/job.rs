//! What jobs say of how their pods are scheduled, where it differs from what pod groups say.

use crate::scheduling::pod_group::BasicSchedulingPolicy;
use crate::wire::wire;

wire! {
    /// One by one, or all at once: exactly one is set.
    pub struct JobSchedulingPolicy {
        basic: Option<BasicSchedulingPolicy> = "basic",
        gang: Option<JobGangSchedulingPolicy> = "gang",
    }
}

wire! {
    /// At least this many pods at once, or none; as many as run side by side if nothing is said.
    pub struct JobGangSchedulingPolicy {
        min_count: Option<i32> = "minCount",
    }
}
