//! Leases: heartbeats and leadership.

use crate::meta::ObjectMeta;
use crate::value::MicroTime;
use crate::wire::wire;

wire! {
    /// A claim to leadership or a sign of life, to be renewed.
    pub object Lease of "coordination.k8s.io/v1" {
        metadata: ObjectMeta = "metadata",
        spec: LeaseSpec = "spec",
    }
}

wire! {
    /// Who holds it and since when.
    pub struct LeaseSpec {
        acquire_time: Option<MicroTime> = "acquireTime",
        holder_identity: Option<String> = "holderIdentity",
        lease_duration_seconds: Option<i32> = "leaseDurationSeconds",
        lease_transitions: Option<i32> = "leaseTransitions",
        preferred_holder: Option<String> = "preferredHolder",
        renew_time: Option<MicroTime> = "renewTime",
        strategy: Option<String> = "strategy",
    }
}
