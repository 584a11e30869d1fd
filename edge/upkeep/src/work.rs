//! One piece of work: what a controller decided about one object, carried out.
//!
//! Invariant: what was decided from an old state is not done to a new one: writes name the version that they were made
//! from, or the uid.

use std::collections::BTreeMap;
use std::sync::Arc;

use client::{Answer, Connection, Patch, Resource};
use controllers::claims::{self, User};
use controllers::{claim_templates, nodes};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::meta::{DeleteOptions, Preconditions};
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::REST;
use crate::world::{Key, World};

/// Work to be done, with all that it needs to know.
pub(crate) enum Task {
    /// Make the claims of a pod.
    MakeClaims { pod: Arc<Pod>, steps: Vec<claim_templates::Step> },
    /// See what becomes of a claim, given the pods that we know.
    Review { claim: Arc<ResourceClaim>, pods: BTreeMap<String, Option<User>> },
    /// Give a node the taints that it should have.
    Taint { node: Arc<Node>, taints: Value },
}

/// What came of a piece of work.
pub(crate) struct Done {
    pub(crate) key: Key,
    /// Claims that were made.
    pub(crate) made: Vec<ResourceClaim>,
    /// What went wrong, if somebody should know.
    pub(crate) trouble: Option<String>,
    /// It is to be looked at again.
    pub(crate) again: bool,
}

/// Why a piece of work was not done.
enum Undone {
    /// Somebody else was faster; what they did will be told.
    Overtaken,
    /// It went wrong.
    Failed(String),
}

impl Task {
    /// What there is to do about an object.
    pub(crate) fn about(key: &Key, world: &World) -> Option<Self> {
        match key {
            Key::Pod(name) => {
                let pod = world.pods.get(name).filter(|pod| !claims::is_done(pod))?.clone();
                let mut entries = pod.spec.resource_claims.iter();
                if !entries.any(|entry| entry.resource_claim_template_name.is_some()) {
                    return None;
                }
                let made: Vec<Value> =
                    world.made_for(&pod.metadata.uid).map(|claim| value(&**claim)).collect();
                let template = |template: &str| {
                    let key = (name.0.clone(), template.to_owned());
                    world.templates.get(&key).map(|template| value::<ResourceClaimTemplate>(template))
                };
                let mut steps = claim_templates::steps(&value(&*pod), &template, &made);
                // A template that is not there yet wakes its pods when it comes.
                steps.retain(|step| !matches!(step, claim_templates::Step::Wait { .. }));
                (!steps.is_empty()).then_some(Self::MakeClaims { pod, steps })
            }
            Key::Claim(name) => {
                let claim = world.claims.get(name)?.clone();
                let known = |pod: &str| world.pods.get(&(name.0.clone(), pod.to_owned()));
                let pods: BTreeMap<String, Option<User>> = claims::users(&claim)
                    .into_iter()
                    .map(|pod| (pod.to_owned(), known(pod).map(|pod| User::of(pod))))
                    .collect();
                let decided = claims::decide(&claim, &|pod| pods.get(pod).cloned().flatten());
                (decided != claims::Step::Leave).then_some(Self::Review { claim, pods })
            }
            Key::Node(name) => {
                let node = world.nodes.get(name)?.clone();
                let taints = nodes::taints(&node)?;
                let taints = serde_json::to_value(taints).expect("taints can be written as JSON");
                Some(Self::Taint { node, taints })
            }
        }
    }

    /// Does it.
    pub(crate) async fn carry_out(self, key: Key, connection: &Connection) -> Done {
        let mut made = Vec::new();
        let result = match self {
            Self::MakeClaims { pod, steps } => make_claims(connection, &pod, steps, &mut made).await,
            Self::Review { claim, pods } => review(connection, &claim, pods).await,
            Self::Taint { node, taints } => {
                let version = &node.metadata.resource_version;
                let body =
                    json!({ "metadata": { "resourceVersion": version }, "spec": { "taints": taints } });
                let nodes = Resource::<Node>::named("nodes");
                let name = &node.metadata.name;
                done(connection.patch(&nodes, name, &Patch::Merge, &body).await).map(drop)
            }
        };
        let (again, trouble) = match result {
            Ok(()) => (false, None),
            Err(Undone::Overtaken) => (true, None),
            Err(Undone::Failed(why)) => (true, Some(format!("{}: {why}", named(&key)))),
        };
        if again {
            sleep(REST).await;
        }
        Done { key, made, trouble, again }
    }
}

