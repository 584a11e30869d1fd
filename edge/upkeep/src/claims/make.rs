//! Claims of a pod or a group, made from templates and noted on it.
//!
//! Invariant: a claim is made once. One that was made and not noted yet is found by its owner, so the two writes need not
//! happen together.

use std::sync::Arc;

use client::{Answer, Patch};
use controllers::claim_templates::{self, Around, ClaimTemplateAction, Obstacle};
use controllers::claimants::{Claimant, is_controlled_by};
use controllers::claims::is_done;
use objects::core::pod::Pod;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use objects::scheduling::pod_group::PodGroup;
use serde_json::json;

use crate::controller::{Done, Look, Tools, Undone, done};
use crate::kinds::{Followed, resource};
use crate::world::World;

/// Who the notes are by; the name that Kubernetes has for itself here, so that either can go on where the other stopped.
const MANAGER: &str = "ResourceClaimController";

/// The reason of events about claims that cannot be made.
const REASON: &str = "FailedResourceClaimCreation";

pub(super) fn look_at_pod(pod: &Arc<Pod>, world: &World, tools: &Tools) -> Look {
    if is_done(pod) || !wants_any(&**pod) {
        return Look::NOTHING;
    }
    let actions =
        around(&pod.metadata.namespace, world, tools, |around| claim_templates::actions_for_pod(pod, around));
    look(pod, actions, tools)
}

pub(super) fn look_at_group(group: &Arc<PodGroup>, world: &World, tools: &Tools) -> Look {
    if !wants_any(&**group) {
        return Look::NOTHING;
    }
    let actions = around(&group.metadata.namespace, world, tools, |around| {
        claim_templates::actions_for_group(group, around)
    });
    look(group, actions, tools)
}

fn wants_any<T: Claimant>(claimant: &T) -> bool {
    claimant.entries().any(|entry| entry.template.is_some())
}

/// Asks about a claimant and what is known of its namespace.
fn around<T>(namespace: &str, world: &World, tools: &Tools, ask: impl FnOnce(&Around<'_>) -> T) -> T {
    let here = |name: &str| (namespace.to_owned(), name.to_owned());
    ask(&Around {
        template: &|name| world.get::<ResourceClaimTemplate>(&here(name)).map(Arc::as_ref),
        owned: &|uid| world.owned::<ResourceClaim>(uid).map(Arc::as_ref).collect(),
        group: &|name| world.get::<PodGroup>(&here(name)).map(Arc::as_ref),
        gates: tools.gates,
    })
}

fn look<T: Claimant + Followed>(
    claimant: &Arc<T>,
    mut actions: Vec<ClaimTemplateAction>,
    tools: &Tools,
) -> Look {
    // A group that is not there yet wakes its pods when it comes, and is no trouble before that.
    actions
        .retain(|action| !matches!(action, ClaimTemplateAction::Wait { why: Obstacle::NoGroup { .. }, .. }));
    if actions.is_empty() {
        return Look::NOTHING;
    }
    Look::work(make(tools.clone(), claimant.clone(), actions))
}

async fn make<T: Claimant + Followed>(
    tools: Tools,
    claimant: Arc<T>,
    actions: Vec<ClaimTemplateAction>,
) -> Result<Done, Undone> {
    let mut made = Done::default();
    let mut names = Vec::new();
    let mut trouble = None;
    for action in actions {
        match action {
            ClaimTemplateAction::Note { entry, claim } => names.push((entry, claim)),
            ClaimTemplateAction::Wait { entry, why } => {
                complain(&tools, &*claimant, &entry, &why.to_string());
                // What is missing wakes its claimants when it comes; what is switched off stays so.
                if matches!(why, Obstacle::Off { .. }) {
                    trouble.get_or_insert(Undone::Hopeless(format!("{entry}: {why}")));
                }
            }
            ClaimTemplateAction::Make { entry, claim, instead_of } => {
                match make_one(&tools, &*claimant, &entry, &claim, instead_of.as_deref()).await {
                    Ok(claim) => {
                        names.push((entry, claim.metadata.name.clone()));
                        made.learn(claim);
                    }
                    Err(undone) => trouble = Some(undone),
                }
            }
        }
    }
    if !names.is_empty() {
        match note(&tools, &*claimant, &names).await {
            Ok(noted) => made.learn(noted),
            Err(undone) => trouble = Some(undone),
        }
    }
    made.trouble = trouble;
    Ok(made)
}

/// Makes a claim, unless the one that it is to replace is there after all.
async fn make_one<T: Claimant + Followed>(
    tools: &Tools,
    claimant: &T,
    entry: &str,
    claim: &ResourceClaim,
    instead_of: Option<&str>,
) -> Result<ResourceClaim, Undone> {
    let claims = resource::<ResourceClaim>(&claimant.metadata().namespace);
    if let Some(named) = instead_of {
        match tools.connection.get(&claims, named).await {
            Answer::NotFound(_) => {}
            answer => {
                let known = done(answer)?;
                if is_controlled_by(&known, &claimant.metadata().uid) {
                    return Ok(known);
                }
            }
        }
    }
    let answer = tools.connection.create(&claims, claim).await;
    tools.listener.hear(&super::made(claim, answer.trouble().is_none()));
    match answer.trouble() {
        None => done(answer),
        Some(why) => {
            let why = format!("cannot create the claim: {why}{}", hint(claim, &answer));
            complain(tools, claimant, entry, &why);
            done(answer).map_err(|undone| match undone {
                Undone::Failed(_) => Undone::Failed(format!("{} {entry}: {why}", T::ENTRY)),
                other => other,
            })
        }
    }
}

/// What to do about a refusal, where the server does not say it.
fn hint<T>(claim: &ResourceClaim, answer: &Answer<T>) -> &'static str {
    let is_refused = matches!(answer, Answer::Forbidden(_) | Answer::Invalid(_));
    if is_refused && super::has_admin_access(claim) {
        "; hint: admin access needs a namespace with the label resource.kubernetes.io/admin-access=true"
    } else {
        ""
    }
}

/// Notes on a claimant which claims are its own.
async fn note<T: Claimant + Followed>(
    tools: &Tools,
    claimant: &T,
    names: &[(String, String)],
) -> Result<T, Undone> {
    let metadata = claimant.metadata();
    // The uid keeps the note from one that took the name of this one.
    let body = json!({
        "apiVersion": T::API_VERSION,
        "kind": T::KIND,
        "metadata": { "name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid },
        "status": { "resourceClaimStatuses": claim_templates::statuses(claimant, names) },
    });
    let patch = Patch::Apply { manager: MANAGER.to_owned(), force: true };
    let all = resource::<T>(&metadata.namespace);
    done(tools.connection.patch_status(&all, &metadata.name, &patch, &body).await)
}

fn complain<T: Claimant + Followed>(tools: &Tools, claimant: &T, entry: &str, why: &str) {
    tools.warn(claimant, super::NAME, REASON, format!("{} {entry}: {why}", T::ENTRY));
}
