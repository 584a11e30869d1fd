//! Nodes that are given up, and what that means for their pods.
//!
//! Invariant: before a node is given up the server is asked for its lease. A stream may have stopped without a word.

use std::sync::Arc;

use client::{Answer, Patch};
use controllers::node_life::{self, Pulse};
use objects::coordination::Lease;
use objects::core::node::{Node, NodeCondition};
use objects::core::pod::Pod;
use serde_json::{Value, json};

use super::{LEASES, NAME, node_name};
use crate::controller::{Done, Look, Tools, Undone, done};
use crate::evict::patched;
use crate::kinds::resource;
use crate::world::{Name, World};

pub(super) async fn give_up(
    tools: Tools,
    node: Arc<Node>,
    mut pulse: Pulse,
    conditions: Vec<NodeCondition>,
) -> Result<Done, Undone> {
    let name = &node.metadata.name;
    let mut learnt = Done::default();
    match tools.connection.get(&resource::<Lease>(LEASES), name).await {
        Answer::NotFound(_) => {}
        answer => {
            let lease = done(answer)?;
            if pulse.listen(&node, Some(&lease), tools.clock.now()) {
                learnt.learn(lease);
                return Ok(learnt);
            }
        }
    }
    // The version keeps what the node said meanwhile.
    let version = &node.metadata.resource_version;
    let body = json!({ "metadata": { "resourceVersion": version }, "status": { "conditions": conditions } });
    let nodes = resource::<Node>("");
    learnt.learn(done(tools.connection.patch_status(&nodes, name, &Patch::Strategic, &body).await)?);
    tools.tell(&*node, NAME, "NodeNotReady", format!("node {name} missed its heartbeats"));
    Ok(learnt)
}

pub(super) fn look_at_pod(name: &Name, world: &World, tools: &Tools) -> Look {
    let Some(pod) = world.get::<Pod>(name) else { return Look::NOTHING };
    let node = world.get::<Node>(&node_name(&pod.spec.node_name));
    match node.and_then(|node| node_life::unready(pod, node, tools.clock.now())) {
        None => Look::NOTHING,
        Some(patch) => Look::work(unready(tools.clone(), pod.clone(), patch)),
    }
}

async fn unready(tools: Tools, pod: Arc<Pod>, patch: Value) -> Result<Done, Undone> {
    let mut said = Done::default();
    said.learn(patched(&tools, &pod, &patch).await?);
    let note = format!("node {} is not ready", pod.spec.node_name);
    tools.warn(&*pod, NAME, "NodeNotReady", note);
    Ok(said)
}
