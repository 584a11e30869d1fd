//! The controllers of a world, in one process: claims are made from templates, and released when their users are done.
//!
//! What is to be done is decided by `api/controllers`. The keeper sees pods, claims and templates by streams of their own,
//! later than they are, and writes one thing after the other.
//!
//! Invariant: nothing is remembered that the API's objects do not say, but for claims that were made and not told of yet.
//! What was decided by an old state is not done to a new one: writes name the version that they were made from, or the uid.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use controllers::claim_reservations;
use controllers::claim_templates::{self, ClaimTemplateAction};
use controllers::claimants::{claim_names, is_controlled_by};
use controllers::claims::{self, Owner, User};
use gates::Gates;
use objects::Object;
use objects::core::pod::Pod;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use objects::scheduling::pod_group::PodGroup;
use scheduling::request::{ApiCall, Verb};
use serde_json::{Value, json};
use store::Key;

use super::api::{Api, Refused};
use super::replica::Stream;
use super::setup::Sabotage;

/// Something to be written, and what then.
#[derive(Clone, Debug)]
enum Task {
    /// Make the claims of a pod, and note on the pod which they are.
    MakeClaims { pod: Box<Pod>, actions: VecDeque<ClaimTemplateAction>, made: Vec<(String, String)> },
    /// Write a claim with one user more.
    Reserve(Box<ResourceClaim>),
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
    pub fn follow(&mut self, api: &Api, most: [usize; 3]) {
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
        let groups = api.list("PodGroup");
        let known = Known {
            pods: read(&self.pods),
            claims: read(&self.claims),
            templates: read(&self.templates),
            groups: groups.iter().map(|(key, group)| (key, &**group.read())).collect(),
            gates: api.gates(),
        };
        for (key, pod) in &known.pods {
            self.tasks.extend(known.claims_to_make(key, pod));
            let reserved = known.claims_to_reserve(key, pod).into_iter();
            self.tasks.extend(reserved.map(|claim| Task::Reserve(Box::new(claim))));
        }
        for claim in known.claims.values() {
            self.tasks.extend(known.review(api, claim, sabotage));
        }
    }

    /// Makes the next write of a task, and says whether there is more to it.
    fn carry_out(&mut self, api: &mut Api, task: &mut Task, sabotage: Sabotage) -> Result<bool, Refused> {
        match task {
            Task::MakeClaims { pod, actions, made } => match actions.pop_front() {
                Some(ClaimTemplateAction::Make { entry, claim, instead_of }) => {
                    let namespace = &pod.metadata.namespace;
                    // One that is named and not known may be there after all.
                    let named = instead_of.and_then(|name| api.get("ResourceClaim", namespace, &name));
                    let named = named.map(|claim| Arc::clone(claim.read::<ResourceClaim>()));
                    let own = named.filter(|claim| is_controlled_by(claim, &pod.metadata.uid));
                    let name = match own {
                        Some(own) => own.metadata.name.clone(),
                        None => {
                            let claim = api.create(&value(&claim))?;
                            let name = claim.read::<ResourceClaim>().metadata.name.clone();
                            self.claims.known.insert(Key::new(namespace, &name), claim);
                            name
                        }
                    };
                    made.push((entry, name));
                    Ok(true)
                }
                Some(ClaimTemplateAction::Note { entry, claim }) => {
                    made.push((entry, claim));
                    self.carry_out(api, task, sabotage)
                }
                Some(ClaimTemplateAction::Wait { .. }) => self.carry_out(api, task, sabotage),
                None => api.perform(&noted(pod, made)).map(|_| false),
            },
            Task::Reserve(claim) => api.update("ResourceClaim", value(claim), true).map(|_| false),
            Task::Release(claim) => {
                let left = api.update("ResourceClaim", value(claim), true)?;
                let free = claims::unprotected(left.read());
                let free = free.filter(|_| sabotage != Sabotage::KeepsProtection);
                let Some(free) = free else { return Ok(false) };
                *task = Task::Unprotect(Box::new(free));
                Ok(true)
            }
            Task::Unprotect(claim) => api.update("ResourceClaim", value(claim), false).map(|_| false),
            Task::Delete(claim) => {
                let meta = &claim.metadata;
                let place = (meta.namespace.as_str(), meta.name.as_str());
                api.delete("ResourceClaim", place, None, Some(&meta.uid)).map(|_| false)
            }
        }
    }
}

/// What controllers know at one moment.
struct Known<'k> {
    pods: BTreeMap<&'k Key, &'k Pod>,
    claims: BTreeMap<&'k Key, &'k ResourceClaim>,
    templates: BTreeMap<&'k Key, &'k ResourceClaimTemplate>,
    /// Groups stay as they are from the beginning.
    groups: BTreeMap<&'k Key, &'k PodGroup>,
    gates: Gates,
}

