//! The controllers of a world, in one process: claims are made from templates, and released when their users are done.
//!
//! What is to be done is decided by `api/controllers`. The keeper sees pods, claims and templates by streams of their own,
//! later than they are, and writes one thing after the other.
//!
//! Invariant: nothing is remembered that the API's objects do not say, but for claims that were made and not told of yet.
//! What was decided by an old state is not done to a new one: writes name the version that they were made from, or the uid.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use controllers::claim_templates::{self, Step};
use controllers::claims::{self, User};
use convert::request::{ApiCall, Verb};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use serde_json::{Value, json};
use store::Key;

use super::api::{Api, Refused, text};
use super::machine::uid;
use super::plan::Sabotage;
use super::replica::Stream;

/// Something to be written, and what then.
#[derive(Clone, Debug)]
enum Task {
    /// Make the claims of a pod, and note on the pod which they are.
    MakeClaims { pod: Arc<Value>, steps: VecDeque<Step>, made: Vec<(String, String)> },
    /// Write the status of a claim, and take its protection away if it has no devices then.
    Release(Box<ResourceClaim>),
    /// Take the protection of a claim away.
    Unprotect(Box<ResourceClaim>),
    /// Delete a claim.
    Delete(Box<ResourceClaim>),
}

/// The controllers, and what they know.
#[derive(Debug)]
pub(crate) struct Keeper {
    pods: Stream,
    claims: Stream,
    templates: Stream,
    tasks: VecDeque<Task>,
    /// Everything that is known was looked at.
    is_done: bool,
    pub down_until: i64,
}

impl Keeper {
    pub fn new(api: &Api) -> Keeper {
        let stream = |kind: &str| Stream::new(api.site(kind));
        Keeper {
            pods: stream("Pod"),
            claims: stream("ResourceClaim"),
            templates: stream("ResourceClaimTemplate"),
            tasks: VecDeque::new(),
            is_done: false,
            down_until: 0,
        }
    }

    /// Sees what is new, of each kind up to so many changes; at first everything.
    pub fn follow(&mut self, api: &mut Api, most: [usize; 3]) {
        for (stream, most) in [&mut self.pods, &mut self.claims, &mut self.templates].into_iter().zip(most) {
            let news = if stream.listed { stream.news(api, most) } else { stream.everything(api) };
            self.is_done &= news.is_empty();
        }
    }

    /// Whether there is something to do.
    pub fn has_work(&mut self, api: &mut Api, sabotage: Sabotage) -> bool {
        if self.tasks.is_empty() && !self.is_done {
            self.look(api, sabotage);
            self.is_done = self.tasks.is_empty();
        }
        !self.tasks.is_empty()
    }

    /// Does the next thing, and says what it was. Nothing, if there is nothing to do.
    pub fn work(&mut self, api: &mut Api, sabotage: Sabotage) -> Option<String> {
        let mut task = self.tasks.pop_front()?;
        let what = task.to_string();
        // Who was overtaken looks again when that is told.
        if let Ok(true) = self.carry_out(api, &mut task, sabotage) {
            self.tasks.push_front(task);
        }
        Some(what)
    }

    /// What was planned is given up, as if no answer had come.
    pub fn give_up(&mut self) {
        self.tasks.clear();
        self.is_done = false;
    }

    fn look(&mut self, api: &mut Api, sabotage: Sabotage) {
        let pods: Vec<(Key, Arc<Value>)> =
            self.pods.known.iter().map(|(key, pod)| (key.clone(), pod.clone())).collect();
        for (key, pod) in pods {
            self.tasks.extend(self.claims_to_make(&key, &pod));
        }
        let claims: Vec<Arc<Value>> = self.claims.known.values().cloned().collect();
        for claim in claims {
            self.tasks.extend(self.review(api, &claim, sabotage));
        }
    }

    fn claims_to_make(&self, key: &Key, pod: &Arc<Value>) -> Option<Task> {
        if claims::is_done(&typed::<Pod>(pod)) {
            return None;
        }
        let own: Vec<Value> = self.claims.known.values().map(|claim| Value::clone(claim)).collect();
        let template = |name: &str| {
            self.templates.known.get(&Key::new(&key.namespace, name)).map(|template| Value::clone(template))
        };
        let mut steps = claim_templates::steps(pod, &template, &own);
        steps.retain(|step| !matches!(step, Step::Wait { .. }));
        (!steps.is_empty()).then(|| Task::MakeClaims {
            pod: pod.clone(),
            steps: steps.into(),
            made: Vec::new(),
        })
    }