async fn make_claims(
    connection: &Connection,
    pod: &Pod,
    steps: Vec<claim_templates::Step>,
    made: &mut Vec<ResourceClaim>,
) -> Result<(), Undone> {
    let claims = Resource::<ResourceClaim>::named("resourceclaims").within(&pod.metadata.namespace);
    let mut names = Vec::new();
    for step in steps {
        match step {
            claim_templates::Step::Make { entry, claim } => {
                let claim: ResourceClaim =
                    serde_json::from_value(claim).map_err(|error| Undone::Failed(error.to_string()))?;
                let claim = done(connection.create(&claims, &claim).await)?;
                names.push((entry, claim.metadata.name.clone()));
                made.push(claim);
            }
            claim_templates::Step::Note { entry, claim } => names.push((entry, claim)),
            claim_templates::Step::Wait { .. } => {}
        }
    }
    let statuses = claim_templates::statuses(&value(pod), &names);
    // The uid keeps the note from a pod that took the name of this one.
    let body =
        json!({ "metadata": { "uid": pod.metadata.uid }, "status": { "resourceClaimStatuses": statuses } });
    let pods = Resource::<Pod>::named("pods").within(&pod.metadata.namespace);
    done(connection.patch_status(&pods, &pod.metadata.name, &Patch::Strategic, &body).await).map(drop)
}

async fn review(
    connection: &Connection,
    claim: &ResourceClaim,
    mut pods: BTreeMap<String, Option<User>>,
) -> Result<(), Undone> {
    let namespace = &claim.metadata.namespace;
    // A pod that we do not know may be new. Only the server can say that it is gone.
    let unknown: Vec<String> =
        pods.iter().filter(|(_, user)| user.is_none()).map(|(name, _)| name.clone()).collect();
    for name in unknown {
        let resource = Resource::<Pod>::named("pods").within(namespace);
        match connection.get(&resource, &name).await {
            Answer::NotFound(_) => {}
            answer => drop(pods.insert(name, Some(User::of(&done(answer)?)))),
        }
    }
    let resource = Resource::<ResourceClaim>::named("resourceclaims").within(namespace);
    match claims::decide(claim, &|pod| pods.get(pod).cloned().flatten()) {
        claims::Step::Leave => Ok(()),
        claims::Step::Release(released) => {
            let left = done(connection.update_status(&resource, &released).await)?;
            unprotect(connection, &resource, &left).await
        }
        claims::Step::Unprotect => unprotect(connection, &resource, claim).await,
        claims::Step::Delete => {
            let uid = Some(claim.metadata.uid.clone());
            let preconditions = Some(Preconditions { uid, ..Preconditions::default() });
            let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
            match connection.delete(&resource, &claim.metadata.name, &options).await {
                Answer::NotFound(_) => Ok(()),
                answer => done(answer),
            }
        }
    }
}

async fn unprotect(
    connection: &Connection,
    resource: &Resource<ResourceClaim>,
    claim: &ResourceClaim,
) -> Result<(), Undone> {
    match claims::unprotected(claim) {
        None => Ok(()),
        Some(free) => done(connection.update(resource, &free).await).map(drop),
    }
}

fn done<T>(answer: Answer<T>) -> Result<T, Undone> {
    match answer {
        Answer::Done(object) => Ok(object),
        Answer::Conflict(_) | Answer::NotFound(_) | Answer::AlreadyExists(_) => Err(Undone::Overtaken),
        other => Err(Undone::Failed(other.trouble().unwrap_or_default())),
    }
}

fn value<K: objects::Object>(object: &K) -> Value {
    serde_json::to_value(object).expect("an object that was read can be written")
}

fn named(key: &Key) -> String {
    match key {
        Key::Node(name) => format!("node {name}"),
        Key::Claim((namespace, name)) => format!("claim {namespace}/{name}"),
        Key::Pod((namespace, name)) => format!("pod {namespace}/{name}"),
    }
}
