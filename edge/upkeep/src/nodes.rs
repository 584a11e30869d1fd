//! Taints of nodes, as what they say of themselves wants them.

use std::sync::Arc;

use client::Patch;
use controllers::nodes;
use objects::core::node::Node;
use serde_json::json;

use crate::controller::{Controller, Done, Look, Subject, Tools, Undone, done};
use crate::kinds::{Kind, kind, resource};
use crate::world::{Change, World};

/// Gives nodes their taints.
pub(crate) struct Nodes;

impl Controller for Nodes {
    fn name(&self) -> &'static str {
        "node-lifecycle-controller"
    }

    fn follows(&self) -> Vec<Kind> {
        vec![kind::<Node>()]
    }

    fn touched(&self, change: &Change, _: &World) -> Vec<Subject> {
        change.of::<Node>().map(|node| Subject::of(node.object())).into_iter().collect()
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        let Some(node) = world.get::<Node>(&subject.name) else { return Look::NOTHING };
        let Some(taints) = nodes::taints(node) else { return Look::NOTHING };
        let taints = serde_json::to_value(taints).expect("taints can be written as JSON");
        Look::work(taint(tools.clone(), node.clone(), taints))
    }
}

async fn taint(tools: Tools, node: Arc<Node>, taints: serde_json::Value) -> Result<Done, Undone> {
    // The version keeps taints that somebody else gave it meanwhile.
    let version = &node.metadata.resource_version;
    let body = json!({ "metadata": { "resourceVersion": version }, "spec": { "taints": taints } });
    let nodes = resource::<Node>("");
    let tainted = done(tools.connection.patch(&nodes, &node.metadata.name, &Patch::Merge, &body).await)?;
    let mut done = Done::default();
    done.learn(tainted);
    Ok(done)
}
