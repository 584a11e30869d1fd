//! Pods that nobody will end any more are removed.

use std::collections::BTreeMap;
use std::sync::Arc;

use client::Answer;
use controllers::pod_garbage::{self, Ended, Home, PodGarbageAction, Reason};
use model::timestamp::Timestamp;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::meta::{DeleteOptions, Preconditions};

use crate::controller::{Controller, Done, Look, Subject, Tools, Undone, done};
use crate::evict::patched;
use crate::kinds::{Kind, Mark, kind, resource};
use crate::notice::Notice;
use crate::world::{Change, Name, World};

/// The name of the controller.
const NAME: &str = "pod-garbage-collector-controller";

/// Removes pods.
#[derive(Default)]
pub(crate) struct PodGarbage {
    /// Nodes that pods name and that are not there, and since when they are missed.
    missing: BTreeMap<String, Timestamp>,
    ended: Ended,
}

impl Controller for PodGarbage {
    fn name(&self) -> &'static str {
        NAME
    }

    fn follows(&self) -> Vec<Kind> {
        vec![kind::<Pod>(), kind::<Node>()]
    }

    fn note(&mut self, change: &Change, world: &World, now: Timestamp) {
        if let Some(node) = change.of::<Node>() {
            let name = &node.object().metadata.name;
            let is_used = world.marked::<Pod>(&Mark::Node(name.clone())).next().is_some();
            if node.after.is_some() {
                self.missing.remove(name);
            } else if is_used {
                self.missing.insert(name.clone(), now);
            }
        }
        let Some(pod) = change.of::<Pod>() else { return };
        self.ended.note(pod.before, pod.after);
        let name = &pod.object().spec.node_name;
        if name.is_empty() || world.get::<Node>(&node_name(name)).is_some() {
            return;
        }
        if pod.after.is_some() {
            self.missing.entry(name.clone()).or_insert(now);
        } else if world.marked::<Pod>(&Mark::Node(name.clone())).next().is_none() {
            self.missing.remove(name);
        }
    }

    fn touched(&self, change: &Change, world: &World) -> Vec<Subject> {
        if let Some(pod) = change.of::<Pod>() {
            // One more that has ended, or one less, may be another's turn.
            let next = self.ended.first().map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
            let next = next.map(Subject::named::<Pod>);
            return pod.after.map(Subject::of).into_iter().chain(next).collect();
        }
        let Some(node) = change.of::<Node>() else { return Vec::new() };
        let pods = world.marked::<Pod>(&Mark::Node(node.object().metadata.name.clone()));
        pods.map(|pod| Subject::of(&**pod)).collect()
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        let Some(pod) = world.get::<Pod>(&subject.name) else { return Look::NOTHING };
        let name = &pod.spec.node_name;
        let home = match (name.as_str(), world.get::<Node>(&node_name(name)), self.missing.get(name)) {
            ("", ..) => Home::Nowhere,
            (_, Some(node), _) => Home::On(node),
            (_, None, Some(since)) => Home::Missing { since: *since },
            (_, None, None) => return Look::NOTHING,
        };
        if self.ended.is_surplus(pod, tools.limits.ended_pods_max) {
            return Look::work(remove(tools.clone(), pod.clone(), Reason::Surplus));
        }
        match pod_garbage::decide(pod, home, tools.limits.quarantine, tools.clock.now()) {
            PodGarbageAction::Leave => Look::NOTHING,
            PodGarbageAction::Wait(until) => Look::at(until),
            PodGarbageAction::Remove(reason) => Look::work(remove(tools.clone(), pod.clone(), reason)),
        }
    }
}

async fn remove(tools: Tools, pod: Arc<Pod>, reason: Reason) -> Result<Done, Undone> {
    if reason == Reason::Orphaned {
        // Only the server can say that a node is gone.
        match tools.connection.get(&resource::<Node>(""), &pod.spec.node_name).await {
            Answer::NotFound(_) => {}
            answer => {
                let mut learnt = Done::default();
                learnt.learn(done(answer)?);
                return Ok(learnt);
            }
        }
    }
    let namespace = &pod.metadata.namespace;
    let result = end(&tools, &pod, reason).await;
    tools.listener.hear(&Notice::Removed { namespace, reason, done: result.is_ok() });
    result
}

async fn end(tools: &Tools, pod: &Pod, reason: Reason) -> Result<Done, Undone> {
    if let Some(words) = pod_garbage::last_words(pod, reason, tools.clock.now()) {
        patched(tools, pod, &words).await?;
    }
    let preconditions =
        Some(Preconditions { uid: Some(pod.metadata.uid.clone()), ..Preconditions::default() });
    let options = DeleteOptions { grace_period_seconds: Some(0), preconditions, ..DeleteOptions::default() };
    match tools
        .connection
        .delete(&resource::<Pod>(&pod.metadata.namespace), &pod.metadata.name, &options)
        .await
    {
        Answer::NotFound(_) => {}
        answer => done(answer)?,
    }
    Ok(Done::default())
}

fn node_name(name: &str) -> Name {
    (String::new(), name.to_owned())
}
