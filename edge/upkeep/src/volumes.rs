//! Volumes and claims for them: claims for volumes that pods bring along are made, claims and volumes are joined, and volumes are
//! provisioned in name only for classes that ask for that.

use std::sync::Arc;

use client::Answer;
use controllers::ephemeral_volumes;
use controllers::volumes::{SELECTED_NODE, SIMULATED_PROVISIONER, Storage, VolumeStep};
use objects::Object;
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::meta::DeleteOptions;
use objects::storage::{CSINode, StorageClass};

use crate::controller::{Controller, Done, Look, Subject, Tools, Undone, done};
use crate::kinds::{Followed, Kind, Mark, kind, resource};
use crate::world::{Change, Name, World};

/// Makes claims for volumes that pods bring along.
pub(crate) struct EphemeralVolumes;

impl Controller for EphemeralVolumes {
    fn name(&self) -> &'static str {
        "ephemeral-volume-controller"
    }

    fn follows(&self) -> Vec<Kind> {
        vec![kind::<Pod>(), kind::<PersistentVolumeClaim>()]
    }

    fn touched(&self, change: &Change, world: &World) -> Vec<Subject> {
        if let Some(pod) = change.of::<Pod>() {
            let brings = |pod: &&Pod| pod.spec.volumes.iter().any(|volume| volume.ephemeral.is_some());
            return pod.after.filter(brings).map(Subject::of).into_iter().collect();
        }
        let Some(claim) = change.of::<PersistentVolumeClaim>() else { return Vec::new() };
        // A claim that is gone may have to be made again.
        let users = world.marked::<Pod>(&volume_claim(claim.object()));
        users.filter(|_| claim.after.is_none()).map(|pod| Subject::of(&**pod)).collect()
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        let Some(pod) = world.get::<Pod>(&subject.name) else { return Look::NOTHING };
        let namespace = &pod.metadata.namespace;
        let find = |name: &str| world.get::<PersistentVolumeClaim>(&(namespace.clone(), name.to_owned()));
        let missing = ephemeral_volumes::missing(pod, |name| find(name).is_some());
        if missing.is_empty() {
            return Look::NOTHING;
        }
        let (tools, pod) = (tools.clone(), pod.clone());
        Look::work(async move {
            let mut learnt = Done::default();
            for claim in missing {
                let claims = resource::<PersistentVolumeClaim>(&claim.metadata.namespace);
                match tools.connection.create(&claims, &claim).await {
                    Answer::Done(made) => learnt.learn(made),
                    // Another was faster, or has a claim of the name.
                    Answer::AlreadyExists(_) | Answer::NotFound(_) => {}
                    other => {
                        let why = other.trouble().unwrap_or_default();
                        let note =
                            format!("cannot create PersistentVolumeClaim {}: {why}", claim.metadata.name);
                        tools.warn(&*pod, "ephemeral-volume-controller", "FailedBinding", note.clone());
                        learnt.trouble = Some(Undone::Failed(note));
                    }
                }
            }
            Ok(learnt)
        })
    }
}

/// Joins claims and volumes.
pub(crate) struct Volumes;

impl Controller for Volumes {
    fn name(&self) -> &'static str {
        "persistentvolume-binder-controller"
    }

    fn follows(&self) -> Vec<Kind> {
        vec![
            kind::<PersistentVolumeClaim>(),
            kind::<PersistentVolume>(),
            kind::<StorageClass>(),
            kind::<CSINode>(),
            kind::<Node>(),
            kind::<Pod>(),
        ]
    }

    fn touched(&self, change: &Change, world: &World) -> Vec<Subject> {
        if let Some(claim) = change.of::<PersistentVolumeClaim>() {
            let claim = claim.object();
            let volumes = world.marked::<PersistentVolume>(&volume_claim(claim));
            let volumes = volumes.map(|volume| Subject::of(&**volume));
            return volumes.chain([Subject::of(claim)]).collect();
        }
        if let Some(volume) = change.of::<PersistentVolume>() {
            let volume = volume.object();
            let owner = volume.spec.claim_ref.iter();
            let owner = owner.map(|owner| (owner.namespace.clone(), owner.name.clone()));
            let owner = owner.map(Subject::named::<PersistentVolumeClaim>);
            let open = unbound(world).filter(|_| volume.spec.claim_ref.is_none());
            return owner
                .chain(open.map(|claim| Subject::of(&**claim)))
                .chain([Subject::of(volume)])
                .collect();
        }
        if change.of::<StorageClass>().is_some() {
            return unbound(world).map(|claim| Subject::of(&**claim)).collect();
        }
        if let Some(node) = change.of::<Node>() {
            if node.before.is_some() && node.after.is_some() {
                return Vec::new();
            }
            let name = &node.object().metadata.name;
            let selects = |claim: &&Arc<PersistentVolumeClaim>| {
                claim.metadata.annotations.get(SELECTED_NODE).is_some_and(|node| node == name)
            };
            return unbound(world).filter(selects).map(|claim| Subject::of(&**claim)).collect();
        }
        // Claims that are to go wait for the last pod that uses them.
        let Some(pod) = change.of::<Pod>().filter(|pod| pod.after.is_none()) else { return Vec::new() };
        let of_pod = pod.object().marks().into_iter().filter_map(|mark| match mark {
            Mark::VolumeClaim(name) => Some(Subject::named::<PersistentVolumeClaim>(name)),
            _ => None,
        });
        of_pod.collect()
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        let provisions = |provisioner: &str| provisioner == SIMULATED_PROVISIONER;
        if subject.kind == PersistentVolumeClaim::KIND {
            let Some(claim) = world.get::<PersistentVolumeClaim>(&subject.name) else { return Look::NOTHING };
            let step = storage(world, claim).step_for_claim(claim, provisions);
            return step.map_or(Look::NOTHING, |step| Look::work(take(tools.clone(), step)));
        }
        let Some(volume) = world.get::<PersistentVolume>(&subject.name) else { return Look::NOTHING };
        let owner = volume.spec.claim_ref.as_ref().map(|owner| (owner.namespace.clone(), owner.name.clone()));
        let claim = owner.as_ref().and_then(|name| world.get::<PersistentVolumeClaim>(name)).cloned();
        let claims = owner.clone().into_iter().zip(claim.clone()).collect();
        let step = Storage { claims, ..Storage::default() }.step_for_volume(volume, provisions);
        let Some(step) = step else { return Look::NOTHING };
        match owner.filter(|_| claim.is_none()) {
            Some(owner) => Look::work(take_if_gone(tools.clone(), step, owner)),
            None => Look::work(take(tools.clone(), step)),
        }
    }
}

