//! Controllers of Kubernetes itself, at work in the same cluster: two that do the same are one too many.

use client::{Connection, Resource};
use objects::coordination::Lease;
use tracing::warn;

/// Controllers that kube-controller-manager does not have.
const OURS_ALONE: [&str; 4] = [
    "fabric-controller",
    "nodetopology-controller",
    "podschedulingcontext-cleaner-controller",
    "supercargo-workload-controller",
];

/// Warns of controllers that a kube-controller-manager runs as well. Pods of jobs, for one, would be made twice.
pub(super) async fn warn_of_doubles(connection: &Connection, names: &[&str]) {
    let leases = Resource::<Lease>::named("leases").within("kube-system");
    let lease = connection.get(&leases, "kube-controller-manager").await.done();
    let Some(holder) = lease.and_then(|lease| lease.spec.holder_identity).filter(|holder| !holder.is_empty())
    else {
        return;
    };
    let doubles: Vec<&str> = names.iter().copied().filter(|name| !OURS_ALONE.contains(name)).collect();
    if !doubles.is_empty() {
        let hint = "exclude the controllers that it runs, as in --controllers='*,-job-controller'";
        warn!(
            holder,
            controllers = doubles.join(","),
            hint,
            "kube-controller-manager may run these controllers too"
        );
    }
}
