//! What simulated nodes write: signs of life, and what becomes of their pods.

use std::collections::BTreeMap;

use client::{Answer, Clock, Connection, Patch, Recorder, Report, Resource};
use controllers::simulated::phases::{self, Deed};
use controllers::simulated::{readiness, report};
use objects::coordination::Lease;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::meta::{DeleteOptions, Preconditions};
use objects::resource::claim::ResourceClaim;

/// Why a deed was not done.
pub(super) enum Undone {
    /// It went wrong.
    Failed(String),
    /// The node refuses to start the pod as long as its claims are not ready.
    Refused,
}

/// A node's sign of life, and whether it is ready if it has not said so.
pub(super) async fn live(connection: &Connection, clock: Clock, node: &Node) -> Result<(), Undone> {
    let name = &node.metadata.name;
    if let Some(ready) = report::ready(node, clock.now()) {
        let nodes = Resource::<Node>::named("nodes");
        answered(connection.patch_status(&nodes, name, &Patch::Strategic, &ready).await)?;
    }
    let leases = Resource::<Lease>::named("leases").within(report::LEASES);
    match connection.patch(&leases, name, &Patch::Merge, &report::renewal(node, clock.now())).await {
        Answer::NotFound(_) => answered(connection.create(&leases, &report::lease(node, clock.now())).await),
        answer => answered(answer),
    }
}

/// What becomes of a pod.
pub(super) async fn perform(
    connection: &Connection,
    clock: Clock,
    recorder: &Recorder,
    pod: &Pod,
    deed: Deed,
) -> Result<(), Undone> {
    if deed == Deed::Start {
        admit(connection, recorder, pod).await?;
    }
    let pods = Resource::<Pod>::named("pods").within(&pod.metadata.namespace);
    let name = &pod.metadata.name;
    match phases::said(pod, deed, clock.now()) {
        Some(said) => answered(connection.patch_status(&pods, name, &Patch::Strategic, &said).await),
        None => {
            let uid = Some(pod.metadata.uid.clone());
            let options = DeleteOptions {
                grace_period_seconds: Some(0),
                preconditions: Some(Preconditions { uid, ..Preconditions::default() }),
                ..DeleteOptions::default()
            };
            answered(connection.delete(&pods, name, &options).await)
        }
    }
}

/// Looks at the claims of a pod as they are now, as a real node does, and refuses to start it if they are not ready.
async fn admit(connection: &Connection, recorder: &Recorder, pod: &Pod) -> Result<(), Undone> {
    let resource = Resource::<ResourceClaim>::named("resourceclaims").within(&pod.metadata.namespace);
    let mut claims = BTreeMap::new();
    for name in readiness::claims_of(pod) {
        match connection.get(&resource, name).await {
            Answer::Done(claim) => drop(claims.insert(name, claim)),
            Answer::NotFound(_) => {}
            other => return answered(other),
        }
    }
    let Some(why) = readiness::refusal(pod, &|name| claims.get(name)) else { return Ok(()) };
    recorder.record(Report {
        controller: "kubelet".to_owned(),
        regarding: client::reference(pod),
        related: None,
        reason: readiness::REFUSED,
        action: readiness::REFUSED,
        is_warning: true,
        is_once: false,
        note: format!("Failed to prepare dynamic resources: {why}"),
    });
    Err(Undone::Refused)
}

/// Whoever was faster than we were, or took the object away, will be told of.
fn answered<T>(answer: Answer<T>) -> Result<(), Undone> {
    match answer {
        Answer::Done(_) | Answer::Conflict(_) | Answer::NotFound(_) | Answer::AlreadyExists(_) => Ok(()),
        other => Err(Undone::Failed(other.trouble().unwrap_or_default())),
    }
}
