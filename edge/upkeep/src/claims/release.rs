//! Claims whose users are done: reservations released, devices given back, claims that were made for somebody deleted.
//!
//! Invariant: what was decided from an old state is not done to a new one: writes name the version that they were made
//! from, or the uid. Nobody is taken for gone because we have not heard of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use client::{Answer, Resource};
use controllers::claimants::is_controlled_by;
use controllers::claims::{self, Around, ClaimAction, Owner, User, UserKind, is_done};
use gates::Gate;
use objects::core::pod::Pod;
use objects::meta::{DeleteOptions, Preconditions};
use objects::resource::claim::ResourceClaim;
use objects::scheduling::pod_group::PodGroup;

use crate::controller::{Done, Look, Tools, Undone, done};
use crate::kinds::{Followed, Mark, resource};
use crate::world::{Name, World};

/// What is known of those who may use a claim.
type Users = BTreeMap<User, Whereabouts>;

/// What is known of somebody.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whereabouts {
    /// They may use the claim.
    There,
    /// They will use it no more.
    Gone,
    /// We do not know them, or know another of their name. They may be new, so only the server can say that they are gone.
    Unknown,
}

pub(super) fn look(name: &Name, world: &World, tools: &Tools) -> Look {
    let Some(claim) = world.get::<ResourceClaim>(name) else { return Look::NOTHING };
    let find = |user: User| {
        let whereabouts = whereabouts(&user, claim, world, tools);
        (user, whereabouts)
    };
    let users: Users = claims::users(claim).into_iter().map(find).collect();
    let is_wanted = world.marked::<Pod>(&Mark::Claim(name.clone())).any(|pod| !is_done(pod))
        || world.marked::<PodGroup>(&Mark::Claim(name.clone())).next().is_some();
    let later = tools.after_patience(world.since::<ResourceClaim>(name).unwrap_or(world.now));
    let may_be_gone = |user: &User| users.get(user) != Some(&Whereabouts::There);
    match claims::decide(claim, &Around { is_gone: &may_be_gone, is_wanted }) {
        ClaimAction::Leave => Look::NOTHING,
        // Who gives devices protects the claim first, so it is left alone for a while.
        ClaimAction::Unprotect
            if claim.metadata.deletion_timestamp.is_none() && tools.clock.now() < later =>
        {
            Look::at(later)
        }
        _ => Look::work(review(tools.clone(), claim.clone(), users, is_wanted)),
    }
}

fn whereabouts(user: &User, claim: &ResourceClaim, world: &World, tools: &Tools) -> Whereabouts {
    let name = (claim.metadata.namespace.clone(), user.name.clone());
    let is_own = |name: &str| {
        let other = world.get::<ResourceClaim>(&(claim.metadata.namespace.clone(), name.to_owned()));
        let stays = |other: &&Arc<ResourceClaim>| other.metadata.deletion_timestamp.is_none();
        other.filter(stays).is_some_and(|other| is_controlled_by(other, &user.uid))
    };
    match user.kind {
        UserKind::Pod => found::<Pod>(world, &name, &user.uid, |pod| {
            is_done(pod) || claims::is_surplus(claim, &Owner::Pod(pod), &is_own)
        }),
        // Where groups mean nothing, nothing is known of them.
        UserKind::Group if !tools.gates.enabled(Gate::DRAWorkloadResourceClaims) => Whereabouts::There,
        UserKind::Group if !world.serves::<PodGroup>() => Whereabouts::There,
        UserKind::Group => found::<PodGroup>(world, &name, &user.uid, |group| {
            claims::is_surplus(claim, &Owner::Group(group), &is_own)
        }),
    }
}

fn found<K: Followed>(world: &World, name: &Name, uid: &str, is_done: impl Fn(&K) -> bool) -> Whereabouts {
    match world.get::<K>(name).filter(|known| known.metadata().uid == uid) {
        Some(known) if is_done(known) => Whereabouts::Gone,
        Some(_) => Whereabouts::There,
        None if world.is_gone::<K>(uid) => Whereabouts::Gone,
        None => Whereabouts::Unknown,
    }
}

async fn review(
    tools: Tools,
    claim: Arc<ResourceClaim>,
    mut users: Users,
    is_wanted: bool,
) -> Result<Done, Undone> {
    let namespace = &claim.metadata.namespace;
    for (user, whereabouts) in &mut users {
        if *whereabouts == Whereabouts::Unknown {
            *whereabouts = ask(&tools, namespace, user).await?;
        }
    }
    let is_gone = |user: &User| users.get(user) == Some(&Whereabouts::Gone);
    let action = claims::decide(&claim, &Around { is_gone: &is_gone, is_wanted });
    let claims = resource::<ResourceClaim>(namespace);
    let mut released = Done::default();
    match action {
        ClaimAction::Leave => {}
        ClaimAction::Release(changed) => {
            let left = done(tools.connection.update_status(&claims, &changed).await)?;
            released.learn(unprotect(&tools, &claims, left).await?);
        }
        ClaimAction::AskBack(asked) => released.learn(done(tools.connection.update(&claims, &asked).await)?),
        ClaimAction::Unprotect => {
            released.learn(unprotect(&tools, &claims, ResourceClaim::clone(&claim)).await?);
        }
        ClaimAction::Delete => {
            let uid = Some(claim.metadata.uid.clone());
            let preconditions = Some(Preconditions { uid, ..Preconditions::default() });
            let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
            match tools.connection.delete(&claims, &claim.metadata.name, &options).await {
                Answer::NotFound(_) => {}
                answer => done(answer)?,
            }
        }
    }
    Ok(released)
}

/// Asks the server for somebody.
async fn ask(tools: &Tools, namespace: &str, user: &User) -> Result<Whereabouts, Undone> {
    let is_over = match user.kind {
        UserKind::Pod => match tools.connection.get(&resource::<Pod>(namespace), &user.name).await {
            Answer::NotFound(_) => true,
            answer => {
                let pod = done(answer)?;
                pod.metadata.uid != user.uid || is_done(&pod)
            }
        },
        UserKind::Group => match tools.connection.get(&resource::<PodGroup>(namespace), &user.name).await {
            Answer::NotFound(_) => true,
            answer => done(answer)?.metadata.uid != user.uid,
        },
    };
    Ok(if is_over { Whereabouts::Gone } else { Whereabouts::There })
}

/// Takes the protection from a claim that needs it no more.
async fn unprotect(
    tools: &Tools,
    claims: &Resource<ResourceClaim>,
    claim: ResourceClaim,
) -> Result<ResourceClaim, Undone> {
    match claims::unprotected(&claim) {
        None => Ok(claim),
        Some(free) => done(tools.connection.update(claims, &free).await),
    }
}