impl Known<'_> {
    fn claims_to_make(&self, key: &Key, pod: &Pod) -> Option<Task> {
        if claims::is_done(pod) {
            return None;
        }
        let around = claim_templates::Around {
            template: &|name| self.templates.get(&Key::new(&key.namespace, name)).copied(),
            owned: &|uid| {
                self.claims.values().copied().filter(|claim| is_controlled_by(claim, uid)).collect()
            },
            group: &|name| self.groups.get(&Key::new(&key.namespace, name)).copied(),
            gates: self.gates,
        };
        let mut actions = claim_templates::actions_for_pod(pod, &around);
        actions.retain(|action| !matches!(action, ClaimTemplateAction::Wait { .. }));
        let task = |actions: Vec<ClaimTemplateAction>| Task::MakeClaims {
            pod: Box::new(pod.clone()),
            actions: actions.into(),
            made: Vec::new(),
        };
        (!actions.is_empty()).then(|| task(actions))
    }

    fn claims_to_reserve(&self, key: &Key, pod: &Pod) -> Vec<ResourceClaim> {
        let around = claim_reservations::Around {
            claim: &|name| self.claims.get(&Key::new(&key.namespace, name)).copied(),
            group: &|_| None,
            is_controlled: &|_| false,
            gates: self.gates,
        };
        claim_reservations::reservations(pod, &around).reserve
    }

    fn review(&self, api: &Api, claim: &ResourceClaim, sabotage: Sabotage) -> Option<Task> {
        let namespace = &claim.metadata.namespace;
        let users = claims::users(claim).into_iter();
        let gone: Vec<User> = users.filter(|user| self.is_gone(api, claim, user)).collect();
        let names = |pod: &Pod| {
            pod.metadata.namespace == *namespace && claim_names(pod).any(|name| *name == claim.metadata.name)
        };
        let is_wanted = self.pods.values().any(|pod| !claims::is_done(pod) && names(pod));
        let around = claims::Around { is_gone: &|user| gone.contains(user), is_wanted };
        match claims::decide(claim, &around) {
            claims::ClaimAction::Leave => None,
            claims::ClaimAction::Release(_) if sabotage == Sabotage::ForgetsToRelease => None,
            claims::ClaimAction::Release(mut released) => {
                if sabotage == Sabotage::KeepsAllocations {
                    released.status.allocation = claim.status.allocation.clone();
                }
                Some(Task::Release(released))
            }
            claims::ClaimAction::AskBack(asked) => Some(Task::Unprotect(asked)),
            claims::ClaimAction::Unprotect if sabotage == Sabotage::KeepsProtection => None,
            claims::ClaimAction::Unprotect => {
                claims::unprotected(claim).map(|free| Task::Unprotect(Box::new(free)))
            }
            claims::ClaimAction::Delete if sabotage == Sabotage::KeepsMadeClaims => None,
            claims::ClaimAction::Delete => Some(Task::Delete(Box::new(claim.clone()))),
        }
    }

    /// Whether a pod needs a claim no more. Of one that is not known, or only another of its name, the API says it.
    fn is_gone(&self, api: &Api, claim: &ResourceClaim, user: &User) -> bool {
        let namespace = &claim.metadata.namespace;
        let is_meant = |pod: &Pod| pod.metadata.uid == user.uid;
        let Some(pod) = self.pods.get(&Key::new(namespace, &user.name)).filter(|pod| is_meant(pod)) else {
            let there = api.get("Pod", namespace, &user.name);
            let there = there.as_ref().map(|pod| pod.read::<Pod>());
            return there.is_none_or(|pod| !is_meant(pod) || claims::is_done(pod));
        };
        let is_own = |name: &str| {
            let other = self.claims.get(&Key::new(namespace, name));
            other.is_some_and(|other| {
                other.metadata.deletion_timestamp.is_none() && is_controlled_by(other, &user.uid)
            })
        };
        claims::is_done(pod) || claims::is_surplus(claim, &Owner::Pod(pod), &is_own)
    }
}

impl std::fmt::Display for Task {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Task::MakeClaims { pod, actions, .. } => {
                let pod = &pod.metadata.name;
                let makes = actions.iter().find_map(|action| match action {
                    ClaimTemplateAction::Make { entry, .. } => Some(entry),
                    ClaimTemplateAction::Note { .. } | ClaimTemplateAction::Wait { .. } => None,
                });
                match makes {
                    Some(entry) => write!(out, "make claim {entry} of pod {pod}"),
                    None => write!(out, "note the claims of pod {pod}"),
                }
            }
            Task::Reserve(claim) => write!(out, "reserve claim {}", claim.metadata.name),
            Task::Release(claim) => write!(out, "release claim {}", claim.metadata.name),
            Task::Unprotect(claim) => {
                write!(out, "take the protection of claim {} away", claim.metadata.name)
            }
            Task::Delete(claim) => write!(out, "delete claim {}", claim.metadata.name),
        }
    }
}

/// Objects of a kind as they were told.
fn read<T: Object + Send + Sync + 'static>(stream: &Stream) -> BTreeMap<&Key, &T> {
    stream.known.iter().map(|(key, object)| (key, &**object.read())).collect()
}

/// The call that notes on a pod which claims were made for it. The uid keeps it from a pod that took the name of this one.
fn noted(pod: &Pod, made: &[(String, String)]) -> ApiCall {
    let statuses = claim_templates::statuses(pod, made);
    let meta = &pod.metadata;
    ApiCall {
        verb: Verb::Patch,
        kind: Pod::KIND,
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
        subresource: Some("status"),
        body: json!({ "metadata": { "uid": meta.uid }, "status": { "resourceClaimStatuses": statuses } }),
    }
}

fn value(claim: &ResourceClaim) -> Value {
    let mut value = serde_json::to_value(claim).expect("the keys of our wire types are texts");
    value["apiVersion"] = json!(ResourceClaim::API_VERSION);
    value["kind"] = json!(ResourceClaim::KIND);
    value
}
