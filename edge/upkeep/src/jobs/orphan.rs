//! Pods whose job is gone or has ended: nobody will count them any more, so nothing keeps them.

use std::sync::Arc;

use client::Answer;
use controllers::jobs::{self, PodName};
use objects::batch::Job;
use objects::core::pod::Pod;

use super::carry;
use crate::controller::{Done, Look, Tools, Undone, done};
use crate::kinds::resource;
use crate::world::{Name, World};

/// The job of a pod, if it is known.
pub(super) fn job_of<'a>(pod: &Pod, world: &'a World) -> Option<&'a Job> {
    let (name, uid) = jobs::job_of(pod)?;
    let job = world.get::<Job>(&(pod.metadata.namespace.clone(), name.to_owned()))?;
    (job.metadata.uid == uid).then_some(job)
}

pub(super) fn look(name: &Name, world: &World, tools: &Tools) -> Look {
    let Some(pod) = world.get::<Pod>(name) else { return Look::NOTHING };
    let job = job_of(pod, world);
    if jobs::job_of(pod).is_none() || !jobs::is_orphan(pod, job) {
        return Look::NOTHING;
    }
    Look::work(let_go(tools.clone(), pod.clone(), job.is_some()))
}

async fn let_go(tools: Tools, pod: Arc<Pod>, is_known: bool) -> Result<Done, Undone> {
    let namespace = &pod.metadata.namespace;
    // A job that we do not know may be new. Only the server can say that it is gone.
    if let Some((job, uid)) = jobs::job_of(&pod).filter(|_| !is_known) {
        match tools.connection.get(&resource::<Job>(namespace), job).await {
            Answer::NotFound(_) => {}
            answer => {
                if done(answer)?.metadata.uid == uid {
                    return Ok(Done::default());
                }
            }
        }
    }
    let released = PodName { name: pod.metadata.name.clone(), uid: pod.metadata.uid.clone() };
    let mut learnt = Done::default();
    if let Some(pod) = carry::release(&tools, namespace, released).await? {
        learnt.learn(pod);
    }
    Ok(learnt)
}
