//! Kinds that are kept and served so that clients find them, and into which nothing here looks.

use crate::meta::ObjectMeta;
use crate::wire::Raw;
use crate::wire::wire;

wire! {
    /// Keeps replica sets of a pod template, one after the other.
    pub object Deployment of "apps/v1" {
        metadata: ObjectMeta = "metadata",
        spec: Option<Raw> = "spec",
        status: Option<Raw> = "status",
    }
}

wire! {
    /// Keeps a pod on every node.
    pub object DaemonSet of "apps/v1" {
        metadata: ObjectMeta = "metadata",
        spec: Option<Raw> = "spec",
        status: Option<Raw> = "status",
    }
}

wire! {
    /// Makes jobs by the clock.
    pub object CronJob of "batch/v1" {
        metadata: ObjectMeta = "metadata",
        spec: Option<Raw> = "spec",
        status: Option<Raw> = "status",
    }
}

wire! {
    /// Scales a set of pods by load.
    pub object HorizontalPodAutoscaler of "autoscaling/v2" {
        metadata: ObjectMeta = "metadata",
        spec: Option<Raw> = "spec",
        status: Option<Raw> = "status",
    }
}

wire! {
    /// Routes traffic to services.
    pub object Ingress of "networking.k8s.io/v1" {
        metadata: ObjectMeta = "metadata",
        spec: Option<Raw> = "spec",
        status: Option<Raw> = "status",
    }
}

wire! {
    /// Somebody who could hold a lease.
    pub object LeaseCandidate of "coordination.k8s.io/v1beta1" {
        metadata: ObjectMeta = "metadata",
        spec: Option<Raw> = "spec",
        status: Option<Raw> = "status",
    }
}

wire! {
    /// Addresses behind a service.
    pub object Endpoints of "v1" {
        metadata: ObjectMeta = "metadata",
        spec: Option<Raw> = "spec",
        status: Option<Raw> = "status",
    }
}
