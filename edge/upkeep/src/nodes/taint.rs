//! Taints of nodes, as what they say of themselves wants them.

use std::sync::Arc;

use client::Patch;
use controllers::nodes::{self, Census};
use model::timestamp::Timestamp;
use objects::core::node::Node;
use serde_json::{Value, json};

use crate::controller::{Done, Look, Tools, Undone, done};
use crate::kinds::resource;

pub(super) fn look(node: &Arc<Node>, census: Census, now: Timestamp, tools: &Tools) -> Look {
    let Some(taints) = nodes::taints(node, census, now) else { return Look::NOTHING };
    let taints = serde_json::to_value(taints).expect("taints can be written as JSON");
    Look::work(taint(tools.clone(), node.clone(), taints))
}

async fn taint(tools: Tools, node: Arc<Node>, taints: Value) -> Result<Done, Undone> {
    // The version keeps taints that somebody else gave it meanwhile.
    let version = &node.metadata.resource_version;
    let body = json!({ "metadata": { "resourceVersion": version }, "spec": { "taints": taints } });
    let nodes = resource::<Node>("");
    let tainted = done(tools.connection.patch(&nodes, &node.metadata.name, &Patch::Merge, &body).await)?;
    let mut done = Done::default();
    done.learn(tainted);
    Ok(done)
}
