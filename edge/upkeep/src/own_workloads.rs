//! The status of our own workloads: how many pods of each group are on nodes.

use client::Answer;
use controllers::own_workloads::{self, workload_of};
use objects::core::pod::Pod;
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
        vec![kind::<Workload>(), kind::<Pod>()]
    }

    fn touched(&self, change: &Change, world: &World) -> Vec<Subject> {
        if let Some(workload) = change.of::<Workload>() {
            return workload.after.map(Subject::of).into_iter().collect();
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
        let Some(status) = own_workloads::status(workload, pods, world.now) else { return Look::NOTHING };
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
