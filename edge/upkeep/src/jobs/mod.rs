//! Jobs: pods are made for them and counted, and those of a job that is gone are let go.

mod carry;
mod group;
mod orphan;

use controllers::jobs;
use controllers::jobs::group::Grouping;
use gates::Gate;
use objects::Object;
use objects::batch::Job;
use objects::core::pod::Pod;
use objects::meta::OwnerReference;
use objects::scheduling::pod_group::PodGroup;
use objects::scheduling::workload::Workload;

use crate::controller::{Controller, Look, Subject, Tools};
use crate::kinds::{Kind, kind};
use crate::world::{Change, Name, World, name};

/// The name of the controller.
const NAME: &str = "job-controller";

/// Carries jobs through.
pub(crate) struct Jobs;

impl Controller for Jobs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn follows(&self) -> Vec<Kind> {
        vec![kind::<Pod>(), kind::<Job>(), kind::<Workload>(), kind::<PodGroup>()]
    }

    fn touched(&self, change: &Change, world: &World) -> Vec<Subject> {
        if let Some(pod) = change.of::<Pod>() {
            return around_pod(pod.object(), world);
        }
        if let Some(job) = change.of::<Job>() {
            let pods = world.owned::<Pod>(&job.object().metadata.uid).map(|pod| Subject::of(&**pod));
            let is_over = job.after.is_none_or(jobs::is_finished);
            return pods.filter(|_| is_over).chain([Subject::of(job.object())]).collect();
        }
        if let Some(group) = change.of::<PodGroup>() {
            let metadata = &group.object().metadata;
            return job_among(&metadata.owner_references, &metadata.namespace).into_iter().collect();
        }
        match change.of::<Workload>() {
            Some(workload) => around_workload(workload.object(), world),
            None => Vec::new(),
        }
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        match subject.kind {
            Pod::KIND => orphan::look(&subject.name, world, tools),
            _ => look(&subject.name, world, tools),
        }
    }
}

/// A pod's job, and the pod itself if it has to be let go.
fn around_pod(pod: &Pod, world: &World) -> Vec<Subject> {
    let Some((job, _)) = jobs::job_of(pod) else { return Vec::new() };
    let job = (pod.metadata.namespace.clone(), job.to_owned());
    let is_orphan = jobs::is_orphan(pod, orphan::job_of(pod, world));
    let pod = is_orphan.then(|| Subject::of(pod));
    pod.into_iter().chain([Subject::named::<Job>(job)]).collect()
}

/// The job that a workload was made for, and those that wait for the workload of their parent.
fn around_workload(workload: &Workload, world: &World) -> Vec<Subject> {
    let metadata = &workload.metadata;
    let waiting = world.within::<Job>(&metadata.namespace).filter(|job| jobs::group::is_delegated(job));
    let waiting = waiting.map(|job| Subject::of(&**job));
    job_among(&metadata.owner_references, &metadata.namespace).into_iter().chain(waiting).collect()
}

fn job_among(owners: &[OwnerReference], namespace: &str) -> Option<Subject> {
    let owner = owners.iter().find(|owner| owner.controller == Some(true) && owner.kind == Job::KIND)?;
    Some(Subject::named::<Job>((namespace.to_owned(), owner.name.clone())))
}

fn look(name: &Name, world: &World, tools: &Tools) -> Look {
    let Some(job) = world.get::<Job>(name) else { return Look::NOTHING };
    let pods = world.owned::<Pod>(&job.metadata.uid).map(|pod| &**pod);
    let is_ours = |pod: &&Pod| jobs::job_of(pod).is_some_and(|(_, uid)| uid == job.metadata.uid);
    let pods: Vec<&Pod> = pods.filter(is_ours).collect();
    let is_over = jobs::is_finished(job) || job.metadata.deletion_timestamp.is_some();
    let group = if is_over || !tools.gates.enabled(Gate::WorkloadWithJob) {
        None
    } else {
        let workloads: Vec<&Workload> = world.within::<Workload>(&name.0).map(|one| &**one).collect();
        let groups: Vec<&PodGroup> = world.within::<PodGroup>(&name.0).map(|one| &**one).collect();
        match jobs::group::grouping(job, &pods, &workloads, &groups) {
            Grouping::Settled(group) => group,
            Grouping::Wait => return Look::NOTHING,
            step => return group::look(job, step, tools),
        }
    };
    let actions = jobs::reconcile(job, &pods, group, tools.clock.now());
    let again_at = actions.again_at;
    if actions == (jobs::JobActions { again_at, ..jobs::JobActions::default() }) {
        return Look { again_at, ..Look::NOTHING };
    }
    Look { again_at, ..Look::work(carry::carry_out(tools.clone(), job.clone(), actions)) }
}

/// The name of an object's namespace and its own, for people.
fn named<K: Object>(object: &K) -> String {
    let (namespace, name) = name(object);
    format!("{namespace}/{name}")
}
