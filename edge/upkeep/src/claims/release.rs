//! Claims whose users are done: reservations released, devices given back, claims that were made for a pod deleted.
//!
//! Invariant: what was decided from an old state is not done to a new one: writes name the version that they were made
//! from, or the uid.

use std::collections::BTreeMap;
use std::sync::Arc;

use client::{Answer, Resource};
use controllers::claims::{self, User};
use objects::core::pod::Pod;
use objects::meta::{DeleteOptions, Preconditions};
use objects::resource::claim::ResourceClaim;

use crate::controller::{Done, Look, Tools, Undone, done};
use crate::kinds::resource;
use crate::world::{Name, World};

/// Pods by name, and what claims need to know of those that are known.
type Users = BTreeMap<String, Option<User>>;

pub(super) fn look(name: &Name, world: &World, tools: &Tools) -> Look {
    let Some(claim) = world.get::<ResourceClaim>(name) else { return Look::NOTHING };
    let known = |pod: &str| world.get::<Pod>(&(name.0.clone(), pod.to_owned()));
    let users: Users = claims::users(claim)
        .into_iter()
        .map(|pod| (pod.to_owned(), known(pod).map(|pod| User::of(pod))))
        .collect();
    match claims::decide(claim, &|pod| users.get(pod).cloned().flatten()) {
        claims::Step::Leave => Look::NOTHING,
        _ => Look::work(review(tools.clone(), claim.clone(), users)),
    }
}

async fn review(tools: Tools, claim: Arc<ResourceClaim>, mut users: Users) -> Result<Done, Undone> {
    let namespace = &claim.metadata.namespace;
    // A pod that we do not know may be new. Only the server can say that it is gone.
    let unknown: Vec<String> =
        users.iter().filter(|(_, user)| user.is_none()).map(|(name, _)| name.clone()).collect();
    for name in unknown {
        match tools.connection.get(&resource::<Pod>(namespace), &name).await {
            Answer::NotFound(_) => {}
            answer => drop(users.insert(name, Some(User::of(&done(answer)?)))),
        }
    }
    let claims = resource::<ResourceClaim>(namespace);
    match claims::decide(&claim, &|pod| users.get(pod).cloned().flatten()) {
        claims::Step::Leave => {}
        claims::Step::Release(released) => {
            let left = done(tools.connection.update_status(&claims, &released).await)?;
            unprotect(&tools, &claims, &left).await?;
        }
        claims::Step::Unprotect => unprotect(&tools, &claims, &claim).await?,
        claims::Step::Delete => {
            let uid = Some(claim.metadata.uid.clone());
            let preconditions = Some(Preconditions { uid, ..Preconditions::default() });
            let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
            match tools.connection.delete(&claims, &claim.metadata.name, &options).await {
                Answer::NotFound(_) => {}
                answer => done(answer)?,
            }
        }
    }
    Ok(Done::default())
}

async fn unprotect(
    tools: &Tools,
    claims: &Resource<ResourceClaim>,
    claim: &ResourceClaim,
) -> Result<(), Undone> {
    match claims::unprotected(claim) {
        None => Ok(()),
        Some(free) => done(tools.connection.update(claims, &free).await).map(drop),
    }
}
