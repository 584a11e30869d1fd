//! Pod groups: made for workloads that belong to nobody, and kept while pods refer to them.

use std::sync::Arc;

use client::Answer;
use controllers::{claimants, pod_groups};
use objects::core::pod::Pod;
use objects::scheduling::pod_group::PodGroup;
use objects::scheduling::workload::Workload;

use crate::controller::{Controller, Done, Look, Subject, Tools, Undone, done};
use crate::kinds::{Kind, Mark, kind, resource};
use crate::world::{Change, World};

/// Makes groups from workloads.
pub(crate) struct Workloads;

/// The name of the controller that makes groups. Kubernetes has none like it.
const WORKLOADS: &str = "workload-controller";

impl Controller for Workloads {
    fn name(&self) -> &'static str {
        WORKLOADS
    }

    fn follows(&self) -> Vec<Kind> {
        vec![kind::<Workload>(), kind::<PodGroup>()]
    }

    fn touched(&self, change: &Change, _: &World) -> Vec<Subject> {
        if let Some(workload) = change.of::<Workload>() {
            return vec![Subject::of(workload.object())];
        }
        let group = change.of::<PodGroup>().map(|group| group.object());
        let reference = group.and_then(|group| Some((group, group.spec.workload_ref.as_ref()?)));
        let workload = reference.map(|(group, reference)| {
            Subject::named::<Workload>((group.metadata.namespace.clone(), reference.workload_name.clone()))
        });
        workload.into_iter().collect()
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        let Some(workload) = world.get::<Workload>(&subject.name) else { return Look::NOTHING };
        let groups: Vec<&PodGroup> = world.within::<PodGroup>(&subject.name.0).map(|one| &**one).collect();
        let missing = pod_groups::missing(workload, &groups);
        if missing.is_empty() || !world.serves::<PodGroup>() {
            return Look::NOTHING;
        }
        Look::work(make(tools.clone(), workload.clone(), missing))
    }
}

async fn make(tools: Tools, workload: Arc<Workload>, missing: Vec<PodGroup>) -> Result<Done, Undone> {
    let groups = resource::<PodGroup>(&workload.metadata.namespace);
    let mut made = Done::default();
    for group in missing {
        let answer = tools.connection.create(&groups, &group).await;
        if let Some(why) = answer.trouble() {
            let note = format!("cannot create PodGroup {}: {why}", group.metadata.name);
            tools.warn(&*workload, WORKLOADS, "FailedPodGroupCreate", note);
        }
        let group = done(answer)?;
        let note = format!("created PodGroup {}", group.metadata.name);
        tools.tell(&*workload, WORKLOADS, "PodGroupCreated", note);
        made.learn(group);
    }
    Ok(made)
}

/// Lets groups go that nobody needs.
pub(crate) struct Protection;

impl Controller for Protection {
    fn name(&self) -> &'static str {
        "podgroup-protection-controller"
    }

    fn follows(&self) -> Vec<Kind> {
        vec![kind::<PodGroup>(), kind::<Pod>()]
    }

    fn touched(&self, change: &Change, _: &World) -> Vec<Subject> {
        if let Some(group) = change.of::<PodGroup>() {
            return vec![Subject::of(group.object())];
        }
        let pod = change.of::<Pod>().map(|pod| pod.object());
        let group = pod.and_then(|pod| Some((pod, claimants::group_of(pod)?)));
        let named = |(pod, group): (&Pod, &str)| (pod.metadata.namespace.clone(), group.to_owned());
        group.map(|group| Subject::named::<PodGroup>(named(group))).into_iter().collect()
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        let Some(group) = world.get::<PodGroup>(&subject.name) else { return Look::NOTHING };
        let pods = world.marked::<Pod>(&Mark::Group(subject.name.clone())).map(|pod| &**pod);
        match pod_groups::unprotected(group, pods) {
            Some(free) => Look::work(unprotect(tools.clone(), free)),
            None => Look::NOTHING,
        }
    }
}

async fn unprotect(tools: Tools, free: PodGroup) -> Result<Done, Undone> {
    let groups = resource::<PodGroup>(&free.metadata.namespace);
    match tools.connection.update(&groups, &free).await {
        Answer::NotFound(_) => Ok(Done::default()),
        answer => done(answer).map(|_| Done::default()),
    }
}
