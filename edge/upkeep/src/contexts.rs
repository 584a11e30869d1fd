//! PodSchedulingContexts whose pods are gone, or need no negotiation any more, are deleted.

use std::sync::Arc;

use client::Answer;
use controllers::contexts;
use objects::core::pod::Pod;
use objects::meta::{DeleteOptions, Preconditions};
use objects::resource::claim::ResourceClaim;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;

use crate::controller::{Controller, Done, Look, Subject, Tools, Undone, done};
use crate::kinds::{Kind, Mark, kind, resource};
use crate::world::{Change, World, name};

/// Deletes PodSchedulingContexts.
pub(crate) struct Contexts;

impl Controller for Contexts {
    fn name(&self) -> &'static str {
        "podschedulingcontext-cleaner-controller"
    }

    fn follows(&self) -> Vec<Kind> {
        vec![kind::<PodSchedulingContext>(), kind::<Pod>(), kind::<ResourceClaim>()]
    }

    fn touched(&self, change: &Change, world: &World) -> Vec<Subject> {
        if let Some(context) = change.of::<PodSchedulingContext>() {
            return context.after.map(Subject::of).into_iter().collect();
        }
        let pods = match (change.of::<Pod>(), change.of::<ResourceClaim>()) {
            (Some(pod), _) => vec![name(pod.object())],
            (_, Some(claim)) => {
                let pods = world.marked::<Pod>(&Mark::Claim(name(claim.object())));
                pods.map(|pod| name(&**pod)).collect()
            }
            _ => Vec::new(),
        };
        // A context has the name of its pod.
        let contexts = pods.into_iter().filter(|name| world.get::<PodSchedulingContext>(name).is_some());
        contexts.map(Subject::named::<PodSchedulingContext>).collect()
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        let Some(context) = world.get::<PodSchedulingContext>(&subject.name) else { return Look::NOTHING };
        let pod = world.get::<Pod>(&subject.name).map(|pod| &**pod);
        let is_allocated = |claim: &str| {
            let name = (subject.name.0.clone(), claim.to_owned());
            world.get::<ResourceClaim>(&name).is_some_and(|claim| claim.status.allocation.is_some())
        };
        if !contexts::is_over(context, pod, is_allocated) {
            return Look::NOTHING;
        }
        Look::work(delete(tools.clone(), context.clone(), pod.is_none()))
    }
}

async fn delete(
    tools: Tools,
    context: Arc<PodSchedulingContext>,
    pod_is_missing: bool,
) -> Result<Done, Undone> {
    let (namespace, name) = (&context.metadata.namespace, &context.metadata.name);
    if pod_is_missing {
        // A pod that we do not know may be new. Only the server can say that it is gone.
        match tools.connection.get(&resource::<Pod>(namespace), name).await {
            Answer::NotFound(_) => {}
            answer => {
                let mut learnt = Done::default();
                learnt.learn(done(answer)?);
                return Ok(learnt);
            }
        }
    }
    // The version keeps one that the scheduler has just taken up again.
    let preconditions = Some(Preconditions {
        uid: Some(context.metadata.uid.clone()),
        resource_version: Some(context.metadata.resource_version.clone()),
        ..Preconditions::default()
    });
    let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
    match tools.connection.delete(&resource::<PodSchedulingContext>(namespace), name, &options).await {
        Answer::NotFound(_) => {}
        answer => done(answer)?,
    }
    Ok(Done::default())
}
