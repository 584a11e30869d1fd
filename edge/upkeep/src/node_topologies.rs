//! The status of topologies: which domains their levels have, and which nodes are in none.

use client::Answer;
use controllers::node_topologies;
use objects::core::node::Node;
use objects::supercargo::node_topology::NodeTopology;

use crate::controller::{Controller, Done, Look, Subject, Tools, Undone, done};
use crate::kinds::{Kind, kind, resource};
use crate::world::{Change, World};

/// Keeps the status of topologies.
pub(crate) struct NodeTopologies;

impl Controller for NodeTopologies {
    fn name(&self) -> &'static str {
        "nodetopology-controller"
    }

    fn follows(&self) -> Vec<Kind> {
        vec![kind::<NodeTopology>(), kind::<Node>()]
    }

    fn touched(&self, change: &Change, world: &World) -> Vec<Subject> {
        if let Some(topology) = change.of::<NodeTopology>() {
            return topology.after.map(Subject::of).into_iter().collect();
        }
        let Some(node) = change.of::<Node>() else { return Vec::new() };
        let labels = |node: Option<&Node>| node.map(|node| node.metadata.labels.clone());
        if labels(node.before) == labels(node.after) {
            // Nodes report every few seconds, and only their labels count.
            return Vec::new();
        }
        world.all::<NodeTopology>().map(|topology| Subject::of(&**topology)).collect()
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        let Some(topology) = world.get::<NodeTopology>(&subject.name) else { return Look::NOTHING };
        let nodes = world.all::<Node>().map(|node| &**node);
        let Some(status) = node_topologies::status(topology, nodes, world.now) else { return Look::NOTHING };
        let mut changed = NodeTopology::clone(topology);
        changed.status = status;
        Look::work(write(tools.clone(), changed))
    }
}

async fn write(tools: Tools, changed: NodeTopology) -> Result<Done, Undone> {
    let mut learnt = Done::default();
    match tools.connection.update_status(&resource::<NodeTopology>(""), &changed).await {
        Answer::NotFound(_) => {}
        answer => learnt.learn(done(answer)?),
    }
    Ok(learnt)
}