/// Does what is to be done about a volume whose claim is not known. Only the server can say that it is gone.
async fn take_if_gone(tools: Tools, step: VolumeStep, (namespace, name): Name) -> Result<Done, Undone> {
    match tools.connection.get(&resource::<PersistentVolumeClaim>(&namespace), &name).await {
        Answer::NotFound(_) => take(tools, step).await,
        answer => {
            let mut learnt = Done::default();
            learnt.learn(done(answer)?);
            Ok(learnt)
        }
    }
}

/// Everything that matters to a claim.
fn storage(world: &World, claim: &PersistentVolumeClaim) -> Storage {
    fn by_name<K: Followed>(world: &World) -> impl Iterator<Item = (String, Arc<K>)> {
        world.all::<K>().map(|object| (object.metadata().name.clone(), object.clone()))
    }
    let id = (claim.metadata.namespace.clone(), claim.metadata.name.clone());
    let is_used = world.marked::<Pod>(&Mark::VolumeClaim(id.clone())).next().is_some();
    Storage {
        volumes: by_name(world).collect(),
        classes: by_name(world).collect(),
        nodes: by_name(world).collect(),
        storage_nodes: by_name(world).collect(),
        used: is_used.then_some(id).into_iter().collect(),
        ..Storage::default()
    }
}

fn unbound(world: &World) -> impl Iterator<Item = &Arc<PersistentVolumeClaim>> {
    world.all::<PersistentVolumeClaim>().filter(|claim| claim.status.phase != "Bound")
}

/// By what is found that has to do with a claim.
fn volume_claim(claim: &PersistentVolumeClaim) -> Mark {
    Mark::VolumeClaim((claim.metadata.namespace.clone(), claim.metadata.name.clone()))
}

async fn take(tools: Tools, step: VolumeStep) -> Result<Done, Undone> {
    let mut learnt = Done::default();
    let connection = &tools.connection;
    let volumes = resource::<PersistentVolume>("");
    match step {
        VolumeStep::Make(volume) => learnt.learn(done(connection.create(&volumes, &*volume).await)?),
        VolumeStep::Volume(volume) => learnt.learn(done(connection.update(&volumes, &*volume).await)?),
        VolumeStep::VolumeStatus(volume) => {
            learnt.learn(done(connection.update_status(&volumes, &*volume).await)?);
        }
        VolumeStep::Claim(claim) => {
            let claims = resource::<PersistentVolumeClaim>(&claim.metadata.namespace);
            learnt.learn(done(connection.update(&claims, &*claim).await)?);
        }
        VolumeStep::ClaimStatus(claim) => {
            let claims = resource::<PersistentVolumeClaim>(&claim.metadata.namespace);
            learnt.learn(done(connection.update_status(&claims, &*claim).await)?);
        }
        VolumeStep::Delete(name) => match connection.delete(&volumes, &name, &DeleteOptions::default()).await
        {
            Answer::NotFound(_) => {}
            answer => done(answer)?,
        },
    }
    Ok(learnt)
}

/// The claims for volumes that a pod uses.
pub(crate) fn claims_of(pod: &Pod) -> impl Iterator<Item = Name> {
    pod.spec.volumes.iter().filter_map(|volume| {
        let name = match (&volume.persistent_volume_claim, &volume.ephemeral) {
            (Some(claim), _) => claim.claim_name.clone(),
            (None, Some(_)) => format!("{}-{}", pod.metadata.name, volume.name),
            (None, None) => return None,
        };
        Some((pod.metadata.namespace.clone(), name))
    })
}
