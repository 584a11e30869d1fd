//! Claims of a pod, made from templates and noted on it.
//!
//! Invariant: a claim is made once. One that was made and not noted yet is found by its owner, so the two writes need not
//! happen together.

use std::sync::Arc;

use client::Patch;
use controllers::{claim_templates, claims};
use objects::core::pod::Pod;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use serde_json::{Value, json};

use crate::controller::{Done, Look, Tools, Undone, done};
use crate::kinds::resource;
use crate::world::{Name, World};

pub(super) fn look(name: &Name, world: &World, tools: &Tools) -> Look {
    let Some(pod) = world.get::<Pod>(name).filter(|pod| !claims::is_done(pod)) else { return Look::NOTHING };
    let mut entries = pod.spec.resource_claims.iter();
    if !entries.any(|entry| entry.resource_claim_template_name.is_some()) {
        return Look::NOTHING;
    }
    let made = world.owned::<ResourceClaim>(&pod.metadata.uid);
    let made: Vec<Value> = made.map(|claim| value(&**claim)).collect();
    let template = |template: &str| {
        let name = (name.0.clone(), template.to_owned());
        world.get::<ResourceClaimTemplate>(&name).map(|template| value(&**template))
    };
    let mut steps = claim_templates::steps(&value(&**pod), &template, &made);
    // A template that is not there yet wakes its pods when it comes.
    steps.retain(|step| !matches!(step, claim_templates::Step::Wait { .. }));
    if steps.is_empty() {
        return Look::NOTHING;
    }
    Look::work(make(tools.clone(), pod.clone(), steps))
}

async fn make(tools: Tools, pod: Arc<Pod>, steps: Vec<claim_templates::Step>) -> Result<Done, Undone> {
    let claims = resource::<ResourceClaim>(&pod.metadata.namespace);
    let mut made = Done::default();
    let mut names = Vec::new();
    for step in steps {
        match step {
            claim_templates::Step::Make { entry, claim } => {
                let claim: ResourceClaim =
                    serde_json::from_value(claim).map_err(|error| Undone::Failed(error.to_string()))?;
                let answer = tools.connection.create(&claims, &claim).await;
                if let Some(why) = answer.trouble() {
                    let note = format!("PodResourceClaim {entry}: failed to create ResourceClaim: {why}");
                    tools.warn(&*pod, super::NAME, "FailedResourceClaimCreation", note);
                }
                let claim = done(answer)?;
                names.push((entry, claim.metadata.name.clone()));
                made.learn(claim);
            }
            claim_templates::Step::Note { entry, claim } => names.push((entry, claim)),
            claim_templates::Step::Wait { .. } => {}
        }
    }
    let statuses = claim_templates::statuses(&value(&*pod), &names);
    // The uid keeps the note from a pod that took the name of this one.
    let body =
        json!({ "metadata": { "uid": pod.metadata.uid }, "status": { "resourceClaimStatuses": statuses } });
    let pods = resource::<Pod>(&pod.metadata.namespace);
    done(tools.connection.patch_status(&pods, &pod.metadata.name, &Patch::Strategic, &body).await)?;
    Ok(made)
}

fn value<K: objects::Object>(object: &K) -> Value {
    serde_json::to_value(object).expect("an object that was read can be written")
}