    fn review(&self, api: &mut Api, claim: &Value, sabotage: Sabotage) -> Option<Task> {
        let claim: ResourceClaim = typed(claim);
        let namespace = &claim.metadata.namespace;
        // Of a pod that is not known as the one that is meant, only the API can say whether it is gone.
        let wanted: BTreeMap<&str, Vec<&str>> = wanted(&claim);
        let mut users: BTreeMap<&str, User> = BTreeMap::new();
        for (name, uids) in &wanted {
            let known = self.pods.known.get(&Key::new(namespace, name)).cloned();
            let known = known.filter(|pod| uids.iter().all(|wanted| *wanted == uid(pod)));
            if let Some(pod) = known.or_else(|| api.get("Pod", namespace, name)) {
                users.insert(name, User::of(&typed(&pod)));
            }
        }
        let decided = claims::decide(&claim, &|name| users.get(name).cloned());
        match decided {
            claims::Step::Leave => None,
            claims::Step::Release(_) if sabotage == Sabotage::ForgetsToRelease => None,
            claims::Step::Release(mut released) => {
                if sabotage == Sabotage::KeepsAllocations {
                    released.status.allocation = claim.status.allocation;
                }
                Some(Task::Release(released))
            }
            claims::Step::Unprotect if sabotage == Sabotage::KeepsProtection => None,
            claims::Step::Unprotect => {
                claims::unprotected(&claim).map(|free| Task::Unprotect(Box::new(free)))
            }
            claims::Step::Delete if sabotage == Sabotage::KeepsMadeClaims => None,
            claims::Step::Delete => Some(Task::Delete(Box::new(claim))),
        }
    }

    /// Makes the next write of a task, and says whether there is more to it.
    fn carry_out(&mut self, api: &mut Api, task: &mut Task, sabotage: Sabotage) -> Result<bool, Refused> {
        match task {
            Task::MakeClaims { pod, steps, made } => match steps.pop_front() {
                Some(Step::Make { entry, claim }) => {
                    let claim = api.create(&claim)?;
                    let name = text(&claim["metadata"]["name"]).to_owned();
                    self.claims.known.insert(Key::new(text(&claim["metadata"]["namespace"]), &name), claim);
                    made.push((entry, name));
                    Ok(true)
                }
                Some(Step::Note { entry, claim }) => {
                    made.push((entry, claim));
                    self.carry_out(api, task, sabotage)
                }
                Some(Step::Wait { .. }) => self.carry_out(api, task, sabotage),
                None => api.perform(&noted(pod, made)).map(|_| false),
            },
            Task::Release(claim) => {
                let left = api.update("ResourceClaim", &value(claim), true)?;
                let free = claims::unprotected(&typed(&left));
                let free = free.filter(|_| sabotage != Sabotage::KeepsProtection);
                let Some(free) = free else { return Ok(false) };
                *task = Task::Unprotect(Box::new(free));
                Ok(true)
            }
            Task::Unprotect(claim) => api.update("ResourceClaim", &value(claim), false).map(|_| false),
            Task::Delete(claim) => {
                let meta = &claim.metadata;
                let place = (meta.namespace.as_str(), meta.name.as_str());
                api.delete("ResourceClaim", place, None, Some(&meta.uid)).map(|_| false)
            }
        }
    }
}

impl std::fmt::Display for Task {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Task::MakeClaims { pod, steps, .. } => {
                let pod = text(&pod["metadata"]["name"]);
                let makes = steps.iter().find_map(|step| match step {
                    Step::Make { entry, .. } => Some(entry),
                    Step::Note { .. } | Step::Wait { .. } => None,
                });
                match makes {
                    Some(entry) => write!(out, "make claim {entry} of pod {pod}"),
                    None => write!(out, "note the claims of pod {pod}"),
                }
            }
            Task::Release(claim) => write!(out, "release claim {}", claim.metadata.name),
            Task::Unprotect(claim) => {
                write!(out, "take the protection of claim {} away", claim.metadata.name)
            }
            Task::Delete(claim) => write!(out, "delete claim {}", claim.metadata.name),
        }
    }
}

/// The pods that a claim is about, by name, with the uids that are meant.
fn wanted(claim: &ResourceClaim) -> BTreeMap<&str, Vec<&str>> {
    let reserved = claim.status.reserved_for.iter().map(|one| (one.name.as_str(), one.uid.as_str()));
    let owners = claim.metadata.owner_references.iter().map(|one| (one.name.as_str(), one.uid.as_str()));
    let about: Vec<(&str, &str)> = reserved.chain(owners).collect();
    let uids = |name: &str| about.iter().filter(|one| one.0 == name).map(|one| one.1).collect();
    claims::users(claim).into_iter().map(|name| (name, uids(name))).collect()
}

/// The call that notes on a pod which claims were made for it. The uid keeps it from a pod that took the name of this one.
fn noted(pod: &Value, made: &[(String, String)]) -> ApiCall {
    let statuses = claim_templates::statuses(pod, made);
    ApiCall {
        verb: Verb::Patch,
        kind: "Pod",
        namespace: text(&pod["metadata"]["namespace"]).to_owned(),
        name: text(&pod["metadata"]["name"]).to_owned(),
        subresource: Some("status"),
        body: json!({ "metadata": { "uid": uid(pod) }, "status": { "resourceClaimStatuses": statuses } }),
    }
}

fn typed<T: objects::Object>(object: &Value) -> T {
    T::deserialize(object).expect("what was admitted is of its kind")
}

fn value(claim: &ResourceClaim) -> Value {
    serde_json::to_value(claim).expect("the keys of our wire types are texts")
}
