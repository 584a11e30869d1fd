//! The status of our own workloads: how many pods of each group are on nodes, where, and why others wait.

use client::Answer;
use controllers::own_workloads::{self, Map, workload_of};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::supercargo::node_topology::NodeTopology;
use objects::supercargo::workload::Workload;

use crate::controller::{Controller, Done, Look, Subject, Tools, Undone, done};
use crate::kinds::{Kind, Mark, kind, resource};
use crate::world::{Change, World};

/// Keeps the status of our own workloads.
pub(crate) struct OwnWorkloads;

impl Controller for OwnWorkloads {
    fn name(&self) -> &'static str {
        "supercargo-workload-controller"
    }

    fn follows(&self) -> Vec<Kind> {
        vec![kind::<Workload>(), kind::<Pod>(), kind::<Node>(), kind::<NodeTopology>()]
    }

    fn touched(&self, change: &Change, world: &World) -> Vec<Subject> {
        if let Some(workload) = change.of::<Workload>() {
            return workload.after.map(Subject::of).into_iter().collect();
        }
        if let Some(node) = change.of::<Node>() {
            let labels = |node: Option<&Node>| node.map(|node| node.metadata.labels.clone());
            // Nodes report every few seconds. One that comes has no pods yet, and those of one that goes are gone soon.
            let is_moved =
                node.before.is_some() && node.after.is_some() && labels(node.before) != labels(node.after);
            let all = world.all::<Workload>().filter(|_| is_moved);
            return all.map(|workload| Subject::of(&**workload)).collect();
        }
        if let Some(topology) = change.of::<NodeTopology>() {
            let spec = |topology: Option<&NodeTopology>| topology.map(|topology| topology.spec.clone());
            let is_moved = spec(topology.before) != spec(topology.after);
            let all = world.all::<Workload>().filter(|_| is_moved);
            return all.map(|workload| Subject::of(&**workload)).collect();
        }
        let Some(pod) = change.of::<Pod>() else { return Vec::new() };
        let named = |pod: &Pod| Some((pod.metadata.namespace.clone(), workload_of(pod)?.0.to_owned()));
        let names = [pod.before, pod.after].into_iter().flatten().filter_map(named);
        let known = names.filter(|name| world.get::<Workload>(name).is_some());
        known.map(Subject::named::<Workload>).collect()
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        let Some(workload) = world.get::<Workload>(&subject.name) else { return Look::NOTHING };
        let pods = world.marked::<Pod>(&Mark::Workload(subject.name.clone())).map(|pod| &**pod);
        let node = |name: &str| world.get::<Node>(&(String::new(), name.to_owned())).map(|node| &**node);
        let map = Map::new(&node, world.all::<NodeTopology>().map(|topology| &**topology));
        let status = own_workloads::status(workload, pods, &map, world.now);
        let Some(status) = status else { return Look::NOTHING };
        let mut changed = Workload::clone(workload);
        changed.status = status;
        Look::work(write(tools.clone(), changed))
    }
}

async fn write(tools: Tools, changed: Workload) -> Result<Done, Undone> {
    let mut learnt = Done::default();
    match tools.connection.update_status(&resource::<Workload>(&changed.metadata.namespace), &changed).await {
        Answer::NotFound(_) => {}
        answer => learnt.learn(done(answer)?),
    }
    Ok(learnt)
}
